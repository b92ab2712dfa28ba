-- An epoch that is given as a time with an offset.

\set snowflake.epoch = 2015-01-01T01:00:00+01:00

SELECT timestamp, datacenter_id, worker_id, sequence, id FROM snowflake_parse(175928847299117063);
--> 2016-04-30 11:18:25.796+00 | 1 | 0 | 7 | 175928847299117063
SELECT snowflake_make('2016-04-30 11:18:25.796+00', 1, 0, 7); --> 175928847299117063
