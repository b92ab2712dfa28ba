-- From 0.3.0 to 0.4.0 of the extension of snowflake_pg.
--
-- The extension snowflake_convert called functions that are no longer here, and has to be dropped before.
DO LANGUAGE plpgsql $$
BEGIN
    IF EXISTS (
        SELECT FROM pg_catalog.pg_extension
        WHERE extname OPERATOR(pg_catalog.=) 'snowflake_convert'::pg_catalog.name
    ) THEN
        RAISE dependent_objects_still_exist USING
            MESSAGE = 'the extension snowflake_convert is no longer part of snowflake_pg',
            DETAIL = 'From 0.4.0 on, snowflake_convert and snowflake_revert are functions of the extension snowflake.',
            HINT = 'Execute DROP EXTENSION snowflake_convert, and update again. Converted keys stay.';
    END IF;
END $$;
-- What only views, triggers and snowflake_within() call is where nobody else can create functions of the
-- same names.
ALTER FUNCTION snowflake_within_min(pg_catalog.timestamptz) SET SCHEMA snowflake_internal;
ALTER FUNCTION snowflake_within_max(pg_catalog.timestamptz, pg_catalog.timestamptz)
    SET SCHEMA snowflake_internal;
ALTER FUNCTION snowflake_stat() SET SCHEMA snowflake_internal;
ALTER FUNCTION snowflake_stat_observations_refused() SET SCHEMA snowflake_internal;
ALTER FUNCTION snowflake_status() SET SCHEMA snowflake_internal;
ALTER FUNCTION snowflake_horizon_held() SET SCHEMA snowflake_internal;
ALTER FUNCTION snowflake_guard_claims() SET SCHEMA snowflake_internal;
ALTER FUNCTION snowflake_guard_layout() SET SCHEMA snowflake_internal;
DROP FUNCTION snowflake_internal.next_id();
DROP FUNCTION snowflake_internal.id_of_now();
CREATE FUNCTION snowflake_convert(relation pg_catalog.regclass DEFAULT NULL, column_name pg_catalog.name DEFAULT NULL,
                                  schema pg_catalog.regnamespace DEFAULT NULL, dry_run pg_catalog.bool DEFAULT true)
    RETURNS TABLE (step pg_catalog.text, statement pg_catalog.text)
    LANGUAGE c VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'snowflake_convert_wrapper';
COMMENT ON FUNCTION snowflake_convert(
    pg_catalog.regclass, pg_catalog.name, pg_catalog.regnamespace, pg_catalog.bool)
    IS 'lets keys that take values of a sequence take snowflake IDs';
CREATE FUNCTION snowflake_revert(relation pg_catalog.regclass, column_name pg_catalog.name,
                                 dry_run pg_catalog.bool DEFAULT true)
    RETURNS TABLE (step pg_catalog.text, statement pg_catalog.text)
    LANGUAGE c VOLATILE STRICT PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'snowflake_revert_wrapper';
COMMENT ON FUNCTION snowflake_revert(pg_catalog.regclass, pg_catalog.name, pg_catalog.bool)
    IS 'lets a key take values of its sequence again';
