-- An ID of a replicated row that is too far ahead is counted, the row is there all the same, and it hides no other.

\set snowflake.max_observed_lead = 10s

CREATE TABLE posts (id bigint PRIMARY KEY);
CREATE TRIGGER observe BEFORE INSERT ON posts FOR EACH ROW EXECUTE FUNCTION snowflake_observe_rows('id');
ALTER TABLE posts ENABLE ALWAYS TRIGGER observe;
SET session_replication_role = replica;
SELECT snowflake_stat_reset();
INSERT INTO posts VALUES (snowflake_make(clock_timestamp() + interval '6 s', 1, 2, 7)),
    (snowflake_make(clock_timestamp() + interval '1 h', 1, 2, 7)), (-1), (0);
SELECT observations_refused FROM pg_stat_snowflake; --> 1
SELECT count(*), count(*) FILTER (WHERE id < next) FROM posts, (SELECT snowflake_nextval() AS next OFFSET 0) AS taken; --> 4 | 3
