-- The counters of pg_stat_snowflake, and the columns of snowflake_status.

SELECT string_agg(attname || ' ' || atttypid::regtype, ', ' ORDER BY attnum) FROM pg_attribute WHERE attrelid = 'pg_stat_snowflake'::regclass AND attnum > 0;
--> issued bigint, sequence_overflows bigint, waits bigint, wait_time double precision, steps_held bigint, steps_refused bigint, largest_step_back bigint, lead bigint, max_lead bigint, reservations bigint, stats_reset timestamp with time zone, twins bigint, steps_reused bigint, observations_refused bigint
SELECT string_agg(attname || ' ' || atttypid::regtype, ', ' ORDER BY attnum) FROM pg_attribute WHERE attrelid = 'snowflake_status'::regclass AND attnum > 0;
--> datacenter_id integer, worker_id integer, epoch timestamp with time zone, datacenter_bits integer, worker_bits integer, sequence_bits integer, ends timestamp with time zone, remaining interval, last_id bigint, last_timestamp timestamp with time zone, floor timestamp with time zone, lead bigint, preloaded boolean, in_recovery boolean

-- Exactly what is taken is counted, and a reset forgets it.
SELECT snowflake_stat_reset();
SELECT issued, steps_held, steps_refused, largest_step_back, waits, wait_time,
       stats_reset BETWEEN clock_timestamp() - interval '1 minute' AND clock_timestamp() AS just_now FROM pg_stat_snowflake;
--> 0 | 0 | 0 | 0 | 0 | 0 | t
SELECT count(snowflake_nextval()) FROM generate_series(1, 1000); --> 1000
SELECT count(*) FROM (SELECT snowflake_nextval(2500)) AS ids; --> 2500
SELECT issued FROM pg_stat_snowflake; --> 3500

-- The present state.
CREATE TABLE last AS SELECT snowflake_nextval() AS id;
SELECT last_id = id AS last_id, last_timestamp = snowflake_timestamp(id) AS last_timestamp,
       floor >= last_timestamp AS reserved, floor <= snowflake_floor() AS durable FROM snowflake_status, last;
--> t | t | t | t
SELECT datacenter_id, worker_id, epoch, datacenter_bits, worker_bits, sequence_bits, ends, remaining > interval '50 years' AS much_left,
       preloaded, in_recovery FROM snowflake_status;
--> 5 | 9 | 2010-11-04 01:42:54.657+00 | 5 | 5 | 12 | 2080-07-10 17:30:30.208+00 | t | t | f

-- Everybody may look, and nobody but the owner reset.
CREATE ROLE reader;
SET ROLE reader;
SELECT count(*) FROM pg_stat_snowflake, snowflake_status; --> 1
SELECT snowflake_stat_reset(); --> ERROR 42501: permission denied for function snowflake_stat_reset
RESET ROLE;
GRANT EXECUTE ON FUNCTION snowflake_stat_reset() TO reader;
SET ROLE reader;
SELECT snowflake_stat_reset();
