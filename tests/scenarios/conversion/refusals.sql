-- What PostgreSQL would do, but a conversion does not, with the reason.
CREATE DOMAIN key AS integer; CREATE FOREIGN DATA WRAPPER none; CREATE SERVER far FOREIGN DATA WRAPPER none;
CREATE TABLE plain (id integer PRIMARY KEY, word text, number serial);
CREATE TABLE computed (id bigint PRIMARY KEY DEFAULT nextval('plain_number_seq') * 10);
CREATE TABLE other_default (id bigint PRIMARY KEY DEFAULT 42, twice bigint GENERATED ALWAYS AS (7) STORED);
CREATE TABLE of_domain (id key PRIMARY KEY DEFAULT nextval('plain_number_seq'));
CREATE TABLE films (id serial PRIMARY KEY);
CREATE TABLE copies (film key REFERENCES films);
CREATE TABLE details (id integer PRIMARY KEY DEFAULT nextval('plain_number_seq') REFERENCES films);
CREATE TABLE ranges (id bigserial PRIMARY KEY) PARTITION BY RANGE (id);
CREATE TABLE lists (id bigserial, day integer) PARTITION BY LIST (day);
CREATE TABLE lists_1 PARTITION OF lists FOR VALUES IN (1) PARTITION BY LIST (id);
CREATE TABLE hashed (id bigserial PRIMARY KEY) PARTITION BY HASH (id);
CREATE TABLE hashed_integers (id serial PRIMARY KEY) PARTITION BY HASH (id);
CREATE TYPE film AS (id integer); CREATE TABLE typed OF film (id PRIMARY KEY DEFAULT nextval('plain_number_seq'));
CREATE TABLE large (id bigserial PRIMARY KEY); INSERT INTO large VALUES (9223372036854775807);
CREATE TABLE forced (id bigserial PRIMARY KEY); ALTER TABLE forced ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
CREATE FOREIGN TABLE foreign_table (id bigint DEFAULT nextval('plain_number_seq')) SERVER far;
CREATE VIEW view AS SELECT 1 AS id;
CREATE TEMPORARY TABLE short (id serial PRIMARY KEY);

-- Among them, IDs of other functions, of a layout with fewer bits beside the time.
CREATE TABLE photos (id bigint PRIMARY KEY);
INSERT INTO photos VALUES (snowflake_make(now(), 0, 5, 0, '2011-08-24 21:07:01.721+00', 0, 13, 10));
SELECT errors_of(format('SELECT snowflake_convert(%s)', arguments)) FROM unnest(ARRAY[
    '''plain'', ''word''', '''plain'', ''none''', '''plain'', ''ctid''', '''plain''', '''computed'', ''id''', '''other_default'', ''id''', '''other_default'', ''twice''',
    '''of_domain'', ''id''', '''films'', ''id''', '''details'', ''id''', '''ranges'', ''id''', '''lists'', ''id''', '''hashed_integers'', ''id''', '''typed'', ''id''', '''large'', ''id''', '''photos'', ''id''', '''forced'', ''id''',
    '''foreign_table'', ''id''', '''view'', ''id''', '''short'', ''id''', '''plain_number_seq'', ''last_value''']) AS arguments;
--> 42804: column word of table public.plain cannot be converted | It is of type text.
--> 42703: column "none" of relation public.plain does not exist
--> 42703: column "ctid" of relation public.plain does not exist
--> 55000: public.plain has no key that can be converted | No column of its primary key takes values of a sequence. | Name another column that does with column_name.
--> 55000: column id of table public.computed cannot be converted | Its default does more than take a value of a sequence.
--> 55000: column id of table public.other_default cannot be converted | It has another default. | Change the default with ALTER TABLE.
--> 55000: column twice of table public.other_default cannot be converted | It has another default. | Change the default with ALTER TABLE.
--> 42804: column id of table public.of_domain cannot be converted | It is of type key.
--> 42804: column film of table public.copies cannot be converted | It is of type key. | Change the type of the column to integer first.
--> 55000: column id of table public.details cannot be converted | It refers to another column. | Convert what it refers to. That makes this column bigint, too.
--> 42P16: column id of table public.ranges cannot be converted | The table is partitioned by it. | Create a table that has partitions for snowflake IDs, and copy the rows.
--> 42P16: column id of table public.lists cannot be converted | The table is partitioned by it. | Create a table that has partitions for snowflake IDs, and copy the rows.
--> 42P16: column id of table public.hashed_integers cannot be converted | The table is partitioned by it. | Create a table that has partitions for snowflake IDs, and copy the rows.
--> 42809: column id of table public.typed cannot be converted | The table is of type film. | Detach the table from the type with ALTER TABLE ... NOT OF first.
--> 55000: column id of table public.large cannot be converted | The next snowflake ID, ..., is not above the largest key, 9223372036854775807. | Give the rows with these keys other ones. If no ID has been issued yet, an earlier epoch makes IDs larger.
--> 55000: column id of table public.photos cannot be converted | The next snowflake ID, ..., is not above the largest key, .... | Give the rows with these keys other ones. If no ID has been issued yet, an earlier epoch makes IDs larger.
--> 55000: column id of table public.forced cannot be converted | Row-level security is forced on the owner of the table, who might not see the largest key.
--> 42809: column id of table public.foreign_table cannot be converted | The relation is not a table, or it is temporary or foreign.
--> 42809: column id of table public.view cannot be converted | The relation is not a table, or it is temporary or foreign.
--> 42809: column id of table pg_temp_....short cannot be converted | The relation is not a table, or it is temporary or foreign.
--> 42809: column last_value of table public.plain_number_seq cannot be converted | The relation is not a table, or it is temporary or foreign.
SELECT count(*) FROM snowflake_convert('hashed', 'id'); --> 3

-- Arguments that make no sense.
SELECT errors_of($calls$
    SELECT snowflake_convert()
    SELECT snowflake_convert('plain', schema => 'public')
    SELECT snowflake_convert(column_name => 'id', schema => 'public')
    SELECT snowflake_convert(12345::regclass)
    SELECT snowflake_convert(12345::regclass, 'id')
$calls$);
--> 22023: exactly one of relation and schema must be given | Give a relation and a column, or only a relation or a schema, for all of its keys.
--> 22023: exactly one of relation and schema must be given | Give a relation and a column, or only a relation or a schema, for all of its keys.
--> 22023: column_name needs a relation | Give a relation and a column, or only a relation or a schema, for all of its keys.
--> 42P01: relation with OID 12345 does not exist
--> 42P01: relation with OID 12345 does not exist

-- Of a schema, the other keys are converted.
SELECT count(*) FROM snowflake_convert(schema => 'public', dry_run => false) WHERE step = 'convert';
--> NOTICE: not all keys are converted to snowflake IDs
--> DETAIL: ...
--> 1
SELECT snowflake_convert(schema => 'pg_catalog'); --> (0 rows)
