-- The statements of an adoption fire event triggers, as those of anybody do.

\set search_path = blog, public
\set snowflake.adopted_schemas = blog

CREATE SCHEMA blog;
CREATE TABLE public.seen (tag text);
CREATE FUNCTION public.see() RETURNS event_trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO seen SELECT command_tag FROM pg_event_trigger_ddl_commands();
    IF EXISTS (SELECT FROM pg_event_trigger_ddl_commands() WHERE object_identity = 'blog.one')
        AND tg_tag = 'CREATE TABLE' THEN
        CREATE TABLE beside (id bigserial PRIMARY KEY);
    END IF;
END $$;
CREATE EVENT TRIGGER see ON ddl_command_end EXECUTE FUNCTION public.see();
CREATE TABLE one (id bigserial PRIMARY KEY);
SELECT table_name, data_type, column_default FROM information_schema.columns
    WHERE table_schema = 'blog' ORDER BY table_name;
--> beside | bigint | snowflake_nextval()
--> one | bigint | snowflake_nextval()
SELECT tag, count(*) FROM seen WHERE tag ~ 'TABLE' GROUP BY tag ORDER BY tag;
--> ALTER TABLE | 2
--> CREATE TABLE | 2
DROP EVENT TRIGGER see;

-- One can change search_path: where a table is does not depend on it as it is after the statement.
CREATE FUNCTION public.elsewhere() RETURNS event_trigger LANGUAGE plpgsql AS
    $$ BEGIN PERFORM set_config('search_path', 'public', false); END $$;
CREATE EVENT TRIGGER a_first ON ddl_command_end EXECUTE FUNCTION public.elsewhere();
CREATE TABLE public.two (id bigserial PRIMARY KEY);
SET search_path = blog, public;
CREATE TABLE two (id bigserial PRIMARY KEY);
SELECT table_schema, data_type, column_default FROM information_schema.columns
    WHERE (table_name, column_name) = ('two', 'id') ORDER BY table_schema;
--> blog | bigint | snowflake_nextval()
--> public | bigint | nextval('two_id_seq'::regclass)
