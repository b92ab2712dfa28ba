COMMENT ON SCHEMA snowflake_internal IS 'tables and functions for the extension snowflake';
COMMENT ON TYPE snowflake_parts IS 'a snowflake ID and what it is made of';
COMMENT ON FUNCTION snowflake_nextval() IS 'next snowflake ID';
COMMENT ON FUNCTION snowflake_nextval(integer) IS 'next count snowflake IDs, increasing';
COMMENT ON FUNCTION snowflake_currval() IS 'snowflake ID that this session was given last';
COMMENT ON FUNCTION snowflake_parse(bigint) IS 'parts of a snowflake ID';
COMMENT ON FUNCTION snowflake_timestamp(bigint) IS 'time at which a snowflake ID was issued';
COMMENT ON FUNCTION snowflake_datacenter_id(bigint) IS 'datacenter that issued a snowflake ID';
COMMENT ON FUNCTION snowflake_worker_id(bigint) IS 'worker that issued a snowflake ID';
COMMENT ON FUNCTION snowflake_sequence(bigint) IS 'number of a snowflake ID within its millisecond';
COMMENT ON FUNCTION snowflake_make(timestamptz, integer, integer, integer)
    IS 'snowflake ID made of these parts';
COMMENT ON FUNCTION snowflake_parse(bigint, timestamptz, integer, integer, integer)
    IS 'parts of another system''s ID';
COMMENT ON FUNCTION snowflake_timestamp(bigint, timestamptz, integer, integer, integer)
    IS 'time at which another system''s ID was issued';
COMMENT ON FUNCTION snowflake_make(
    timestamptz, integer, integer, integer, timestamptz, integer, integer, integer)
    IS 'ID of another system made of these parts';
COMMENT ON FUNCTION snowflake_min(timestamptz) IS 'smallest snowflake ID of a millisecond';
COMMENT ON FUNCTION snowflake_max(timestamptz) IS 'largest snowflake ID of a millisecond';
COMMENT ON FUNCTION snowflake_min(timestamptz, timestamptz, integer, integer, integer)
    IS 'smallest ID of a millisecond in another system';
COMMENT ON FUNCTION snowflake_max(timestamptz, timestamptz, integer, integer, integer)
    IS 'largest ID of a millisecond in another system';
COMMENT ON FUNCTION snowflake_within(bigint, timestamptz, timestamptz)
    IS 'whether a snowflake ID was issued since a time and before another';
COMMENT ON FUNCTION snowflake_internal.snowflake_within_min(timestamptz)
    IS 'for snowflake_within()';
COMMENT ON FUNCTION snowflake_internal.snowflake_within_max(timestamptz, timestamptz)
    IS 'for snowflake_within()';
COMMENT ON FUNCTION snowflake_json(bigint) IS 'snowflake ID and its parts as JSON';
COMMENT ON FUNCTION snowflake_to_base62(bigint)
    IS 'snowflake ID as 11 characters, which sort as IDs do with COLLATE "C"';
COMMENT ON FUNCTION snowflake_from_base62(text) IS 'snowflake ID of its 11 characters';
COMMENT ON FUNCTION snowflake_observe(bigint)
    IS 'lets this server issue only IDs that are greater than this one';
COMMENT ON FUNCTION snowflake_observe_rows() IS 'trigger that observes IDs of replicated rows';
COMMENT ON FUNCTION snowflake_internal.snowflake_stat_observations_refused()
    IS 'for pg_stat_snowflake';
COMMENT ON FUNCTION snowflake_to_public(bigint, text)
    IS 'name of a snowflake ID that says nothing about it';
COMMENT ON FUNCTION snowflake_from_public(text, text)
    IS 'snowflake ID of a name that snowflake_to_public() made';
COMMENT ON FUNCTION snowflake_internal.snowflake_stat() IS 'for pg_stat_snowflake';
COMMENT ON FUNCTION snowflake_stat_reset() IS 'sets the counters of pg_stat_snowflake to zero';
COMMENT ON FUNCTION snowflake_internal.snowflake_status() IS 'for the view snowflake_status';
COMMENT ON FUNCTION snowflake_check()
    IS 'whether the server issues snowflake IDs, or would if it were promoted';
COMMENT ON VIEW pg_stat_snowflake
    IS 'what the server''s generator of snowflake IDs has done since the last reset';
COMMENT ON VIEW snowflake_status
    IS 'identity, layout and state of the server''s generator of snowflake IDs';
COMMENT ON FUNCTION snowflake_watch_twins()
    IS 'trigger that looks for replicated rows with this server''s own identity';
COMMENT ON TABLE snowflake_internal.snowflake_node_claims IS 'for snowflake_nodes';
COMMENT ON VIEW snowflake_nodes
    IS 'identities that were given to nodes, and those that were released';
COMMENT ON FUNCTION snowflake_internal.snowflake_guard_claims() IS 'for snowflake_node_claims';
COMMENT ON TABLE snowflake_internal.snowflake_layout
    IS 'epoch and widths that this database is used with, for dumps';
