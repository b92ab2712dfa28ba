-- A server that continues IDs of the layout of TSID.

\set snowflake.epoch = 2020-01-01T00:00:00Z
\set snowflake.datacenter_bits = 0
\set snowflake.worker_bits = 10
\set snowflake.sequence_bits = 12
\set snowflake.datacenter_id = 0
\set snowflake.worker_id = 513

SELECT datacenter_id, worker_id, timestamp BETWEEN now() - interval '1 s' AND clock_timestamp() AS is_now,
    snowflake_parse(id, '2020-01-01T00:00:00Z', 0, 10, 12) = snowflake_parse(id) AS same
FROM snowflake_parse(snowflake_nextval()); --> 0 | 513 | t | t
SELECT ends FROM snowflake_status; --> 2089-09-06 15:47:35.551+00
