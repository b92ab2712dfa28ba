-- A transaction that has taken an ID holds the horizon back until it has ended, however it ends.

\set max_prepared_transactions = 20

CREATE TABLE jobs (id bigint PRIMARY KEY DEFAULT snowflake_nextval(), what text);
-- A sequence tells other sessions the first ID, and stays as it is at a rollback.
CREATE SEQUENCE first;
CREATE VIEW horizon AS SELECT snowflake_horizon() = last_value - 1 AS held, snowflake_horizon() = (SELECT max(id) FROM jobs) AS free FROM first;

-- The horizon after another transaction has committed a later ID.
CREATE PROCEDURE commit_next(OUT held boolean, OUT free boolean) LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO jobs DEFAULT VALUES; COMMIT;
    SELECT h.held, h.free INTO held, free FROM horizon AS h;
END $$;

-- A poller gets a late commit in order.
\session late
BEGIN; INSERT INTO jobs (what) VALUES ('late') RETURNING setval('first', id);
\session
INSERT INTO jobs (what) VALUES ('next');
SELECT what FROM jobs WHERE id <= snowflake_horizon() ORDER BY id; --> (0 rows)
TABLE horizon; --> t | f
\session late
COMMIT;
\session
SELECT what FROM jobs WHERE id <= snowflake_horizon() ORDER BY id; --> late
--> next
TABLE horizon; --> f | t

-- The same for other ends.
\session late
BEGIN; INSERT INTO jobs DEFAULT VALUES RETURNING setval('first', id);
\session
CALL commit_next(NULL, NULL); --> t | f
\session late
ROLLBACK;
\session
CALL commit_next(NULL, NULL); --> f | t
\session late
BEGIN; INSERT INTO jobs DEFAULT VALUES RETURNING setval('first', id);
\session
CALL commit_next(NULL, NULL); --> t | f
\session late
COMMIT AND CHAIN;
\session
CALL commit_next(NULL, NULL); --> f | t
\session late
INSERT INTO jobs DEFAULT VALUES RETURNING setval('first', id);
\session
CALL commit_next(NULL, NULL); --> t | f
\session late
SELECT 1 / 0; --> ERROR 22012
\session
CALL commit_next(NULL, NULL); --> f | t
\session late
ROLLBACK;

-- A rolled back subtransaction might have left a row that a later command reads no more; the transaction has taken the ID all the same.
BEGIN; SAVEPOINT a; INSERT INTO jobs DEFAULT VALUES RETURNING setval('first', id); ROLLBACK TO a;
\session
CALL commit_next(NULL, NULL); --> t | f
\session late
INSERT INTO jobs DEFAULT VALUES;
\session
CALL commit_next(NULL, NULL); --> t | f
\session late
COMMIT;
BEGIN; SAVEPOINT a; INSERT INTO jobs DEFAULT VALUES RETURNING setval('first', id); RELEASE a;
\session
CALL commit_next(NULL, NULL); --> t | f
\session late
INSERT INTO jobs DEFAULT VALUES; COMMIT;
\session
CALL commit_next(NULL, NULL); --> f | t

-- So does an ID without a row, which might still come. A transaction is held back by itself.
\session late
BEGIN; SELECT setval('first', min(id)) FROM snowflake_nextval(100) AS id;
\session
CALL commit_next(NULL, NULL); --> t | f
\session late
TABLE horizon; --> t | f
INSERT INTO jobs SELECT last_value FROM first; COMMIT;
\session
CALL commit_next(NULL, NULL); --> f | t

-- So do IDs that parallel workers take for their leader, which might take none itself, as before 0.5.0.
\session late
ALTER FUNCTION snowflake_nextval() PARALLEL SAFE;
CREATE TABLE many AS SELECT generate_series(1, 10000) AS n;
SET parallel_setup_cost = 0; SET parallel_tuple_cost = 0; SET min_parallel_table_scan_size = 0; SET parallel_leader_participation = off;
EXPLAIN (COSTS OFF) SELECT min(snowflake_nextval()) FROM many;
--> Finalize Aggregate
-->   ->  Gather
-->         Workers Planned: 2
-->         ->  Partial Aggregate
-->               ->  Parallel Seq Scan on many
BEGIN; CREATE TEMP TABLE min AS SELECT min(snowflake_nextval()) FROM many; SELECT setval('first', min) FROM min;
\session
CALL commit_next(NULL, NULL); --> t | f
\session late
COMMIT;
\session
CALL commit_next(NULL, NULL); --> f | t

-- A prepared transaction holds it back until it is committed or rolled back.
TRUNCATE jobs;
\session late
BEGIN; INSERT INTO jobs (what) VALUES ('prepared') RETURNING setval('first', id); PREPARE TRANSACTION 'two';
INSERT INTO jobs (what) VALUES ('of its session');
\session
INSERT INTO jobs (what) VALUES ('next');
TABLE horizon; --> t | f
SELECT what FROM jobs WHERE id <= snowflake_horizon() ORDER BY id; --> (0 rows)
COMMIT PREPARED 'two';
SELECT what FROM jobs WHERE id <= snowflake_horizon() ORDER BY id;
--> prepared
--> of its session
--> next
TABLE horizon; --> f | t
\session late
BEGIN; INSERT INTO jobs (what) VALUES ('rolled back') RETURNING setval('first', id); PREPARE TRANSACTION 'two';
\session
INSERT INTO jobs (what) VALUES ('last');
TABLE horizon; --> t | f
ROLLBACK PREPARED 'two';
SELECT what FROM jobs WHERE id <= snowflake_horizon() ORDER BY id DESC LIMIT 1; --> last
TABLE horizon; --> f | t
-- A preparation that fails.
\session late
BEGIN; INSERT INTO jobs DEFAULT VALUES; PREPARE TRANSACTION 'same';
\session
BEGIN; INSERT INTO jobs DEFAULT VALUES;
PREPARE TRANSACTION 'same'; --> ERROR 42710
ROLLBACK PREPARED 'same';
CALL commit_next(NULL, NULL); --> f | t
