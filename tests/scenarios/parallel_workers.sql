-- Parallel workers take distinct IDs.

CREATE TABLE source AS SELECT generate_series(1, 200000) AS n;
ANALYZE source;
CREATE FUNCTION process_id() RETURNS int LANGUAGE internal VOLATILE PARALLEL SAFE AS 'pg_backend_pid';
SET max_parallel_workers_per_gather = 2; SET min_parallel_table_scan_size = 0; SET parallel_setup_cost = 0; SET parallel_tuple_cost = 0;
CREATE TABLE ids AS SELECT snowflake_nextval() AS id, process_id() AS pid FROM source;
SELECT count(*), count(DISTINCT id), count(DISTINCT pid) >= 2 FROM ids; --> 200000 | 200000 | t
