-- The extension snowflake_adopt. Its functions are in the library of snowflake_pg.
\echo Use "CREATE EXTENSION snowflake_adopt" to load this file. \quit
-- The script runs as a superuser, with the schema of the extension in search_path, in which others
-- might have operators and functions. All names of PostgreSQL's are qualified.
--
-- Nobody else can have created objects in this schema, so CREATE SCHEMA has no IF NOT EXISTS.
CREATE SCHEMA snowflake_adopt_internal;
-- Schemas are kept by name: pg_upgrade refuses tables with columns of type regnamespace.
CREATE TABLE snowflake_adopt_internal.adopted_schemas (
    schema pg_catalog.name PRIMARY KEY,
    keys pg_catalog.text NOT NULL
        CHECK (keys OPERATOR(pg_catalog.=) 'primary'::pg_catalog.text
               OR keys OPERATOR(pg_catalog.=) 'all'::pg_catalog.text)
);
CREATE FUNCTION snowflake_guard_adopted() RETURNS trigger
    LANGUAGE c AS 'MODULE_PATHNAME', 'snowflake_guard_adopted';
CREATE TRIGGER guard BEFORE INSERT ON snowflake_adopt_internal.adopted_schemas
    FOR EACH ROW EXECUTE FUNCTION snowflake_guard_adopted();
SELECT pg_catalog.pg_extension_config_dump('snowflake_adopt_internal.adopted_schemas', '');

CREATE FUNCTION snowflake_adopt(schema pg_catalog.text, keys pg_catalog.text DEFAULT 'primary')
    RETURNS pg_catalog.bool
    LANGUAGE c VOLATILE STRICT PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'snowflake_adopt';
CREATE FUNCTION snowflake_disown(schema pg_catalog.text) RETURNS pg_catalog.bool
    LANGUAGE c VOLATILE STRICT PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'snowflake_disown';
CREATE FUNCTION snowflake_adopt_new() RETURNS pg_catalog.event_trigger
    LANGUAGE c AS 'MODULE_PATHNAME', 'snowflake_adopt_new';
CREATE VIEW snowflake_adopted AS
    SELECT schema, keys FROM snowflake_adopt_internal.adopted_schemas OFFSET 0;

-- The tags of CREATE TABLE AS and CREATE FOREIGN TABLE are others. Without DROP EXTENSION, a schema
-- that is dropped with an extension would stay adopted.
CREATE EVENT TRIGGER snowflake_adopt ON ddl_command_end
    WHEN TAG IN ('CREATE TABLE', 'ALTER TABLE', 'CREATE SCHEMA', 'ALTER SCHEMA', 'DROP SCHEMA',
                 'DROP OWNED', 'DROP EXTENSION')
    EXECUTE FUNCTION snowflake_adopt_new();

COMMENT ON FUNCTION snowflake_adopt(pg_catalog.text, pg_catalog.text)
    IS 'gives new tables of a schema snowflake IDs as keys';
COMMENT ON FUNCTION snowflake_disown(pg_catalog.text) IS 'ends what snowflake_adopt() began';
COMMENT ON FUNCTION snowflake_adopt_new() IS 'event trigger that converts keys of new tables';
COMMENT ON FUNCTION snowflake_guard_adopted()
    IS 'trigger that lets the owner of a schema insert its row into the table of adopted schemas';
COMMENT ON VIEW snowflake_adopted IS 'schemas whose new tables get snowflake IDs as keys';

-- What ALTER DEFAULT PRIVILEGES has given to anybody is taken back, so that the privileges are those
-- of the list below.
DO LANGUAGE plpgsql $$
DECLARE
    revocation pg_catalog.text;
BEGIN
    FOR revocation IN
        SELECT DISTINCT pg_catalog.format(
            'REVOKE ALL ON %s FROM %s', o.address,
            CASE
                WHEN a.grantee OPERATOR(pg_catalog.=) 0::pg_catalog.oid THEN 'PUBLIC'
                ELSE pg_catalog.format('%I', pg_catalog.pg_get_userbyid(a.grantee))
            END)
        FROM (
            SELECT pg_catalog.format('TABLE %I.%I', n.nspname, c.relname), c.relowner, c.relacl
            FROM pg_catalog.pg_namespace AS n
            JOIN pg_catalog.pg_class AS c ON c.relnamespace OPERATOR(pg_catalog.=) n.oid
            WHERE n.nspname OPERATOR(pg_catalog.=) 'snowflake_adopt_internal'::pg_catalog.name
              AND c.relkind OPERATOR(pg_catalog.=) 'r'::pg_catalog."char"
            UNION ALL
            SELECT pg_catalog.format('SCHEMA %I', n.nspname), n.nspowner, n.nspacl
            FROM pg_catalog.pg_namespace AS n
            WHERE n.nspname OPERATOR(pg_catalog.=) 'snowflake_adopt_internal'::pg_catalog.name
        ) AS o (address, owner, acl), pg_catalog.aclexplode(o.acl) AS a
        WHERE a.grantee OPERATOR(pg_catalog.<>) o.owner
    LOOP
        EXECUTE revocation;
    END LOOP;
END $$;
-- All roles may read, because pg_dump reads all tables, and because the event trigger runs as whoever
-- executes a statement. Who restores a database may insert.
GRANT USAGE ON SCHEMA snowflake_adopt_internal TO PUBLIC;
GRANT SELECT ON snowflake_adopt_internal.adopted_schemas, snowflake_adopted TO PUBLIC;
GRANT INSERT ON snowflake_adopt_internal.adopted_schemas TO pg_database_owner;
DO LANGUAGE plpgsql $$
DECLARE
    creator pg_catalog.name;
BEGIN
    FOR creator IN
        SELECT pg_catalog.pg_get_userbyid(extowner) FROM pg_catalog.pg_extension
        WHERE extname OPERATOR(pg_catalog.=) 'snowflake_adopt'::pg_catalog.name
          AND NOT pg_catalog.pg_has_role(extowner, 'pg_database_owner', 'USAGE')
    LOOP
        EXECUTE pg_catalog.format(
            'GRANT INSERT ON snowflake_adopt_internal.adopted_schemas TO %I', creator);
    END LOOP;
END $$;
