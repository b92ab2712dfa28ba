-- Indexes, generated columns and partitions by what an ID says.

CREATE TABLE events (
    id bigint PRIMARY KEY DEFAULT snowflake_nextval(),
    created_at timestamptz GENERATED ALWAYS AS (snowflake_timestamp(id)) STORED,
    code text COLLATE "C" GENERATED ALWAYS AS (snowflake_to_base62(id)) STORED
);
CREATE INDEX events_by_time ON events (snowflake_timestamp(id));
CREATE INDEX events_by_time_brin ON events USING brin (snowflake_timestamp(id));
CREATE INDEX events_by_worker ON events (snowflake_worker_id(id)) WHERE snowflake_datacenter_id(id) = 5;
INSERT INTO events SELECT snowflake_make(timestamptz '2026-01-01+00' + n * interval '1 minute', n % 32, n % 7, 0)
FROM generate_series(0, 9999) AS n;
ANALYZE events;
SELECT id, created_at, code FROM events ORDER BY id LIMIT 3;
--> 2006515713438646272 | 2026-01-01 00:00:00+00 | 2ODrWLs2l4S
--> 2006515965097021440 | 2026-01-01 00:01:00+00 | 2ODramZDebY
--> 2006516216755396608 | 2026-01-01 00:02:00+00 | 2ODrfDGOY8e
SET enable_seqscan = off;
EXPLAIN (COSTS OFF) SELECT * FROM events WHERE snowflake_timestamp(id) = '2026-01-03+00';
--> Index Scan using events_by_time on events
-->   Index Cond: (snowflake_timestamp(id) = '2026-01-03 00:00:00+00'::timestamp with time zone)
SELECT count(*) FROM events WHERE snowflake_timestamp(id) BETWEEN '2026-01-03+00' AND '2026-01-03 01:00+00'; --> 61
EXPLAIN (COSTS OFF) SELECT count(*) FROM events WHERE snowflake_datacenter_id(id) = 5 AND snowflake_worker_id(id) = 3;
--> Aggregate
-->   ->  Index Scan using events_by_worker on events
-->         Index Cond: (snowflake_worker_id(id) = 3)
SELECT count(*) FROM events WHERE snowflake_datacenter_id(id) = 5 AND snowflake_worker_id(id) = 3; --> 45
DROP INDEX events_by_time;
EXPLAIN (COSTS OFF) SELECT count(*) FROM events WHERE snowflake_timestamp(id) >= '2026-01-03+00' AND snowflake_timestamp(id) < '2026-01-03 01:00+00';
--> Aggregate
-->   ->  Bitmap Heap Scan on events
-->         Recheck Cond: ((snowflake_timestamp(id) >= '2026-01-03 00:00:00+00'::timestamp with time zone) AND (snowflake_timestamp(id) < '2026-01-03 01:00:00+00'::timestamp with time zone))
-->         ->  Bitmap Index Scan on events_by_time_brin
-->               Index Cond: ((snowflake_timestamp(id) >= '2026-01-03 00:00:00+00'::timestamp with time zone) AND (snowflake_timestamp(id) < '2026-01-03 01:00:00+00'::timestamp with time zone))
SELECT count(*) FROM events WHERE snowflake_timestamp(id) >= '2026-01-03+00' AND snowflake_timestamp(id) < '2026-01-03 01:00+00';
--> 60
DROP TABLE events;

CREATE TABLE by_worker (id bigint NOT NULL) PARTITION BY LIST (snowflake_worker_id(id));
CREATE TABLE by_worker_9 PARTITION OF by_worker FOR VALUES IN (9);
CREATE TABLE by_worker_other PARTITION OF by_worker DEFAULT;
INSERT INTO by_worker VALUES (1268118639732232192), (1541815603606036480), (snowflake_nextval());
SELECT tableoid::regclass AS partition, count(*) FROM by_worker GROUP BY partition ORDER BY partition;
--> by_worker_9 | 2
--> by_worker_other | 1
