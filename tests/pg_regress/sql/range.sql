\set VERBOSITY default
SET timezone = 'UTC';
SET datestyle = 'ISO';

-- The smallest and the largest ID of a millisecond.
SELECT snowflake_min('2020-06-03 09:53:38.874+00'), snowflake_max('2020-06-03 09:53:38.874+00');
SELECT snowflake_min('2020-06-03 09:53:38.874999+00') = snowflake_min('2020-06-03 09:53:38.874+00') AS cut;
SELECT snowflake_max(ts) + 1 = snowflake_min(ts + interval '1 ms') AS adjacent
FROM (VALUES (timestamptz '2020-06-03 09:53:38.874+00')) AS t (ts);
SELECT snowflake_min('2010-11-04 01:42:54.657+00'), snowflake_max('2080-07-10 17:30:30.208999+00');
SELECT snowflake_min(NULL) IS NULL AS min, snowflake_max(NULL) IS NULL AS max;

-- Outside of the timestamp field there is no such ID.
SELECT snowflake_min('2010-11-04 01:42:54.656999+00');
\echo :LAST_ERROR_SQLSTATE
SELECT snowflake_max('2080-07-10 17:30:30.209+00');
\echo :LAST_ERROR_SQLSTATE
SELECT snowflake_min('-infinity');
\echo :LAST_ERROR_SQLSTATE
SELECT snowflake_max('infinity');
\echo :LAST_ERROR_SQLSTATE

-- A half-open range of time.
SELECT ts, snowflake_within(1268118639732232192, ts, 'infinity') AS since, snowflake_within(1268118639732232192, '-infinity', ts) AS before
FROM (VALUES (timestamptz '2020-06-03 09:53:38.873999+00'), ('2020-06-03 09:53:38.874+00'), ('2020-06-03 09:53:38.874001+00'),
             ('2020-06-03 09:53:38.875+00'), ('-infinity'), ('infinity'), ('1999-01-01+00'), ('2099-01-01+00'),
             ('4713-01-01 BC'), ('294276-12-31 23:59:59.999999+00')) AS t (ts)
ORDER BY ts;

-- The first and the last ID of the field.
SELECT id, snowflake_within(id, '-infinity', 'infinity') AS ever,
       snowflake_within(id, '2010-11-04 01:42:54.657+00', '2010-11-04 01:42:54.658+00') AS first,
       snowflake_within(id, '2080-07-10 17:30:30.208+00', '2080-07-10 17:30:30.209+00') AS last,
       snowflake_within(id, '2080-07-10 17:30:30.208+00', 'infinity') AS from_last,
       snowflake_within(id, '2080-07-10 17:30:30.208001+00', 'infinity') AS after_last,
       snowflake_within(id, 'infinity', 'infinity') AS at_infinity,
       snowflake_within(id, '-infinity', '2010-11-04 01:42:54.657+00') AS before_first
FROM (VALUES (0), (9223372036854775807)) AS ids (id);

-- A range that ends before it begins is empty. NULL is unknown where it matters.
SELECT snowflake_within(1268118639732232192, '2021-01-01+00', '2020-01-01+00') AS empty,
       snowflake_within(NULL, '2020-01-01+00', '2021-01-01+00') AS id,
       snowflake_within(1268118639732232192, NULL, '2021-01-01+00') AS since,
       snowflake_within(1268118639732232192, NULL, '2020-01-01+00') AS too_late,
       snowflake_within(1268118639732232192, '2020-01-01+00', NULL) AS before,
       snowflake_within(1268118639732232192, '2021-01-01+00', NULL) AS too_early;

-- It is what it says, for random microseconds around random IDs, and around the ends of the field.
SELECT count(*) AS compared, count(*) FILTER (WHERE snowflake_within(id, since, before)) > 10000 AS some_within, count(*) FILTER (WHERE
    snowflake_within(id, since, before) IS DISTINCT FROM (snowflake_timestamp(id) >= since AND snowflake_timestamp(id) < before)) AS wrong
