-- Without a datacenter ID, none is generated, as without a worker ID.

\set snowflake.datacenter_id = -1

SELECT snowflake_nextval(); --> ERROR 55000: snowflake.datacenter_id and snowflake.worker_id are not both set
SELECT snowflake_nextval(1); --> ERROR 55000: snowflake.datacenter_id and snowflake.worker_id are not both set
SELECT snowflake_worker_id(1268118639732232192); --> 9
