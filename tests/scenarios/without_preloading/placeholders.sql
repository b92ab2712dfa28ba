-- The configured epoch counts. What a session has set before the library is loaded is dropped with a warning, whatever it is.

\set shared_preload_libraries =
\set snowflake.epoch = 1420070400000

CREATE ROLE ordinary LOGIN; CREATE ROLE setter LOGIN; ALTER ROLE setter SET snowflake.datacenter_bits = 99;
SELECT snowflake_timestamp(175928847299117063); --> 2016-04-30 11:18:25.796+00
\session 1
\as ordinary
SET snowflake.datacenter_bits = 99;
SELECT snowflake_timestamp(175928847299117063); SELECT snowflake_timestamp(175928847299117063);
--> WARNING: ... "snowflake.datacenter_bits"...
--> 2016-04-30 11:18:25.796+00
--> 2016-04-30 11:18:25.796+00
\session 2
SET snowflake.datacenter_bits = 'many';
SELECT snowflake_timestamp(175928847299117063); SELECT snowflake_timestamp(175928847299117063);
--> WARNING: ... "snowflake.datacenter_bits"...
--> 2016-04-30 11:18:25.796+00
--> 2016-04-30 11:18:25.796+00
\session 3
SET snowflake.sequence_bits = 24;
SELECT snowflake_timestamp(175928847299117063); SELECT snowflake_timestamp(175928847299117063);
--> WARNING: ... "snowflake.sequence_bits"...
--> 2016-04-30 11:18:25.796+00
--> 2016-04-30 11:18:25.796+00
\session 4
SET snowflake.epoch = 'yesterday';
SELECT snowflake_timestamp(175928847299117063); SELECT snowflake_timestamp(175928847299117063);
--> WARNING: ... "snowflake.epoch"...
--> 2016-04-30 11:18:25.796+00
--> 2016-04-30 11:18:25.796+00
\session 5
SET snowflake.worker_id = 'one'; SET snowflake.max_wait = 'long';
SELECT snowflake_timestamp(175928847299117063); SELECT snowflake_timestamp(175928847299117063);
--> WARNING: ...
--> WARNING: ...
--> 2016-04-30 11:18:25.796+00
--> 2016-04-30 11:18:25.796+00
\session 6
BEGIN; SET LOCAL snowflake.worker_bits = 0; SET snowflake.start_after = 'x';
SELECT snowflake_timestamp(175928847299117063); SELECT snowflake_timestamp(175928847299117063);
--> WARNING: ...
--> WARNING: ...
--> 2016-04-30 11:18:25.796+00
--> 2016-04-30 11:18:25.796+00
\session 7
\as postgres
SET snowflake.datacenter_bits = 3; SET snowflake.epoch = '0';
SELECT snowflake_timestamp(175928847299117063); SELECT snowflake_timestamp(175928847299117063);
--> WARNING: ...
--> WARNING: ...
--> 2016-04-30 11:18:25.796+00
--> 2016-04-30 11:18:25.796+00
\session 8
\as setter
SELECT snowflake_timestamp(175928847299117063); SELECT snowflake_timestamp(175928847299117063);
--> WARNING: ... "snowflake.datacenter_bits"...
--> 2016-04-30 11:18:25.796+00
--> 2016-04-30 11:18:25.796+00
