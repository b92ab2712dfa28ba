-- Statements with the rights of another role are left alone: nobody steers what the functions of others create.

CREATE ROLE app LOGIN; CREATE ROLE mallory LOGIN;
CREATE SCHEMA app AUTHORIZATION app;
GRANT USAGE ON SCHEMA app TO mallory; GRANT CREATE ON SCHEMA public TO app, mallory;
\as app
CREATE FUNCTION app.make(name text) RETURNS void LANGUAGE plpgsql SECURITY DEFINER AS $$
BEGIN
    EXECUTE format('CREATE TABLE app.%I (id bigserial PRIMARY KEY)', name);
    EXECUTE format('CREATE TABLE app.%I (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY)', name || '_2');
END $$;
\as mallory
SET snowflake.adopted_schemas = '*';
SELECT app.make('steered');

-- The function says it for itself, and it is still not the caller who creates.
\as app
ALTER FUNCTION app.make(text) SET snowflake.adopted_schemas = '*';
SELECT app.make('own');
ALTER FUNCTION app.make(text) SECURITY INVOKER;
SELECT app.make('invoked');

-- CREATE SCHEMA creates its elements as the owner of the schema.
\as postgres
SET snowflake.adopted_schemas = '*';
CREATE SCHEMA theirs AUTHORIZATION mallory CREATE TABLE one (id bigserial PRIMARY KEY);

SELECT data_type, replace(column_default, table_name, 'T'), is_identity, string_agg(table_name, ' ' ORDER BY table_name) FROM information_schema.columns
    WHERE table_schema IN ('app', 'theirs') GROUP BY 1, 2, 3 ORDER BY 4;
--> bigint | snowflake_nextval() | NO | invoked invoked_2
--> bigint | nextval('theirs.T_id_seq'::regclass) | NO | one
--> bigint | nextval('app.T_id_seq'::regclass) | NO | own steered
--> bigint | NULL | YES | own_2 steered_2

-- REFRESH MATERIALIZED VIEW is a restricted operation, with the rights of the view's owner.
CREATE SCHEMA mallory AUTHORIZATION mallory;
\as mallory
CREATE FUNCTION mallory.make() RETURNS bigint LANGUAGE plpgsql AS $$
BEGIN
    CREATE TABLE mallory.one (id bigserial PRIMARY KEY, r integer REFERENCES mallory.one);
    RETURN 1;
END $$;
CREATE MATERIALIZED VIEW mallory.seen AS SELECT mallory.make() WITH NO DATA;
\as postgres
REFRESH MATERIALIZED VIEW mallory.seen;
SELECT data_type, column_default FROM information_schema.columns
    WHERE (table_schema, table_name, column_name) = ('mallory', 'one', 'id');
--> bigint | nextval('mallory.one_id_seq'::regclass)

-- A role that may not take IDs keeps its sequences.
REVOKE EXECUTE ON FUNCTION snowflake_nextval() FROM PUBLIC;
\as mallory
CREATE TABLE mallory.two (id bigserial PRIMARY KEY);
--> WARNING: keys of new tables were not converted to snowflake IDs
--> DETAIL: The role may not execute snowflake_nextval().
--> HINT: Grant EXECUTE on it to this role and to those that insert.
INSERT INTO mallory.two DEFAULT VALUES RETURNING id; --> 1
