-- A server whose name has no number decodes, and issues no IDs.

\set snowflake.worker_id_from = POD_INDEX=*, NAMESPACE=shop-db

SELECT snowflake_nextval(); --> ERROR 55000: snowflake.worker_id_from gives this server no worker ID
SELECT snowflake_timestamp(1268118639732232192) AT TIME ZONE 'UTC'; --> 2020-06-03 09:53:38.874
SELECT datacenter_id, worker_id FROM snowflake_status; --> NULL | NULL
SELECT name, ok, detail, hint FROM snowflake_check() WHERE name IN ('identity', 'issues IDs');
--> identity | f | snowflake.worker_id_from gives this server no worker ID. The pattern is "POD_INDEX=*", and the environment variable POD_INDEX is not set. The environment variable NAMESPACE is not "shop-db". | If this is a copy of another server, give it a pattern and a datacenter ID of its own. If it is the server itself, correct its name, or snowflake.worker_id_from. Then restart the server. See docs/runbook.md.
--> issues IDs | f | This server issues no ID, because of: identity. | NULL
SELECT ok, detail LIKE '%. The pattern is "POD_INDEX=*", and the environment variable POD_INDEX is not set. No ID is issued.'
FROM snowflake_check() WHERE name = 'origin of the identity'; --> t | t
ALTER SYSTEM SET snowflake.worker_id_from = 'hostname=db-1';
--> ERROR 22023: invalid value for parameter "snowflake.worker_id_from": "hostname=db-1"
ALTER SYSTEM SET snowflake.worker_id_from = 'hostname=db-*, POD_INDEX=*';
--> ERROR 22023: invalid value for parameter "snowflake.worker_id_from": "hostname=db-*, POD_INDEX=*"
SET snowflake.worker_id_from = '';
--> ERROR 55P02: parameter "snowflake.worker_id_from" cannot be changed without restarting the server
