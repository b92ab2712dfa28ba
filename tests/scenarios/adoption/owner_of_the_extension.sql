-- The extension is trusted, so its creator need not be a superuser, and owns it. What she makes belong to it is never called.

CREATE ROLE mallory LOGIN;
GRANT CREATE ON DATABASE scenario TO mallory;
DROP EXTENSION snowflake;
\as mallory
CREATE SCHEMA a; CREATE SCHEMA m; CREATE EXTENSION snowflake SCHEMA m;
CREATE FUNCTION a.snowflake_nextval() RETURNS bigint LANGUAGE plpgsql AS
    $$ BEGIN EXECUTE 'ALTER ROLE mallory SUPERUSER'; RETURN 1; END $$;
ALTER EXTENSION snowflake ADD FUNCTION a.snowflake_nextval();
ALTER EXTENSION snowflake DROP FUNCTION m.snowflake_nextval(); --> ERROR 42501

\as postgres
SET search_path = a, m, public;
SET snowflake.adopted_schemas = '*';
CREATE TABLE public.one (id bigserial PRIMARY KEY);
INSERT INTO public.one DEFAULT VALUES;
SELECT column_default FROM information_schema.columns WHERE table_name = 'one'; --> m.snowflake_nextval()
SELECT prosrc, lanname, rolsuper FROM pg_proc JOIN pg_language ON pg_language.oid = prolang JOIN pg_roles ON pg_roles.oid = proowner
    WHERE pg_proc.oid = 'm.snowflake_nextval()'::regprocedure; --> snowflake_nextval | c | t
SELECT rolsuper FROM pg_roles WHERE rolname = 'mallory'; --> f

-- Nor is the library's function taken once it belongs to her, who could replace it.
ALTER FUNCTION m.snowflake_nextval() OWNER TO mallory;
CREATE TABLE public.two (id bigserial PRIMARY KEY);
--> WARNING: keys of new tables were not converted to snowflake IDs
--> DETAIL: The database has no extension snowflake, or its snowflake_nextval() is not the library's and a superuser's.
SELECT data_type, column_default FROM information_schema.columns WHERE table_name = 'two';
--> bigint | nextval('two_id_seq'::regclass)
