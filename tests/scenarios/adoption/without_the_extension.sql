-- Without the extension, a statement gets one notice, and its tables stay as they are written.

\set search_path = blog, public
\set snowflake.adopted_schemas = blog

DROP EXTENSION snowflake;
SET snowflake.adopted_schemas = '*';
CREATE SCHEMA shop
    CREATE TABLE one (id bigserial PRIMARY KEY)
    CREATE TABLE two (id bigserial PRIMARY KEY)
    CREATE TABLE three (id bigserial PRIMARY KEY, one integer REFERENCES one);
--> WARNING: keys of new tables were not converted to snowflake IDs
--> DETAIL: The database has no extension snowflake, or its snowflake_nextval() is not the library's and a superuser's.
--> HINT: If it is missing, execute CREATE EXTENSION snowflake.
SELECT data_type, replace(column_default, table_name, 'T'), string_agg(table_name, ' ' ORDER BY table_name) FROM information_schema.columns
    WHERE (table_schema, column_name) = ('shop', 'id') GROUP BY 1, 2;
--> bigint | nextval('shop.T_id_seq'::regclass) | one three two

-- Nothing is said of statements that create no key.
ALTER TABLE shop.one ADD COLUMN name text;
CREATE TABLE shop.keyless (a integer);

-- The transaction that creates tables may create it first.
BEGIN; CREATE EXTENSION snowflake SCHEMA public; CREATE TABLE public.four (id bigserial PRIMARY KEY); COMMIT;
SELECT column_default FROM information_schema.columns WHERE table_name = 'four'; --> snowflake_nextval()
