-- A server that continues IDs of the layout of pgactive.

\set snowflake.epoch = 2016-10-06T23:22:19.634Z
\set snowflake.datacenter_bits = 0
\set snowflake.worker_bits = 10
\set snowflake.sequence_bits = 14
\set snowflake.datacenter_id = 0
\set snowflake.worker_id = 513

SELECT datacenter_id, worker_id, timestamp BETWEEN now() - interval '1 s' AND clock_timestamp() AS is_now,
    snowflake_parse(id, '2016-10-06T23:22:19.634Z', 0, 10, 14) = snowflake_parse(id) AS same
FROM snowflake_parse(snowflake_nextval()); --> 0 | 513 | t | t
SELECT ends FROM snowflake_status; --> 2034-03-09 21:19:13.521+00
