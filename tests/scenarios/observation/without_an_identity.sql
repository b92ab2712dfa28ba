-- A server without an identity cannot observe, which is no reason to stop a replica.

\set snowflake.worker_id = -1

SELECT snowflake_observe(1); --> ERROR 55000
CREATE TABLE posts (id bigint PRIMARY KEY);
CREATE TRIGGER observe BEFORE INSERT ON posts FOR EACH ROW EXECUTE FUNCTION snowflake_observe_rows('id');
ALTER TABLE posts ENABLE ALWAYS TRIGGER observe;
SET session_replication_role = replica;
INSERT INTO posts VALUES (7);
