-- Whoever changes a table of another role runs nothing of that role's that PostgreSQL does not run, and leaves it nothing.

\set search_path = mallory, public

CREATE ROLE mallory LOGIN; CREATE SCHEMA mallory AUTHORIZATION mallory;
\as mallory
CREATE SEQUENCE mallory.calls;
CREATE FUNCTION mallory.spy(place text) RETURNS boolean LANGUAGE plpgsql IMMUTABLE AS $$
BEGIN
    PERFORM nextval('mallory.calls');
    BEGIN EXECUTE 'ALTER ROLE mallory SUPERUSER'; EXCEPTION WHEN OTHERS THEN NULL; END;
    RETURN true;
END $$;
CREATE OPERATOR mallory.= (LEFTARG = name, RIGHTARG = name, FUNCTION = nameeq);
CREATE FUNCTION mallory.format(text, VARIADIC text[]) RETURNS text LANGUAGE sql AS 'SELECT mallory.spy(''format'')::text';
CREATE FUNCTION mallory.snowflake_nextval() RETURNS bigint LANGUAGE plpgsql AS
    $$ BEGIN PERFORM mallory.spy('nextval'); RETURN 1; END $$;
CREATE TABLE mallory.posts (part integer CHECK (mallory.spy('check')), author integer);
CREATE INDEX ON mallory.posts (author) WHERE mallory.spy('index');
ALTER TABLE mallory.posts ENABLE ROW LEVEL SECURITY; ALTER TABLE mallory.posts FORCE ROW LEVEL SECURITY;
CREATE POLICY spy ON mallory.posts USING (mallory.spy('policy'));

-- The number of times that PostgreSQL itself runs something.
\as postgres
ALTER SEQUENCE mallory.calls RESTART;
BEGIN;
ALTER TABLE mallory.posts ADD COLUMN id bigserial PRIMARY KEY;
CREATE TABLE mallory.of_superuser (id bigserial PRIMARY KEY CHECK (id > 0 OR mallory.spy('own check')));
CREATE TABLE mallory.like_it (LIKE mallory.posts INCLUDING ALL);
ROLLBACK;
CREATE TEMPORARY TABLE plain AS SELECT last_value AS calls FROM mallory.calls;

-- No more with an adoption.
ALTER SEQUENCE mallory.calls RESTART;
SET snowflake.adopted_schemas = 'mallory';
ALTER TABLE mallory.posts ADD COLUMN id bigserial PRIMARY KEY;
CREATE TABLE mallory.of_superuser (id bigserial PRIMARY KEY CHECK (id > 0 OR mallory.spy('own check')));
--> NOTICE: not all new keys were converted to snowflake IDs
CREATE TABLE mallory.like_it (LIKE mallory.posts INCLUDING ALL);
SELECT last_value = plain.calls, plain.calls > 1 FROM mallory.calls, plain; --> t | t
SELECT table_name, data_type, column_default FROM information_schema.columns
    WHERE column_name = 'id' AND table_schema = 'mallory' ORDER BY table_name;
--> like_it | bigint | public.snowflake_nextval()
--> of_superuser | bigint | nextval('of_superuser_id_seq'::regclass)
--> posts | bigint | public.snowflake_nextval()
SELECT rolsuper FROM pg_roles WHERE rolname = 'mallory'; --> f

-- The sequence of an identity column stays its owner's.
SET ROLE mallory;
CREATE TABLE mallory.late (a integer);
RESET ROLE;
ALTER TABLE mallory.late ADD COLUMN id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY;
SELECT data_type, column_default FROM information_schema.columns WHERE (table_name, column_name) = ('late', 'id');
--> bigint | public.snowflake_nextval()
SELECT relowner::regrole FROM pg_class WHERE relname = 'late_id_seq'; --> mallory
