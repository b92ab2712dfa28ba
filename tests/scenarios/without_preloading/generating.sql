-- Without preloading, IDs are decoded, and whoever wants one, or statistics, is told what to add.

\set shared_preload_libraries =

SELECT snowflake_worker_id(1268118639732232192), snowflake_make('2020-06-03 09:53:38.874+00', 5, 9, 0), (snowflake_parse(1268118639732232192)).sequence;
--> 9 | 1268118639732232192 | 0
-- The hint names no numbers, because numbers that somebody pastes would be another server's.
SELECT snowflake_nextval();
--> ERROR 55000: snowflake_pg must be loaded via "shared_preload_libraries" to generate IDs
--> HINT: Add snowflake_pg to shared_preload_libraries in postgresql.conf, after a comma if other libraries are there, and restart the server. To issue IDs, the server also needs snowflake.datacenter_id and snowflake.worker_id, with numbers that no other server has. See docs/runbook.md.
SELECT snowflake_nextval(3); --> ERROR 55000: snowflake_pg must be loaded via "shared_preload_libraries" to generate IDs
SELECT snowflake_currval(); --> ERROR 55000: snowflake_currval is not yet defined in this session
SELECT * FROM pg_stat_snowflake; --> ERROR 55000: ...shared_preload_libraries...
SELECT snowflake_stat_reset(); --> ERROR 55000: ...shared_preload_libraries...
SELECT preloaded, last_id, lead, floor, epoch FROM snowflake_status; --> f | NULL | NULL | NULL | 2010-11-04 01:42:54.657+00
SELECT snowflake_horizon(); --> ERROR 55000: snowflake_pg must be loaded via "shared_preload_libraries" to generate IDs
SELECT pid FROM snowflake_horizon_holders; --> (0 rows)
SELECT snowflake_to_public(1); --> ERROR 55000: ...shared_preload_libraries...

-- An ordinary user cannot choose the epoch. Before the library is loaded, PostgreSQL takes the setting for an unknown one.
CREATE ROLE ordinary LOGIN;
\as ordinary
SET snowflake.epoch = '1420070400000';
SELECT snowflake_timestamp(1268118639732232192);
--> WARNING: ... "snowflake.epoch"...
--> 2020-06-03 09:53:38.874+00
SET snowflake.epoch = '1420070400000'; --> ERROR 55P02
\options -c snowflake.epoch=1420070400000
SELECT snowflake_timestamp(1268118639732232192);
--> WARNING: ... "snowflake.epoch"...
--> 2020-06-03 09:53:38.874+00
