-- Jitter spreads the first sequence of a millisecond, and so shards by id % n at a low rate.

\set snowflake.sequence_jitter = 1023

-- Chances that this fails by itself: 400 draws of 1,024 that all stay below 512, or miss one of 16 shards.
SELECT max(snowflake_sequence(id)) BETWEEN 512 AND 1023, count(DISTINCT id % 16)
    FROM (SELECT snowflake_nextval() AS id, pg_sleep(0.002) FROM generate_series(1, 400)) AS ids; --> t | 16
