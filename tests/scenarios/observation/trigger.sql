-- The trigger observes the IDs of replicated rows when their transaction commits.

\set snowflake.max_observed_lead = 50s

CREATE TABLE posts (id bigint PRIMARY KEY, item text);
-- An ID of another server, so far from the clock.
CREATE FUNCTION id(from_now interval) RETURNS bigint LANGUAGE sql AS 'SELECT snowflake_make(clock_timestamp() + from_now, 1, 2, 7)';
CREATE PROCEDURE replicate(lead interval) LANGUAGE plpgsql AS $$
DECLARE
    idle bigint = id(lead); smaller bigint = id(lead + '1 s'); greater bigint = id(lead + '2 s'); updated bigint = id(lead + '3 s'); lost bigint = id('49 s');
BEGIN
    -- In any other role it does nothing.
    INSERT INTO posts VALUES (idle); COMMIT;
    ASSERT snowflake_nextval() < idle;
    SET session_replication_role = replica;
    INSERT INTO posts VALUES (greater, 'tea'), (smaller, 'milk');
    ASSERT snowflake_nextval() < idle;
    COMMIT;
    ASSERT snowflake_nextval() > greater;
    -- A key that an update gives, the rollback of one, and an ID that is long past.
    UPDATE posts SET id = updated WHERE item = 'tea'; COMMIT;
    ASSERT snowflake_nextval() > updated;
    INSERT INTO posts VALUES (lost); ROLLBACK;
    INSERT INTO posts VALUES (1); COMMIT;
    ASSERT snowflake_nextval() < lost;
    ASSERT (SELECT count(*) = 2 FROM posts WHERE item IN ('tea', 'milk'));
    RESET session_replication_role;
    TRUNCATE posts;
END $$;
CREATE TRIGGER observe BEFORE INSERT OR UPDATE OF id ON posts FOR EACH ROW EXECUTE FUNCTION snowflake_observe_rows('id');
ALTER TABLE posts ENABLE ALWAYS TRIGGER observe;
CALL replicate('3 s');
-- An AFTER trigger does the same.
DROP TRIGGER observe ON posts;
CREATE TRIGGER observe AFTER INSERT OR UPDATE OF id ON posts FOR EACH ROW EXECUTE FUNCTION snowflake_observe_rows('id');
ALTER TABLE posts ENABLE ALWAYS TRIGGER observe;
CALL replicate('13 s');
-- Other sessions follow, too.
SET session_replication_role = replica;
INSERT INTO posts VALUES (id('23 s'));
\session other
SELECT snowflake_nextval() > max(id) FROM posts; --> t
