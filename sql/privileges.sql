-- Takes back what ALTER DEFAULT PRIVILEGES has given to anybody, so that the privileges are those
-- of the list below. All names are qualified: the search_path of this script has the schema of the
-- extension, in which others might have operators and functions.
DO LANGUAGE plpgsql $$
DECLARE
    revocation text;
BEGIN
    FOR revocation IN
        SELECT DISTINCT pg_catalog.format(
            'REVOKE ALL ON TABLE %I.%I FROM %s', n.nspname, c.relname, g.name)
        FROM pg_catalog.pg_class AS c
        JOIN pg_catalog.pg_namespace AS n ON n.oid OPERATOR(pg_catalog.=) c.relnamespace,
        pg_catalog.aclexplode(c.relacl) AS a,
        LATERAL (
            SELECT CASE
                       WHEN a.grantee OPERATOR(pg_catalog.=) 0::pg_catalog.oid THEN 'PUBLIC'
                       ELSE pg_catalog.format('%I', pg_catalog.pg_get_userbyid(a.grantee))
                   END
        ) AS g (name)
        WHERE n.nspname OPERATOR(pg_catalog.=) 'snowflake_internal'::pg_catalog.name
          AND c.relkind OPERATOR(pg_catalog.=) 'r'::pg_catalog."char"
          AND a.grantee OPERATOR(pg_catalog.<>) c.relowner
        UNION ALL
        SELECT DISTINCT pg_catalog.format('REVOKE ALL ON SCHEMA %I FROM %s', n.nspname, g.name)
        FROM pg_catalog.pg_namespace AS n,
        pg_catalog.aclexplode(n.nspacl) AS a,
        LATERAL (
            SELECT CASE
                       WHEN a.grantee OPERATOR(pg_catalog.=) 0::pg_catalog.oid THEN 'PUBLIC'
                       ELSE pg_catalog.format('%I', pg_catalog.pg_get_userbyid(a.grantee))
                   END
        ) AS g (name)
        WHERE n.nspname OPERATOR(pg_catalog.=) 'snowflake_internal'::pg_catalog.name
          AND a.grantee OPERATOR(pg_catalog.<>) n.nspowner
    LOOP
        EXECUTE revocation;
    END LOOP;
END $$;

-- All roles may read, because pg_dump reads all tables. The owner of the database may insert, because
-- a restore does.
GRANT USAGE ON SCHEMA snowflake_internal TO PUBLIC;
GRANT SELECT ON snowflake_internal.snowflake_node_claims, snowflake_internal.snowflake_layout TO PUBLIC;
GRANT INSERT ON snowflake_internal.snowflake_node_claims, snowflake_internal.snowflake_layout
    TO pg_database_owner;

-- A role with CREATE on a database of another role may create the extension, and then has to restore
-- the rows too. No other role is named here: before PostgreSQL 17, if a role is dropped, a dump
-- revokes its privileges by its OID, and cannot be restored.
DO LANGUAGE plpgsql $$
DECLARE
    creator pg_catalog.name;
BEGIN
    FOR creator IN
        SELECT pg_catalog.pg_get_userbyid(extowner) FROM pg_catalog.pg_extension
        WHERE extname OPERATOR(pg_catalog.=) 'snowflake'::pg_catalog.name
          AND NOT pg_catalog.pg_has_role(extowner, 'pg_database_owner', 'USAGE')
    LOOP
        EXECUTE pg_catalog.format(
            'GRANT INSERT ON snowflake_internal.snowflake_node_claims, snowflake_internal.snowflake_layout '
            'TO %I',
            creator
        );
    END LOOP;
END $$;

GRANT SELECT ON snowflake_nodes TO PUBLIC;
REVOKE EXECUTE ON FUNCTION snowflake_internal.snowflake_guard_claims(),
    snowflake_internal.snowflake_guard_layout() FROM PUBLIC;
