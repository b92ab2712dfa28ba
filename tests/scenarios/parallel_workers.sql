-- A query takes IDs in its order, while parallel workers scan and sort for it.

CREATE TABLE source WITH (parallel_workers = 2) AS SELECT hashint4(n) AS created FROM generate_series(1, 20000) AS n;
ANALYZE source;
SET max_parallel_workers_per_gather = 2; SET min_parallel_table_scan_size = 0; SET parallel_setup_cost = 0; SET parallel_tuple_cost = 0; SET parallel_leader_participation = off;
EXPLAIN (VERBOSE, COSTS OFF) SELECT snowflake_nextval() AS id, created FROM source ORDER BY created;
--> Gather Merge
-->   Output: snowflake_nextval(), created
-->   Workers Planned: 2
-->   ->  Sort
-->         Output: created
-->         Sort Key: source.created
-->         ->  Parallel Seq Scan on public.source
-->               Output: created
EXPLAIN (COSTS OFF) SELECT snowflake_nextval(1) AS id, created FROM source ORDER BY created;
--> ProjectSet
-->   ->  Gather Merge
-->         Workers Planned: 2
-->         ->  Sort
-->               Sort Key: created
-->               ->  Parallel Seq Scan on source

CREATE TABLE forms (form text, id bigint, created int);
CREATE VIEW misplaced AS SELECT form, count(*), count(*) FILTER (WHERE created < before) AS misplaced
    FROM (SELECT *, lag(created) OVER (PARTITION BY form ORDER BY id) AS before FROM forms) AS pairs GROUP BY form ORDER BY form;
CREATE PROCEDURE try_forms() LANGUAGE plpgsql AS $$
BEGIN
    TRUNCATE forms;
    CREATE TABLE ids AS SELECT snowflake_nextval() AS id, created FROM source ORDER BY created;
    INSERT INTO forms SELECT 'CREATE TABLE AS', * FROM ids;
    DROP TABLE ids;
    CREATE TABLE ids AS SELECT snowflake_nextval(1) AS id, created FROM source ORDER BY created;
    INSERT INTO forms SELECT 'CREATE TABLE AS, of a set', * FROM ids;
    DROP TABLE ids;
    CREATE MATERIALIZED VIEW ids AS SELECT snowflake_nextval() AS id, created FROM source ORDER BY created;
    INSERT INTO forms SELECT 'CREATE MATERIALIZED VIEW', * FROM ids;
    REFRESH MATERIALIZED VIEW ids;
    INSERT INTO forms SELECT 'REFRESH MATERIALIZED VIEW', * FROM ids;
    DROP MATERIALIZED VIEW ids;
    COPY (SELECT 'COPY', snowflake_nextval() AS id, created FROM source ORDER BY created) TO PROGRAM 'cat >ids';
    COPY forms FROM PROGRAM 'cat ids && rm ids';
END $$;
CALL try_forms();
TABLE misplaced;
--> COPY | 20000 | 0
--> CREATE MATERIALIZED VIEW | 20000 | 0
--> CREATE TABLE AS | 20000 | 0
--> CREATE TABLE AS, of a set | 20000 | 0
--> REFRESH MATERIALIZED VIEW | 20000 | 0

-- As before 0.5.0, and in functions that are declared so, workers take distinct IDs, in no order.
ALTER FUNCTION snowflake_nextval() PARALLEL SAFE; ALTER FUNCTION snowflake_nextval(int) PARALLEL SAFE;
-- On a busy machine, one worker might scan everything before the other one begins.
CREATE PROCEDURE try_until_misplaced() LANGUAGE plpgsql AS $$
BEGIN
    FOR attempt IN 1..100 LOOP
        CALL try_forms();
        EXIT WHEN (SELECT sum(misplaced) > 0 FROM misplaced);
    END LOOP;
END $$;
CALL try_until_misplaced();
SELECT sum(misplaced) > 0 FROM misplaced; --> t
SELECT count(*), count(DISTINCT id) FROM forms; --> 100000 | 100000
