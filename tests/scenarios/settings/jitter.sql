-- Jitter spreads the first sequence of a millisecond.

\set snowflake.sequence_jitter = 1023

-- Chances that this fails by itself: 200 draws of 1,024 that all stay below 512, or miss one of 8 classes.
SELECT max(snowflake_sequence(id)) BETWEEN 512 AND 1023, count(DISTINCT snowflake_sequence(id) % 8)
    FROM (SELECT snowflake_nextval() AS id, pg_sleep(0.002) FROM generate_series(1, 200)) AS ids; --> t | 8
