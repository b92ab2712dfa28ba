-- IDs are generated with the epoch and the widths that are configured. A part of width 0 need not be set.

\set snowflake.epoch = 2024-01-01T00:00:00Z
\set snowflake.datacenter_bits = 0
\set snowflake.worker_bits = 10
\set snowflake.sequence_bits = 8
\set snowflake.datacenter_id = -1
\set snowflake.worker_id = 1023

SELECT datacenter_id, worker_id, timestamp BETWEEN clock_timestamp() - interval '1 s' AND clock_timestamp() AS now,
    id >> 18 = floor(extract(epoch FROM timestamp - '2024-01-01 00:00:00+00') * 1000) AS milliseconds
FROM snowflake_parse(snowflake_nextval());
--> 0 | 1023 | t | t
