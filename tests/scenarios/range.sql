-- Ranges of time, which the index of the primary key and partitions serve.

-- The smallest and the largest ID of a millisecond.
SELECT snowflake_min('2020-06-03 09:53:38.874+00'), snowflake_max('2020-06-03 09:53:38.874+00');
--> 1268118639731539968 | 1268118639735734271
SELECT snowflake_min('2020-06-03 09:53:38.874999+00') = snowflake_min('2020-06-03 09:53:38.874+00') AS cut; --> t
SELECT snowflake_max(ts) + 1 = snowflake_min(ts + interval '1 ms') AS adjacent
FROM (VALUES (timestamptz '2020-06-03 09:53:38.874+00')) AS t (ts); --> t
SELECT snowflake_min('2010-11-04 01:42:54.657+00'), snowflake_max('2080-07-10 17:30:30.208999+00');
--> 0 | 9223372036854775807
SELECT snowflake_min(NULL) IS NULL AS min, snowflake_max(NULL) IS NULL AS max; --> t | t

-- Outside of the timestamp field there is no such ID.
SELECT errors_of($calls$
    SELECT snowflake_min('2010-11-04 01:42:54.656999+00')
    SELECT snowflake_max('2080-07-10 17:30:30.209+00')
    SELECT snowflake_min('-infinity')
    SELECT snowflake_max('infinity')
$calls$);
--> 22003: timestamp 2010-11-04 01:42:54.656999+00 is out of range | The timestamp field holds 2010-11-04 01:42:54.657+00 to 2080-07-10 17:30:30.208+00. | The epoch says where the field begins.
--> 22003: timestamp 2080-07-10 17:30:30.209+00 is out of range | The timestamp field holds 2010-11-04 01:42:54.657+00 to 2080-07-10 17:30:30.208+00. | The epoch says where the field begins.
--> 22003: timestamp -infinity is out of range | The timestamp field holds 2010-11-04 01:42:54.657+00 to 2080-07-10 17:30:30.208+00. | The epoch says where the field begins.
--> 22003: timestamp infinity is out of range | The timestamp field holds 2010-11-04 01:42:54.657+00 to 2080-07-10 17:30:30.208+00. | The epoch says where the field begins.

-- A half-open range of time.
SELECT ts, snowflake_within(1268118639732232192, ts, 'infinity') AS since, snowflake_within(1268118639732232192, '-infinity', ts) AS before
FROM (VALUES (timestamptz '2020-06-03 09:53:38.873999+00'), ('2020-06-03 09:53:38.874+00'), ('2020-06-03 09:53:38.874001+00'),
             ('2020-06-03 09:53:38.875+00'), ('-infinity'), ('infinity'), ('1999-01-01+00'), ('2099-01-01+00'),
             ('4713-01-01 BC'), ('294276-12-31 23:59:59.999999+00')) AS t (ts)
ORDER BY ts;
--> -infinity | t | f
--> 4713-01-01 00:00:00+00 BC | t | f
--> 1999-01-01 00:00:00+00 | t | f
--> 2020-06-03 09:53:38.873999+00 | t | f
--> 2020-06-03 09:53:38.874+00 | t | f
--> 2020-06-03 09:53:38.874001+00 | f | t
--> 2020-06-03 09:53:38.875+00 | f | t
--> 2099-01-01 00:00:00+00 | f | t
--> 294276-12-31 23:59:59.999999+00 | f | t
--> infinity | f | t

-- The first and the last ID of the field.
SELECT id, snowflake_within(id, '-infinity', 'infinity') AS ever,
       snowflake_within(id, '2010-11-04 01:42:54.657+00', '2010-11-04 01:42:54.658+00') AS first,
       snowflake_within(id, '2080-07-10 17:30:30.208+00', '2080-07-10 17:30:30.209+00') AS last,
       snowflake_within(id, '2080-07-10 17:30:30.208+00', 'infinity') AS from_last,
       snowflake_within(id, '2080-07-10 17:30:30.208001+00', 'infinity') AS after_last,
       snowflake_within(id, 'infinity', 'infinity') AS at_infinity,
       snowflake_within(id, '-infinity', '2010-11-04 01:42:54.657+00') AS before_first
FROM (VALUES (0), (9223372036854775807)) AS ids (id);
--> 0 | t | t | f | f | f | f | f
--> 9223372036854775807 | t | f | t | t | f | f | f

-- A range that ends before it begins is empty. NULL is unknown where it matters.
SELECT snowflake_within(1268118639732232192, '2021-01-01+00', '2020-01-01+00') AS empty,
       snowflake_within(NULL, '2020-01-01+00', '2021-01-01+00') AS id,
       snowflake_within(1268118639732232192, NULL, '2021-01-01+00') AS since,
       snowflake_within(1268118639732232192, NULL, '2020-01-01+00') AS too_late,
       snowflake_within(1268118639732232192, '2020-01-01+00', NULL) AS before,
       snowflake_within(1268118639732232192, '2021-01-01+00', NULL) AS too_early; --> f | NULL | NULL | f | NULL | f

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
) AS cases; --> 100000 | t | 0

