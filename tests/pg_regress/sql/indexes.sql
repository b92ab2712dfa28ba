\set VERBOSITY default
SET timezone = 'UTC';
SET datestyle = 'ISO';

-- A stored generated column, an index on an expression, a BRIN index, and partitions by what an ID says.
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
SET enable_seqscan = off;
EXPLAIN (COSTS OFF) SELECT * FROM events WHERE snowflake_timestamp(id) = '2026-01-03+00';
SELECT count(*) FROM events WHERE snowflake_timestamp(id) BETWEEN '2026-01-03+00' AND '2026-01-03 01:00+00';
EXPLAIN (COSTS OFF) SELECT count(*) FROM events WHERE snowflake_datacenter_id(id) = 5 AND snowflake_worker_id(id) = 3;
SELECT count(*) FROM events WHERE snowflake_datacenter_id(id) = 5 AND snowflake_worker_id(id) = 3;
DROP INDEX events_by_time;
EXPLAIN (COSTS OFF) SELECT count(*) FROM events WHERE snowflake_timestamp(id) >= '2026-01-03+00' AND snowflake_timestamp(id) < '2026-01-03 01:00+00';
SELECT count(*) FROM events WHERE snowflake_timestamp(id) >= '2026-01-03+00' AND snowflake_timestamp(id) < '2026-01-03 01:00+00';
DROP TABLE events;

CREATE TABLE by_worker (id bigint NOT NULL) PARTITION BY LIST (snowflake_worker_id(id));
CREATE TABLE by_worker_9 PARTITION OF by_worker FOR VALUES IN (9);
CREATE TABLE by_worker_other PARTITION OF by_worker DEFAULT;
INSERT INTO by_worker VALUES (1268118639732232192), (1541815603606036480), (snowflake_nextval());
SELECT tableoid::regclass AS partition, count(*) FROM by_worker GROUP BY partition ORDER BY partition;
DROP TABLE by_worker;