COMMENT ON FUNCTION snowflake_internal.snowflake_guard_layout() IS 'for snowflake_layout';
COMMENT ON FUNCTION snowflake_claim_node(text, integer, integer)
    IS 'gives a node an identity, as lines of postgresql.conf';
COMMENT ON FUNCTION snowflake_release_node(text, timestamptz, timestamptz, boolean)
    IS 'takes the identity back from a node';
COMMENT ON FUNCTION snowflake_conversion(regclass[], regnamespace)
    IS 'statements that let keys of tables take snowflake IDs';
COMMENT ON FUNCTION snowflake_reversion(regclass[], regnamespace)
    IS 'statements that let them take values of sequences again';
COMMENT ON FUNCTION snowflake_internal.snowflake_printed(text, regclass[], regnamespace, jsonb)
    IS 'for snowflake_conversion()';
COMMENT ON FUNCTION snowflake_convert(regclass, name, regnamespace, boolean)
    IS 'replaced by snowflake_conversion()';
COMMENT ON FUNCTION snowflake_revert(regclass, name, boolean) IS 'replaced by snowflake_reversion()';
COMMENT ON FUNCTION snowflake_floor() IS 'time up to which snowflake IDs might have been issued';
COMMENT ON FUNCTION snowflake_set_floor(timestamptz, boolean)
    IS 'makes snowflake IDs start after a time';
COMMENT ON FUNCTION snowflake_confirm(text, boolean)
    IS 'confirms a change of layout, system identifier or clock';
COMMENT ON FUNCTION snowflake_internal.snowflake_nextval_support(internal)
    IS 'planner support for snowflake_nextval()';
COMMENT ON FUNCTION snowflake_internal.snowflake_nextval_in_copy()
    IS 'stand-in for snowflake_nextval() in COPY';
COMMENT ON FUNCTION snowflake_horizon() IS 'snowflake ID up to which no row can still appear';
COMMENT ON FUNCTION snowflake_internal.snowflake_horizon_held() IS 'for snowflake_horizon_holders';
COMMENT ON VIEW snowflake_horizon_holders IS 'transactions that hold back snowflake_horizon()';

-- Last, because all functions are there. What ALTER DEFAULT PRIVILEGES has taken from PUBLIC is given back:
-- defaults, views and snowflake_within() call functions as the role that uses them. What it has given to
-- others of the functions that not every role may execute is taken back.
DO LANGUAGE plpgsql $$
DECLARE
    change text;
BEGIN
    FOR change IN
        WITH members AS (
            -- a row: an object of the extension
            SELECT d.classid, d.objid
            FROM pg_catalog.pg_depend AS d
            JOIN pg_catalog.pg_extension AS e ON e.oid OPERATOR(pg_catalog.=) d.refobjid
            WHERE e.extname OPERATOR(pg_catalog.=) 'snowflake'::pg_catalog.name
              AND d.refclassid OPERATOR(pg_catalog.=) 'pg_catalog.pg_extension'::pg_catalog.regclass
              AND d.deptype OPERATOR(pg_catalog.=) 'e'::pg_catalog."char"
        ), functions AS (
            -- a row: a function of the extension with privileges that are not those of every new function
            SELECT p.oid, p.proowner, p.proacl, p.proname OPERATOR(pg_catalog.=) ANY (ARRAY[
                'snowflake_stat_reset', 'snowflake_observe', 'snowflake_observe_rows',
                'snowflake_guard_claims', 'snowflake_guard_layout']::pg_catalog.name[]) AS is_restricted
            FROM pg_catalog.pg_proc AS p
            JOIN members AS m ON m.objid OPERATOR(pg_catalog.=) p.oid
             AND m.classid OPERATOR(pg_catalog.=) 'pg_catalog.pg_proc'::pg_catalog.regclass
            WHERE p.proacl IS NOT NULL
        )
        SELECT pg_catalog.format('GRANT EXECUTE ON FUNCTION %s TO PUBLIC', f.oid::pg_catalog.regprocedure)
        FROM functions AS f WHERE NOT f.is_restricted
        UNION ALL
        SELECT pg_catalog.format('REVOKE ALL ON FUNCTION %s FROM %I CASCADE', f.oid::pg_catalog.regprocedure,
            pg_catalog.pg_get_userbyid(a.grantee))
        FROM functions AS f, pg_catalog.aclexplode(f.proacl) AS a
        WHERE f.is_restricted AND a.grantee OPERATOR(pg_catalog.<>) f.proowner
        UNION ALL
        SELECT pg_catalog.format('GRANT USAGE ON TYPE %s TO PUBLIC', t.oid::pg_catalog.regtype)
        FROM pg_catalog.pg_type AS t
        JOIN members AS m ON m.objid OPERATOR(pg_catalog.=) t.oid
         AND m.classid OPERATOR(pg_catalog.=) 'pg_catalog.pg_type'::pg_catalog.regclass
        WHERE t.typacl IS NOT NULL
    LOOP
        EXECUTE change;
    END LOOP;
END $$;