-- The primary key's index serves it.
CREATE TABLE events (id bigint PRIMARY KEY, what text);
INSERT INTO events SELECT snowflake_make(timestamptz '2026-01-01+00' + n * interval '1 hour', 5, 9, 0), 'event ' || n
FROM generate_series(0, 24 * 90 - 1) AS n;
ANALYZE events;
SET enable_bitmapscan = off;
EXPLAIN (COSTS OFF) SELECT * FROM events WHERE snowflake_within(id, '2026-02-01+00', '2026-02-02+00');
--> Index Scan using events_pkey on events
-->   Index Cond: ((id >= '2017749737272246272'::bigint) AND (id <= '2018112125137846271'::bigint))
EXPLAIN (COSTS OFF) SELECT * FROM events WHERE id >= snowflake_min(now() - interval '1 day');
--> Index Scan using events_pkey on events
-->   Index Cond: (id >= snowflake_min((now() - '1 day'::interval)))
EXPLAIN (COSTS OFF) SELECT * FROM events WHERE snowflake_within(id, now() - interval '1 day', 'infinity');
--> Index Scan using events_pkey on events
-->   Index Cond: ((id >= snowflake_internal.snowflake_within_min((now() - '1 day'::interval))) AND (id <= snowflake_internal.snowflake_within_max((now() - '1 day'::interval), 'infinity'::timestamp with time zone)))
SET plan_cache_mode = force_generic_plan;
PREPARE day(timestamptz) AS SELECT count(*) FROM events WHERE snowflake_within(id, $1, $1 + interval '1 day');
EXPLAIN (COSTS OFF) EXECUTE day('2026-02-01+00');
--> Aggregate
-->   ->  Index Only Scan using events_pkey on events
-->         Index Cond: ((id >= snowflake_internal.snowflake_within_min($1)) AND (id <= snowflake_internal.snowflake_within_max($1, ($1 + '1 day'::interval))))
EXECUTE day('2026-02-01+00'); --> 24
RESET plan_cache_mode;
SELECT count(*), min(what), max(what) FROM events WHERE snowflake_within(id, '2026-02-01+00', '2026-02-02+00');
--> 24 | event 744 | event 767
SELECT count(*) FROM events WHERE NOT snowflake_within(id, '2090-01-01+00', 'infinity'); --> 2160
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
--> events_2026_01 | 744 | 2026-01-01 00:00:00+00 | 2026-01-31 23:00:00+00
--> events_2026_02 | 672 | 2026-02-01 00:00:00+00 | 2026-02-28 23:00:00+00
--> events_2026_03 | 744 | 2026-03-01 00:00:00+00 | 2026-03-31 23:00:00+00
SET enable_seqscan = off;
EXPLAIN (COSTS OFF) SELECT * FROM events WHERE snowflake_within(id, '2026-02-01+00', '2026-03-01+00');
--> Index Scan using events_2026_02_pkey on events_2026_02 events
-->   Index Cond: ((id >= '2017749737272246272'::bigint) AND (id <= '2027896597509046271'::bigint))
EXPLAIN (COSTS OFF) SELECT * FROM events WHERE snowflake_within(id, '2026-02-01+00', '2026-03-01 00:00:00.000001+00');
--> Append
-->   ->  Index Scan using events_2026_02_pkey on events_2026_02 events_1
-->         Index Cond: ((id >= '2017749737272246272'::bigint) AND (id <= '2027896597513240575'::bigint))
-->   ->  Index Scan using events_2026_03_pkey on events_2026_03 events_2
-->         Index Cond: ((id >= '2017749737272246272'::bigint) AND (id <= '2027896597513240575'::bigint))
EXPLAIN (COSTS OFF) SELECT * FROM events WHERE snowflake_within(id, '2026-03-05+00', 'infinity');
--> Index Scan using events_2026_03_pkey on events_2026_03 events
-->   Index Cond: ((id >= '2029346148971446272'::bigint) AND (id <= '9223372036854775807'::bigint))
-- Without a partition that is left, PostgreSQL 19 also says what is replaced.
CREATE FUNCTION pg_temp.plan(query text) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE line text;
BEGIN
    FOR line IN EXECUTE 'EXPLAIN (COSTS OFF) ' || query LOOP
        IF line NOT LIKE '%Replaces:%' THEN RETURN NEXT line; END IF;
    END LOOP;
END $$;
SELECT pg_temp.plan($$SELECT * FROM events WHERE snowflake_within(id, '2099-03-05+00', 'infinity')$$);
--> Result
-->   One-Time Filter: false
SET plan_cache_mode = force_generic_plan;
PREPARE from_day(timestamptz) AS SELECT * FROM events WHERE snowflake_within(id, $1, $1 + interval '1 day');
EXPLAIN (COSTS OFF) EXECUTE from_day('2026-02-10+00');
--> Append
-->   Subplans Removed: 2
-->   ->  Index Scan using events_2026_02_pkey on events_2026_02 events_1
-->         Index Cond: ((id >= snowflake_internal.snowflake_within_min($1)) AND (id <= snowflake_internal.snowflake_within_max($1, ($1 + '1 day'::interval))))
