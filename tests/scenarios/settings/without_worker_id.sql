-- Without a worker ID, IDs are decoded, and none is generated.

\set snowflake.worker_id = -1

-- The hint names no numbers, because numbers that somebody pastes would be another server's.
SELECT snowflake_nextval();
--> ERROR 55000: snowflake.datacenter_id and snowflake.worker_id are not both set
--> HINT: Set both to numbers that no other server has, in a file outside the data directory that postgresql.conf includes, and restart the server. See docs/runbook.md.
SELECT snowflake_nextval(1); --> ERROR 55000: snowflake.datacenter_id and snowflake.worker_id are not both set
SELECT snowflake_worker_id(1268118639732232192); --> 9
SELECT snowflake_horizon(); --> ERROR 55000: snowflake.datacenter_id and snowflake.worker_id are not both set
