\set VERBOSITY default
SET timezone = 'UTC';
SET datestyle = 'ISO';

-- The floor is above all that was issued, by a reservation at most.
SELECT snowflake_timestamp(snowflake_nextval()) <= snowflake_floor() AS covered,
       snowflake_floor() < clock_timestamp() + interval '2.1 s' AS near;

-- It moves up, and IDs with it.
SELECT snowflake_set_floor(date_trunc('milliseconds', now()) + interval '1 hour') AS floor \gset
SELECT snowflake_floor() = :'floor' AS set;
SELECT snowflake_timestamp(snowflake_nextval()) > :'floor' AS above;

-- Down, and far ahead, only by force. (The details tell the time.)
\set VERBOSITY terse
SELECT snowflake_set_floor('2020-01-01 00:00:00+00');
\echo :LAST_ERROR_SQLSTATE
DO $$
BEGIN
    PERFORM snowflake_set_floor('2080-01-01 00:00:00+00');
EXCEPTION WHEN object_not_in_prerequisite_state THEN
    RAISE NOTICE '%', regexp_replace(sqlerrm, '[0-9]+', '...');
END $$;
\set VERBOSITY default
SELECT snowflake_set_floor('infinity');
\echo :LAST_ERROR_SQLSTATE
SELECT snowflake_set_floor('1999-01-01 00:00:00+00', force => true);
\echo :LAST_ERROR_SQLSTATE
SELECT snowflake_set_floor(NULL) IS NULL AS nothing;
SET client_min_messages = error;
SELECT snowflake_set_floor(date_trunc('milliseconds', now()), force => true) = snowflake_floor() AS lowered;
RESET client_min_messages;
SELECT snowflake_timestamp(snowflake_nextval()) < clock_timestamp() + interval '1 ms' AS is_now;

-- Nothing to confirm here.
SELECT snowflake_confirm('layout');
SELECT snowflake_confirm('system_identifier');
SELECT snowflake_confirm('system_identifier', force => true);
SELECT snowflake_confirm('clock');
SELECT snowflake_confirm(NULL) IS NULL AS nothing;
SELECT snowflake_confirm('everything');
\echo :LAST_ERROR_SQLSTATE

-- Only a superuser may.
CREATE ROLE regress_snowflake;
SET ROLE regress_snowflake;
SELECT snowflake_floor() IS NOT NULL AS readable;
SELECT snowflake_set_floor(now());
\echo :LAST_ERROR_SQLSTATE
SELECT snowflake_confirm('clock');
\echo :LAST_ERROR_SQLSTATE
RESET ROLE;
DROP ROLE regress_snowflake;
