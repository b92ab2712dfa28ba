-- After an ID of another server is observed, the next ID is greater in every session.

\set snowflake.max_observed_lead = 1min

CREATE TABLE seen (id bigint); INSERT INTO seen VALUES (0);
-- Observes an ID of datacenter 1, worker 2, that is so far from the clock.
CREATE FUNCTION observe(from_now interval) RETURNS boolean LANGUAGE sql AS $$
    UPDATE seen SET id = snowflake_make(clock_timestamp() + from_now, 1, 2, 7) RETURNING snowflake_observe(id) $$;
CREATE FUNCTION next_is_greater() RETURNS boolean LANGUAGE sql AS 'SELECT snowflake_nextval() > id FROM seen';
SELECT snowflake_stat_reset();
SELECT observe('-1 h'), next_is_greater(); --> t | t
\session other
SELECT next_is_greater(), observe('-1 ms'), next_is_greater(); --> t | t | t
\session
SELECT next_is_greater(), observe('0'), next_is_greater(); --> t | t | t
\session other
SELECT next_is_greater(), observe('1 ms'), next_is_greater(); --> t | t | t
\session
SELECT next_is_greater(), observe('100 ms'), next_is_greater(); --> t | t | t
\session other
SELECT next_is_greater(), observe('3 s'), next_is_greater(); --> t | t | t
\session
SELECT next_is_greater(), observe('2 s'), next_is_greater(); --> t | t | t
\session other
SELECT next_is_greater(), observe('50 s'), next_is_greater(); --> t | t | t
\session
SELECT next_is_greater(); --> t

-- A lead that the observation explains is no step of the clock, and the check says how far ahead IDs are.
SELECT lead > 45000, observations_refused, steps_held + steps_reused + steps_refused FROM pg_stat_snowflake; --> t | 0 | 0
SELECT ok, detail FROM snowflake_check() WHERE name = 'observation';
--> t | Observed IDs of other servers are followed up to 00:01:00 ahead of the clock. ... ahead now, and one was ...
