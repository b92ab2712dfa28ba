-- A server that continues IDs of the layout of Mastodon.

\set snowflake.epoch = 1970-01-01T00:00:00Z
\set snowflake.datacenter_bits = 0
\set snowflake.worker_bits = 0
\set snowflake.sequence_bits = 16
\set snowflake.datacenter_id = 0
\set snowflake.worker_id = 0

SELECT datacenter_id, worker_id, timestamp BETWEEN now() - interval '1 s' AND clock_timestamp() AS is_now,
    snowflake_parse(id, '1970-01-01T00:00:00Z', 0, 0, 16) = snowflake_parse(id) AS same
FROM snowflake_parse(snowflake_nextval()); --> 0 | 0 | t | t
SELECT ends FROM snowflake_status; --> 6429-10-17 02:45:55.327+00
