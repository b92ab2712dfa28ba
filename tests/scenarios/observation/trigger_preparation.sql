-- The trigger observes the IDs of replicated rows when their transaction is prepared.

\set snowflake.max_observed_lead = 1min
\set max_prepared_transactions = 1

CREATE TABLE posts (id bigint PRIMARY KEY);
CREATE TRIGGER observe BEFORE INSERT ON posts FOR EACH ROW EXECUTE FUNCTION snowflake_observe_rows('id');
ALTER TABLE posts ENABLE ALWAYS TRIGGER observe;
CREATE TABLE seen AS SELECT snowflake_make(clock_timestamp() + interval '6 s', 1, 2, 7) AS id;
SET session_replication_role = replica;
BEGIN; INSERT INTO posts SELECT id FROM seen; PREPARE TRANSACTION 'posts';
\session other
SELECT snowflake_nextval() > id FROM seen; --> t
COMMIT PREPARED 'posts';
