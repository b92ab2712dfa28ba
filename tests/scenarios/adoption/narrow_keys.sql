-- Narrow keys stay as they were declared, since the rest of the application might be as narrow, and are named once a statement.

\set search_path = blog, public
\set snowflake.adopted_schemas = blog

CREATE SCHEMA blog;
CREATE TABLE t0 (id serial PRIMARY KEY);
--> NOTICE: not all new keys were converted to snowflake IDs
--> DETAIL: Column id of table blog.t0: it is of type integer.
--> HINT: Declare keys as bigint, or execute what snowflake_conversion() prints for the schema when its migrations have run.
CREATE TABLE t1 (id smallserial PRIMARY KEY);
--> NOTICE: not all new keys were converted to snowflake IDs
--> DETAIL: Column id of table blog.t1: it is of type smallint.
CREATE TABLE t2 (id integer GENERATED ALWAYS AS IDENTITY (START WITH 10) PRIMARY KEY);
--> NOTICE: not all new keys were converted to snowflake IDs
--> DETAIL: Column id of table blog.t2: it is of type integer.
CREATE TABLE t3 (id serial, other integer, PRIMARY KEY (other, id));
--> NOTICE: not all new keys were converted to snowflake IDs
--> DETAIL: Column id of table blog.t3: it is of type integer.
SELECT data_type, replace(column_default, table_name, 'T'), is_identity, string_agg(table_name, ' ' ORDER BY table_name) FROM information_schema.columns
    WHERE table_schema = 'blog' AND column_name = 'id' GROUP BY 1, 2, 3 ORDER BY 4;
--> integer | nextval('T_id_seq'::regclass) | NO | t0 t3
--> smallint | nextval('T_id_seq'::regclass) | NO | t1
--> integer | NULL | YES | t2

SET snowflake.adopted_schemas = '*';
CREATE SCHEMA shop
    CREATE TABLE a (id serial PRIMARY KEY)
    CREATE TABLE b (id serial PRIMARY KEY)
    CREATE TABLE c (id bigserial PRIMARY KEY);
--> NOTICE: not all new keys were converted to snowflake IDs
--> DETAIL: Column id of table shop.a: it is of type integer.\nColumn id of table shop.b: it is of type integer.
SELECT data_type, column_default FROM information_schema.columns WHERE (table_schema, table_name) = ('shop', 'c');
--> bigint | snowflake_nextval()
