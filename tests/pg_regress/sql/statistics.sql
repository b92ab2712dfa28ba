\set VERBOSITY default
SET timezone = 'UTC';
SET datestyle = 'ISO';
\d pg_stat_snowflake
\d snowflake_status

-- Exactly what is taken is counted, and a reset forgets it.
SELECT snowflake_stat_reset();
SELECT issued, steps_held, steps_refused, largest_step_back, waits, wait_time,
       stats_reset BETWEEN clock_timestamp() - interval '1 minute' AND clock_timestamp() AS just_now FROM pg_stat_snowflake;
SELECT count(snowflake_nextval()) FROM generate_series(1, 1000);
SELECT count(*) FROM (SELECT snowflake_nextval(2500)) AS ids;
SELECT issued FROM pg_stat_snowflake;

-- How things stand.
SELECT snowflake_nextval() AS id \gset
SELECT last_id = :id AS last_id, last_timestamp = snowflake_timestamp(:id) AS last_timestamp,
       floor >= last_timestamp AS reserved, floor <= snowflake_floor() AS durable FROM snowflake_status;
SELECT datacenter_id, worker_id, epoch, datacenter_bits, worker_bits, sequence_bits, ends, remaining > interval '50 years' AS much_left,
       preloaded, in_recovery FROM snowflake_status;

-- Everybody may look, and nobody but the owner reset.
CREATE ROLE regress_snowflake_reader;
SET ROLE regress_snowflake_reader;
SELECT count(*) FROM pg_stat_snowflake, snowflake_status;
SELECT snowflake_stat_reset();
\echo :LAST_ERROR_SQLSTATE
RESET ROLE;
GRANT EXECUTE ON FUNCTION snowflake_stat_reset() TO regress_snowflake_reader;
SET ROLE regress_snowflake_reader;
SELECT snowflake_stat_reset();
RESET ROLE;
REVOKE EXECUTE ON FUNCTION snowflake_stat_reset() FROM regress_snowflake_reader;
DROP ROLE regress_snowflake_reader;
