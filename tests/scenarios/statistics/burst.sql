-- A burst counts overflows and no waits: IDs of 100 ms, taken in a few milliseconds, run ahead of the clock.

\set snowflake.max_burst = 1000

SELECT snowflake_stat_reset();
SELECT count(*) FROM (SELECT snowflake_nextval(409600)) AS ids; --> 409600
SELECT max_lead BETWEEN 1 AND 1000, sequence_overflows BETWEEN max_lead AND 101, waits FROM pg_stat_snowflake; --> t | t | 0
