-- Without an identity, a table stays as it is written.

\set search_path = blog, public
\set snowflake.adopted_schemas = blog
\set snowflake.worker_id = -1

CREATE SCHEMA blog;
CREATE TABLE one (id bigserial PRIMARY KEY);
--> WARNING: keys of new tables were not converted to snowflake IDs
--> DETAIL: snowflake.datacenter_id and snowflake.worker_id are not both set.
--> HINT: Set both to numbers that no other server has, in a file outside the data directory that postgresql.conf includes, and restart the server. See docs/runbook.md.
INSERT INTO one DEFAULT VALUES;
SELECT data_type, column_default FROM information_schema.columns WHERE table_name = 'one';
--> bigint | nextval('one_id_seq'::regclass)
