-- From 0.2.0 to 0.3.0 of the extension of snowflake_pg.
--
-- The functions of conversions became an extension of their own. What depends on them is named, because
-- DROP FUNCTION would name it without saying what to do.
DO LANGUAGE plpgsql $$
DECLARE
    dependents pg_catalog.text;
BEGIN
    SELECT pg_catalog.string_agg(
        pg_catalog.pg_describe_object(d.classid, d.objid, d.objsubid), ', '::pg_catalog.text)
    INTO dependents
    FROM pg_catalog.pg_extension AS e
    JOIN pg_catalog.pg_depend AS member
        ON member.refclassid OPERATOR(pg_catalog.=) 'pg_catalog.pg_extension'::pg_catalog.regclass::pg_catalog.oid
        AND member.refobjid OPERATOR(pg_catalog.=) e.oid
        AND member.classid OPERATOR(pg_catalog.=) 'pg_catalog.pg_proc'::pg_catalog.regclass::pg_catalog.oid
        AND member.deptype OPERATOR(pg_catalog.=) 'e'::pg_catalog."char"
    JOIN pg_catalog.pg_proc AS p ON p.oid OPERATOR(pg_catalog.=) member.objid
        AND p.proname OPERATOR(pg_catalog.~) '^snowflake_(convert|revert)'::pg_catalog.text
    JOIN pg_catalog.pg_depend AS d
        ON d.refclassid OPERATOR(pg_catalog.=) member.classid
        AND d.refobjid OPERATOR(pg_catalog.=) member.objid
    WHERE e.extname OPERATOR(pg_catalog.=) 'snowflake'::pg_catalog.name;
    IF dependents IS NOT NULL THEN
        RAISE dependent_objects_still_exist USING
            MESSAGE = 'objects depend on functions that the extension snowflake no longer has',
            DETAIL = pg_catalog.format('These functions are in the extension snowflake_convert now. '
                'What depends on them: %s.', dependents),
            HINT = 'Drop these objects, update, execute CREATE EXTENSION snowflake_convert, '
                'and create them again.';
    END IF;
    RAISE NOTICE 'the functions of conversions are in an extension of their own now' USING
        HINT = 'Execute CREATE EXTENSION snowflake_convert in databases in which keys are to be converted.';
END $$;
DROP FUNCTION snowflake_convert(
    pg_catalog.regclass, pg_catalog.name, pg_catalog.bool, pg_catalog.text, pg_catalog.bool,
    pg_catalog.bool, pg_catalog.regnamespace, pg_catalog.regprocedure[]);
DROP FUNCTION snowflake_revert(pg_catalog.regclass, pg_catalog.name, pg_catalog.bool);
DROP FUNCTION snowflake_convert_execute(pg_catalog.text[], pg_catalog.regrole);
DROP FUNCTION snowflake_convert_report(pg_catalog.regclass, pg_catalog.regnamespace);
CREATE FUNCTION snowflake_internal.next_id() RETURNS bigint
    LANGUAGE c VOLATILE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'snowflake_internal_next_id_wrapper';
CREATE FUNCTION snowflake_internal.id_of_now() RETURNS bigint
    LANGUAGE c VOLATILE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'snowflake_internal_id_of_now_wrapper';
COMMENT ON SCHEMA snowflake_internal IS 'tables and functions for the extension snowflake';
REVOKE EXECUTE ON FUNCTION snowflake_internal.next_id() FROM PUBLIC;
COMMENT ON FUNCTION snowflake_internal.next_id()
    IS 'next snowflake ID, for the extension snowflake_convert';
COMMENT ON FUNCTION snowflake_internal.id_of_now()
    IS 'smallest snowflake ID of now, for the extension snowflake_convert';
CREATE FUNCTION snowflake_to_public(id bigint, prefix text DEFAULT '') RETURNS text
    LANGUAGE c STABLE PARALLEL SAFE AS 'MODULE_PATHNAME', 'snowflake_to_public_wrapper';
CREATE FUNCTION snowflake_from_public(public text, prefix text DEFAULT '') RETURNS bigint
    LANGUAGE c STABLE PARALLEL SAFE AS 'MODULE_PATHNAME', 'snowflake_from_public_wrapper';
CREATE FUNCTION snowflake_observe(id bigint) RETURNS boolean
    LANGUAGE c VOLATILE STRICT PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'snowflake_observe';
CREATE FUNCTION snowflake_observe_rows() RETURNS trigger
    LANGUAGE c AS 'MODULE_PATHNAME', 'snowflake_observe_rows';
