-- While a transaction is applied, the clock reaches IDs that were beyond the limit: the trigger follows the greatest.

\set snowflake.max_observed_lead = 1s

CREATE TABLE posts (id bigint PRIMARY KEY);
CREATE TRIGGER observe BEFORE INSERT ON posts FOR EACH ROW EXECUTE FUNCTION snowflake_observe_rows('id');
ALTER TABLE posts ENABLE ALWAYS TRIGGER observe;
CREATE TABLE ids AS SELECT snowflake_make(now() + interval '1100 ms', 1, 2, 7) AS beyond,
    snowflake_make(now() + interval '1105 ms', 1, 2, 7) AS greater;
SET session_replication_role = replica;
BEGIN; INSERT INTO posts SELECT beyond FROM ids; SELECT pg_sleep(0.3); INSERT INTO posts SELECT greater FROM ids; COMMIT;
SELECT snowflake_nextval() > greater FROM ids; --> t
