-- More than a millisecond holds is waited for. A reservation lasts for a second at least.

SELECT snowflake_stat_reset();
SELECT count(*) FROM (SELECT snowflake_nextval(2000000)) AS ids; --> 2000000
SELECT issued, sequence_overflows BETWEEN 1 AND 506, waits >= 1, wait_time > 0, reservations <= 10 FROM pg_stat_snowflake; --> 2000000 | t | t | t | t
