-- The functions of the extension snowflake that a conversion calls are there from 0.3.0 on.
DO LANGUAGE plpgsql $$
BEGIN
    IF pg_catalog.to_regproc('snowflake_internal.next_id') IS NULL THEN
        RAISE object_not_in_prerequisite_state USING
            MESSAGE = 'the extension snowflake of this database is of an earlier version',
            HINT = 'Execute ALTER EXTENSION snowflake UPDATE first.';
    END IF;
END $$;