CREATE FUNCTION snowflake_internal.snowflake_stat_observations_refused() RETURNS bigint
    LANGUAGE c VOLATILE STRICT PARALLEL SAFE
    AS 'MODULE_PATHNAME', 'snowflake_stat_observations_refused_wrapper';
REVOKE EXECUTE ON FUNCTION snowflake_observe(bigint), snowflake_observe_rows() FROM PUBLIC;
-- A call without arguments also fits functions of the same name whose parameters all have defaults,
-- and is an error if there is one. Others might have created such functions in the schema of the
-- extension, but not in the schema of its tables, so the view is created from there.
ALTER FUNCTION snowflake_stat() SET SCHEMA snowflake_internal;
CREATE OR REPLACE VIEW pg_stat_snowflake AS
    SELECT *, snowflake_internal.snowflake_stat_observations_refused() AS observations_refused
    FROM snowflake_internal.snowflake_stat();
DO LANGUAGE plpgsql $$
DECLARE
    moved pg_catalog.text;
BEGIN
    FOREACH moved IN ARRAY ARRAY['snowflake_stat()', 'snowflake_stat_observations_refused()']
    LOOP
        EXECUTE pg_catalog.format(
            'ALTER FUNCTION snowflake_internal.%s SET SCHEMA %I', moved, pg_catalog.current_schema());
    END LOOP;
END $$;
-- As a replica, too.
ALTER TABLE snowflake_internal.snowflake_node_claims ENABLE ALWAYS TRIGGER guard;
ALTER TABLE snowflake_internal.snowflake_layout ENABLE ALWAYS TRIGGER guard;
COMMENT ON FUNCTION snowflake_observe(bigint)
    IS 'lets this server issue only IDs that are greater than this one';
COMMENT ON FUNCTION snowflake_observe_rows() IS 'trigger that observes IDs of replicated rows';
COMMENT ON FUNCTION snowflake_stat_observations_refused() IS 'for pg_stat_snowflake';
COMMENT ON FUNCTION snowflake_to_public(bigint, text)
    IS 'name of a snowflake ID that says nothing about it';
COMMENT ON FUNCTION snowflake_from_public(text, text)
    IS 'snowflake ID of a name that snowflake_to_public() made';
CREATE FUNCTION snowflake_internal.snowflake_nextval_support(internal) RETURNS internal
    LANGUAGE c STRICT AS 'MODULE_PATHNAME', 'snowflake_nextval_support';
CREATE FUNCTION snowflake_internal.snowflake_nextval_in_copy() RETURNS bigint
    LANGUAGE c STABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'snowflake_nextval_in_copy';
ALTER FUNCTION snowflake_nextval() SUPPORT snowflake_internal.snowflake_nextval_support;
COMMENT ON FUNCTION snowflake_internal.snowflake_nextval_support(internal)
    IS 'planner support for snowflake_nextval()';
COMMENT ON FUNCTION snowflake_internal.snowflake_nextval_in_copy()
    IS 'stand-in for snowflake_nextval() in COPY';
CREATE FUNCTION snowflake_horizon() RETURNS bigint
    LANGUAGE c STABLE STRICT PARALLEL RESTRICTED AS 'MODULE_PATHNAME', 'snowflake_horizon_wrapper';
CREATE FUNCTION snowflake_horizon_held()
    RETURNS TABLE (pid integer, xid bigint, has_id boolean, since timestamptz, first_id bigint)
    LANGUAGE c VOLATILE STRICT PARALLEL RESTRICTED
    AS 'MODULE_PATHNAME', 'snowflake_horizon_held_wrapper';
CREATE VIEW snowflake_horizon_holders AS
    SELECT h.pid, NULL::text AS prepared, h.since, h.first_id
    FROM snowflake_horizon_held() AS h
    WHERE h.pid IS NOT NULL
    UNION ALL
    SELECT NULL::integer, p.gid, h.since, h.first_id
    FROM pg_catalog.pg_prepared_xacts AS p
    LEFT JOIN snowflake_horizon_held() AS h
        ON h.xid OPERATOR(pg_catalog.=) (p.transaction::text)::bigint
    WHERE coalesce(h.has_id, true);
GRANT SELECT ON snowflake_horizon_holders TO PUBLIC;
COMMENT ON FUNCTION snowflake_horizon() IS 'snowflake ID up to which no row can still appear';
COMMENT ON FUNCTION snowflake_horizon_held() IS 'for snowflake_horizon_holders';
COMMENT ON VIEW snowflake_horizon_holders IS 'transactions that hold back snowflake_horizon()';
