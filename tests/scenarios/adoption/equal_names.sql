-- A table may have the name of another one: a temporary table hides it, or it is in another schema.

\set search_path = blog, public
\set snowflake.adopted_schemas = blog

CREATE SCHEMA blog;
CREATE TEMPORARY TABLE one (id bigserial PRIMARY KEY);
CREATE TABLE blog.one (id bigserial PRIMARY KEY);
CREATE TABLE public.one (id bigserial PRIMARY KEY);
CREATE TABLE public."Größe" (id bigserial PRIMARY KEY);
CREATE TABLE "Größe" (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY);
SELECT left(table_schema, 7), table_name, data_type, column_default FROM information_schema.columns
    WHERE table_name IN ('one', 'Größe') ORDER BY 2, 1;
--> blog | Größe | bigint | snowflake_nextval()
--> public | Größe | bigint | nextval('public."Größe_id_seq"'::regclass)
--> blog | one | bigint | snowflake_nextval()
--> pg_temp | one | bigint | nextval('one_id_seq'::regclass)
--> public | one | bigint | nextval('public.one_id_seq'::regclass)

-- Names are those of the encoding of the database.
CREATE DATABASE latin ENCODING 'LATIN1' LOCALE 'C' TEMPLATE template0;
\in latin
CREATE EXTENSION snowflake SCHEMA public;
CREATE SCHEMA "größe";
SET snowflake.adopted_schemas = '"größe"';
CREATE TABLE "größe"."äpfel" (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY);
SELECT table_schema, table_name, data_type, column_default FROM information_schema.columns
    WHERE table_name = 'äpfel'; --> größe | äpfel | bigint | snowflake_nextval()
