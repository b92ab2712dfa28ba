-- What PostgreSQL would do, but a conversion does not, with the reason.
CREATE DOMAIN key AS integer; CREATE EXTENSION postgres_fdw; CREATE SERVER far FOREIGN DATA WRAPPER postgres_fdw;
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
CREATE TABLE large (id bigserial PRIMARY KEY); INSERT INTO large VALUES (9223372036854775807);
CREATE TABLE forced (id bigserial PRIMARY KEY); ALTER TABLE forced ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
CREATE FOREIGN TABLE foreign_table (id bigint DEFAULT nextval('plain_number_seq')) SERVER far;
CREATE VIEW view AS SELECT 1 AS id;
CREATE TEMPORARY TABLE short (id serial PRIMARY KEY);

SELECT snowflake_convert('plain', 'word'); --> ERROR 42804: column word of table public.plain cannot be converted
--> DETAIL: It is of type text.
SELECT snowflake_convert('plain', 'none'); --> ERROR 42703: column "none" of relation public.plain does not exist
SELECT snowflake_convert('plain', 'ctid'); --> ERROR 42703
SELECT snowflake_convert('plain'); --> ERROR 55000: public.plain has no key that can be converted
--> DETAIL: No column of its primary key takes values of a sequence.
SELECT snowflake_convert('computed', 'id');
--> ERROR 55000: column id of table public.computed cannot be converted
--> DETAIL: Its default does more than take a value of a sequence.
SELECT snowflake_convert('other_default', 'id');
--> ERROR 55000: column id of table public.other_default cannot be converted
--> DETAIL: It has another default.
SELECT snowflake_convert('other_default', 'twice'); --> ERROR 55000
SELECT snowflake_convert('of_domain', 'id');
--> ERROR 42804: column id of table public.of_domain cannot be converted
--> DETAIL: It is of type key.
SELECT snowflake_convert('films', 'id'); --> ERROR 42804: column film of table public.copies cannot be converted
--> DETAIL: It is of type key.
SELECT snowflake_convert('details', 'id'); --> ERROR 55000: column id of table public.details cannot be converted
--> DETAIL: It refers to another column.
--> HINT: Convert what it refers to. That makes this column bigint, too.
SELECT snowflake_convert('ranges', 'id'); --> ERROR 42P16: column id of table public.ranges cannot be converted
--> DETAIL: The table is partitioned by it.
SELECT snowflake_convert('lists', 'id'); --> ERROR 42P16
SELECT count(*) FROM snowflake_convert('hashed', 'id'); --> 3
SELECT snowflake_convert('large', 'id'); --> ERROR 55000: column id of table public.large cannot be converted
--> DETAIL: The next snowflake ID, ..., is not above the largest key, 9223372036854775807.
-- So are IDs of other functions, of a layout with fewer bits beside the time.
CREATE TABLE photos (id bigint PRIMARY KEY);
INSERT INTO photos VALUES (snowflake_make(now(), 0, 5, 0, '2011-08-24 21:07:01.721+00', 0, 13, 10));
SELECT snowflake_convert('photos', 'id'); --> ERROR 55000
--> DETAIL: ... is not above the largest key...
SELECT snowflake_convert('forced', 'id'); --> ERROR 55000: column id of table public.forced cannot be converted
--> DETAIL: Row-level security is forced on the owner of the table, who might not see the largest key.
SELECT snowflake_convert('foreign_table', 'id');
--> ERROR 42809: column id of table public.foreign_table cannot be converted
--> DETAIL: The relation is not a table, or it is temporary or foreign.
SELECT snowflake_convert('view', 'id'); --> ERROR 42809: column id of table public.view cannot be converted
--> DETAIL: The relation is not a table, or it is temporary or foreign.
SELECT snowflake_convert('short', 'id'); --> ERROR 42809: column id of table pg_temp_....short cannot be converted
--> DETAIL: The relation is not a table, or it is temporary or foreign.
SELECT snowflake_convert('plain_number_seq', 'last_value'); --> ERROR 42809

-- Arguments that make no sense.
SELECT snowflake_convert(); --> ERROR 22023: exactly one of relation and schema must be given
SELECT snowflake_convert('plain', schema => 'public'); --> ERROR 22023
SELECT snowflake_convert(column_name => 'id', schema => 'public'); --> ERROR 22023: column_name needs a relation
SELECT snowflake_convert(12345::regclass); --> ERROR 42P01: relation with OID 12345 does not exist
SELECT snowflake_convert(12345::regclass, 'id'); --> ERROR 42P01

-- Of a schema, the other keys are converted.
SELECT count(*) FROM snowflake_convert(schema => 'public', dry_run => false) WHERE step = 'convert';
--> NOTICE: not all keys are converted to snowflake IDs
--> DETAIL: ...
--> 1
SELECT snowflake_convert(schema => 'pg_catalog'); --> (0 rows)