FROM (
    SELECT id, snowflake_timestamp(id) + round(random() * 6000 - 3000) * interval '1 us' AS since,
           snowflake_timestamp(id) + round(random() * 6000 - 3000) * interval '1 us' AS before
    FROM (SELECT CASE n % 4 WHEN 0 THEN 0 WHEN 1 THEN 9223372036854775807 - (random() * 10000000)::bigint WHEN 2 THEN 9223372036854775807
                 ELSE (random() * 9223372036854774784)::bigint END AS id
          FROM generate_series(1, 100000) AS n OFFSET 0) AS ids
    OFFSET 0
) AS cases;

-- The primary key's index serves it.
CREATE TABLE events (id bigint PRIMARY KEY, what text);
INSERT INTO events SELECT snowflake_make(timestamptz '2026-01-01+00' + n * interval '1 hour', 5, 9, 0), 'event ' || n
FROM generate_series(0, 24 * 90 - 1) AS n;
ANALYZE events;
SET enable_bitmapscan = off;
EXPLAIN (COSTS OFF) SELECT * FROM events WHERE snowflake_within(id, '2026-02-01+00', '2026-02-02+00');
EXPLAIN (COSTS OFF) SELECT * FROM events WHERE id >= snowflake_min(now() - interval '1 day');
EXPLAIN (COSTS OFF) SELECT * FROM events WHERE snowflake_within(id, now() - interval '1 day', 'infinity');
SET plan_cache_mode = force_generic_plan;
PREPARE day(timestamptz) AS SELECT count(*) FROM events WHERE snowflake_within(id, $1, $1 + interval '1 day');
EXPLAIN (COSTS OFF) EXECUTE day('2026-02-01+00');
EXECUTE day('2026-02-01+00');
RESET plan_cache_mode;
SELECT count(*), min(what), max(what) FROM events WHERE snowflake_within(id, '2026-02-01+00', '2026-02-02+00');
SELECT count(*) FROM events WHERE NOT snowflake_within(id, '2090-01-01+00', 'infinity');
RESET enable_bitmapscan;
DROP TABLE events;

-- Partitions by time.
CREATE TABLE events (id bigint PRIMARY KEY DEFAULT snowflake_nextval(), what text) PARTITION BY RANGE (id);
CREATE TABLE events_2026_01 PARTITION OF events FOR VALUES FROM (snowflake_min('2026-01-01+00')) TO (snowflake_min('2026-02-01+00'));
CREATE TABLE events_2026_02 PARTITION OF events FOR VALUES FROM (snowflake_min('2026-02-01+00')) TO (snowflake_min('2026-03-01+00'));
CREATE TABLE events_2026_03 PARTITION OF events FOR VALUES FROM (snowflake_min('2026-03-01+00')) TO (snowflake_min('2026-04-01+00'));
INSERT INTO events SELECT snowflake_make(timestamptz '2026-01-01+00' + n * interval '1 hour', 5, 9, 0), 'event ' || n
FROM generate_series(0, 24 * 90 - 1) AS n;
SELECT tableoid::regclass AS partition, count(*), min(snowflake_timestamp(id)), max(snowflake_timestamp(id))
FROM events GROUP BY partition ORDER BY partition;
EXPLAIN (COSTS OFF) SELECT * FROM events WHERE snowflake_within(id, '2026-02-01+00', '2026-03-01+00');
EXPLAIN (COSTS OFF) SELECT * FROM events WHERE snowflake_within(id, '2026-02-01+00', '2026-03-01 00:00:00.000001+00');
EXPLAIN (COSTS OFF) SELECT * FROM events WHERE snowflake_within(id, '2026-03-05+00', 'infinity');
-- Without a partition that is left, PostgreSQL 19 also says what is replaced.
CREATE FUNCTION pg_temp.plan(query text) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE line text;
BEGIN
    FOR line IN EXECUTE 'EXPLAIN (COSTS OFF) ' || query LOOP
        IF line NOT LIKE '%Replaces:%' THEN RETURN NEXT line; END IF;
    END LOOP;
END $$;
SELECT pg_temp.plan($$SELECT * FROM events WHERE snowflake_within(id, '2099-03-05+00', 'infinity')$$);
SET plan_cache_mode = force_generic_plan;
SET enable_seqscan = off;
SET enable_bitmapscan = off;
PREPARE from_day(timestamptz) AS SELECT * FROM events WHERE snowflake_within(id, $1, $1 + interval '1 day');
EXPLAIN (COSTS OFF) EXECUTE from_day('2026-02-10+00');
DROP TABLE events;
