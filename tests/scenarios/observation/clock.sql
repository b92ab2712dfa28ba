-- Without snowflake.max_observed_lead, an ID is followed up to the clock.

CREATE TABLE seen AS SELECT snowflake_make(clock_timestamp() - interval '1 ms', 1, 2, 7) AS id;
SELECT snowflake_observe(id), snowflake_nextval() > id FROM seen; --> t | t

-- The clock comes by itself to one that was ahead.
UPDATE seen SET id = snowflake_make(clock_timestamp() + interval '500 ms', 1, 2, 7) RETURNING snowflake_observe(id); --> f
SELECT pg_sleep(0.6);
SELECT snowflake_observe(id), snowflake_nextval() > id FROM seen; --> t | t
