-- An epoch that is given in milliseconds.

\set snowflake.epoch = 1420070400000

SELECT timestamp, datacenter_id, worker_id, sequence, id FROM snowflake_parse(175928847299117063);
--> 2016-04-30 11:18:25.796+00 | 1 | 0 | 7 | 175928847299117063
SELECT snowflake_make('2016-04-30 11:18:25.796+00', 1, 0, 7); --> 175928847299117063
