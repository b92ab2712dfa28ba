-- An adoption that fails stops no statement, except by errors that are meant to, such as a cancel.

\set search_path = blog, public
\set snowflake.adopted_schemas = blog

CREATE SCHEMA blog;
-- An event trigger of the user's that fails for the statements of an adoption: nothing stays half done.
CREATE FUNCTION public.refuse() RETURNS event_trigger LANGUAGE plpgsql AS $$
BEGIN
    IF current_query() ~ 'bigserial|IDENTITY' AND tg_tag = 'ALTER TABLE' THEN RAISE 'not today'; END IF;
END $$;
CREATE EVENT TRIGGER refuse ON ddl_command_start EXECUTE FUNCTION public.refuse();
CREATE TABLE one (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY);
--> WARNING: the new keys of a table could not be looked at
--> DETAIL: Not today.
SELECT data_type, column_default, is_identity FROM information_schema.columns WHERE table_name = 'one';
--> bigint | NULL | YES
INSERT INTO one DEFAULT VALUES RETURNING id; --> 1
DROP SEQUENCE one_id_seq; --> ERROR 2BP01
DROP EVENT TRIGGER refuse;
CREATE TABLE two (id bigserial PRIMARY KEY);
SELECT data_type, column_default, is_identity FROM information_schema.columns WHERE table_name = 'two';
--> bigint | snowflake_nextval() | NO

-- A cancel ends the statement, and nothing is said.
CREATE OR REPLACE FUNCTION public.refuse() RETURNS event_trigger LANGUAGE plpgsql AS $$
BEGIN
    IF current_query() ~ 'bigserial|IDENTITY' AND tg_tag = 'ALTER TABLE' THEN PERFORM pg_sleep(60); END IF;
END $$;
CREATE EVENT TRIGGER refuse ON ddl_command_start EXECUTE FUNCTION public.refuse();
SET statement_timeout = 300;
CREATE TABLE posts (id bigserial PRIMARY KEY); --> ERROR 57014
RESET statement_timeout;
SELECT to_regclass('posts'); --> NULL
DROP EVENT TRIGGER refuse;

-- A session in which a statement has failed goes on.
CREATE TABLE bad (id bigserial PRIMARY KEY, r bigint REFERENCES nowhere); --> ERROR 42P01
CREATE SCHEMA blog2 CREATE TABLE one (id bigserial PRIMARY KEY) CREATE TABLE two (id nothing); --> ERROR 42704
CREATE TABLE bad (id bigserial PRIMARY KEY, r bigint REFERENCES nowhere); --> ERROR 42P01
CREATE SCHEMA blog2 CREATE TABLE one (id bigserial PRIMARY KEY) CREATE TABLE two (id nothing); --> ERROR 42704
CREATE TABLE good (id bigserial PRIMARY KEY);
SELECT data_type, column_default FROM information_schema.columns WHERE table_name = 'good';
--> bigint | snowflake_nextval()

-- A statement waits for nobody: nothing is locked that it has not locked already.
CREATE TABLE users (id bigserial PRIMARY KEY);
\session reader
BEGIN; SELECT FROM blog.users;
\session
SET statement_timeout = '20s';
CREATE TABLE posts (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, author integer REFERENCES users);
--> WARNING: column author of table blog.posts cannot hold the snowflake IDs that it refers to
SELECT data_type, column_default FROM information_schema.columns WHERE (table_name, column_name) = ('posts', 'id');
--> bigint | snowflake_nextval()

-- A statement that fails within another one leaves nothing behind, and takes nothing from it.
SET snowflake.adopted_schemas = ''; CREATE TABLE kept (id serial PRIMARY KEY, other text); SET snowflake.adopted_schemas = 'blog';
INSERT INTO kept (other) VALUES ('a');
DO $$ BEGIN ALTER TABLE kept ALTER id TYPE bigint, ADD CHECK (other <> 'a'); EXCEPTION WHEN check_violation THEN NULL; END $$;
SELECT data_type, column_default FROM information_schema.columns WHERE (table_name, column_name) = ('kept', 'id');
--> integer | nextval('kept_id_seq'::regclass)
CREATE FUNCTION public.fail_within() RETURNS event_trigger LANGUAGE plpgsql AS $$
BEGIN
    IF tg_tag = 'CREATE TABLE' THEN
        BEGIN EXECUTE 'COMMENT ON TABLE nowhere IS NULL'; EXCEPTION WHEN OTHERS THEN NULL; END;
        BEGIN ALTER TABLE blog.kept ALTER id TYPE bigint, ADD CHECK (other <> 'a'); EXCEPTION WHEN check_violation THEN NULL; END;
    END IF;
END $$;
CREATE EVENT TRIGGER fail_within ON ddl_command_start EXECUTE FUNCTION public.fail_within();
CREATE TABLE within (id bigserial PRIMARY KEY);
SELECT data_type, column_default FROM information_schema.columns WHERE (table_name, column_name) = ('within', 'id');
--> bigint | snowflake_nextval()
