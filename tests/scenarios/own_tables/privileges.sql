-- Who else than the owner may do what with the extension's tables is a list, whatever the default privileges of the database are,
-- and whoever creates the extension.

CREATE ROLE owner LOGIN; CREATE ROLE other LOGIN; CREATE ROLE "We""ird $ \ 'role'" LOGIN; CREATE ROLE admin LOGIN SUPERUSER; CREATE ROLE app;
DROP EXTENSION snowflake;
CREATE VIEW privileges AS WITH objects (object, owner, acl) AS (
    SELECT relname, relowner, relacl FROM pg_class WHERE relnamespace = to_regnamespace('snowflake_internal') AND relkind = 'r'
    UNION ALL SELECT nspname, nspowner, nspacl FROM pg_namespace WHERE nspname = 'snowflake_internal')
SELECT string_agg(line, ', ' ORDER BY line) FROM (SELECT format('%s: %s to %s%s', object, privilege_type,
        CASE grantee WHEN 0 THEN 'all' ELSE pg_get_userbyid(grantee) END, CASE WHEN is_grantable THEN ' with grant option' END) AS line
    FROM objects, aclexplode(acl) WHERE grantee <> owner) AS lines;
GRANT SELECT ON privileges TO PUBLIC;
DO $$
DECLARE of name; objects text; grantee text;
BEGIN
    FOREACH of IN ARRAY ARRAY['postgres', 'admin', 'owner', 'We"ird $ \ ''role'''] LOOP
        FOREACH objects IN ARRAY ARRAY['TABLES', 'SCHEMAS', 'SEQUENCES', 'FUNCTIONS', 'TYPES'] LOOP
            FOREACH grantee IN ARRAY ARRAY['PUBLIC', 'app WITH GRANT OPTION', '"We""ird $ \ ''role''"'] LOOP
                EXECUTE format('ALTER DEFAULT PRIVILEGES FOR ROLE %I GRANT ALL ON %s TO %s', of, objects, grantee);
            END LOOP;
        END LOOP;
    END LOOP;
END $$;
-- The privileges that the creator of the extension gets, and that they suffice.
CREATE FUNCTION created() RETURNS text LANGUAGE plpgsql AS $$
DECLARE seen text;
BEGIN
    CREATE SCHEMA ids; CREATE EXTENSION snowflake SCHEMA ids;
    seen := (TABLE privileges);
    PERFORM ids.snowflake_claim_node('db-1'), ids.snowflake_nextval();
    DROP EXTENSION snowflake; DROP SCHEMA ids;
    RETURN seen;
END $$;
ALTER DATABASE scenario OWNER TO owner;
\as owner
SELECT created();
--> snowflake_internal: USAGE to all, snowflake_layout: INSERT to pg_database_owner, snowflake_layout: SELECT to all, snowflake_node_claims: INSERT to pg_database_owner, snowflake_node_claims: SELECT to all
\as postgres
ALTER DATABASE scenario OWNER TO postgres; SELECT created();
--> snowflake_internal: USAGE to all, snowflake_layout: INSERT to pg_database_owner, snowflake_layout: SELECT to all, snowflake_node_claims: INSERT to pg_database_owner, snowflake_node_claims: SELECT to all
ALTER DATABASE scenario OWNER TO owner; SELECT created();
--> snowflake_internal: USAGE to all, snowflake_layout: INSERT to pg_database_owner, snowflake_layout: SELECT to all, snowflake_node_claims: INSERT to pg_database_owner, snowflake_node_claims: SELECT to all
\as admin
SELECT created();
--> snowflake_internal: USAGE to all, snowflake_layout: INSERT to pg_database_owner, snowflake_layout: SELECT to all, snowflake_node_claims: INSERT to pg_database_owner, snowflake_node_claims: SELECT to all
\as postgres
ALTER DATABASE scenario OWNER TO "We""ird $ \ 'role'";
\as We"ird $ \ 'role'
SELECT created();
--> snowflake_internal: USAGE to all, snowflake_layout: INSERT to pg_database_owner, snowflake_layout: SELECT to all, snowflake_node_claims: INSERT to pg_database_owner, snowflake_node_claims: SELECT to all
-- These may create in a database of another one's.
\as postgres
ALTER DATABASE scenario OWNER TO owner; GRANT CREATE ON DATABASE scenario TO other;
\as other
SELECT created();
--> snowflake_internal: USAGE to all, snowflake_layout: INSERT to other, snowflake_layout: INSERT to pg_database_owner, snowflake_layout: SELECT to all, snowflake_node_claims: INSERT to other, snowflake_node_claims: INSERT to pg_database_owner, snowflake_node_claims: SELECT to all
\as postgres
ALTER DATABASE scenario OWNER TO postgres; GRANT CREATE ON DATABASE scenario TO "We""ird $ \ 'role'";
\as We"ird $ \ 'role'
SELECT created();
--> snowflake_internal: USAGE to all, snowflake_layout: INSERT to We"ird $ \ 'role', snowflake_layout: INSERT to pg_database_owner, snowflake_layout: SELECT to all, snowflake_node_claims: INSERT to We"ird $ \ 'role', snowflake_node_claims: INSERT to pg_database_owner, snowflake_node_claims: SELECT to all
