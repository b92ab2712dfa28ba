-- The trigger observes the IDs of replicated rows when their transaction commits.

\set snowflake.max_observed_lead = 50s

-- IDs of another server, so far from the clock.
CREATE TABLE seen (name text PRIMARY KEY, id bigint);
CREATE FUNCTION id(name text, from_now interval) RETURNS bigint LANGUAGE sql AS $$
    INSERT INTO seen VALUES (name, snowflake_make(clock_timestamp() + from_now, 1, 2, 7))
    ON CONFLICT ON CONSTRAINT seen_pkey DO UPDATE SET id = excluded.id RETURNING seen.id $$;
CREATE FUNCTION next_passes(name text) RETURNS boolean LANGUAGE sql AS
    'SELECT snowflake_nextval() > id FROM seen WHERE seen.name = next_passes.name';
CREATE TABLE posts (id bigint PRIMARY KEY, item text);
CREATE TRIGGER observe BEFORE INSERT OR UPDATE OF id ON posts FOR EACH ROW EXECUTE FUNCTION snowflake_observe_rows('id');
ALTER TABLE posts ENABLE ALWAYS TRIGGER observe;

-- In any other role it does nothing.
INSERT INTO posts SELECT id('idle', '3 s');
\session other
SELECT next_passes('idle'); --> f
\session

SET session_replication_role = replica;
SELECT id('smaller', '4 s') < id('greater', '6 s'); --> t
BEGIN;
INSERT INTO posts SELECT id, CASE name WHEN 'greater' THEN 'tea' ELSE 'milk' END FROM seen
    WHERE name IN ('smaller', 'greater') ORDER BY id DESC;
\session other
SELECT next_passes('smaller'); --> f
\session
COMMIT;
\session other
SELECT next_passes('greater'); --> t
\session

-- A key that an update gives, the rollback of one, and an ID that is long past.
UPDATE posts SET id = id('updated', '9 s') WHERE item = 'tea';
\session other
SELECT next_passes('updated'); --> t
\session
SELECT id('lost', '30 s') > 0; --> t
BEGIN; INSERT INTO posts SELECT id FROM seen WHERE name = 'lost'; ROLLBACK;
BEGIN; INSERT INTO posts VALUES (1); COMMIT;
\session other
SELECT next_passes('lost'); --> f
\session
SELECT count(*) FROM posts WHERE item IN ('tea', 'milk'); --> 2

-- An AFTER trigger does the same.
RESET session_replication_role;
TRUNCATE posts;
DROP TRIGGER observe ON posts;
CREATE TRIGGER observe AFTER INSERT OR UPDATE OF id ON posts FOR EACH ROW EXECUTE FUNCTION snowflake_observe_rows('id');
ALTER TABLE posts ENABLE ALWAYS TRIGGER observe;

-- In any other role it does nothing.
INSERT INTO posts SELECT id('idle', '13 s');
\session other
SELECT next_passes('idle'); --> f
\session

SET session_replication_role = replica;
SELECT id('smaller', '14 s') < id('greater', '16 s'); --> t
BEGIN;
INSERT INTO posts SELECT id, CASE name WHEN 'greater' THEN 'tea' ELSE 'milk' END FROM seen
    WHERE name IN ('smaller', 'greater') ORDER BY id DESC;
\session other
SELECT next_passes('smaller'); --> f
\session
COMMIT;
\session other
SELECT next_passes('greater'); --> t
\session

-- A key that an update gives, the rollback of one, and an ID that is long past.
UPDATE posts SET id = id('updated', '19 s') WHERE item = 'tea';
\session other
SELECT next_passes('updated'); --> t
\session
SELECT id('lost', '40 s') > 0; --> t
BEGIN; INSERT INTO posts SELECT id FROM seen WHERE name = 'lost'; ROLLBACK;
BEGIN; INSERT INTO posts VALUES (1); COMMIT;
\session other
SELECT next_passes('lost'); --> f
\session
SELECT count(*) FROM posts WHERE item IN ('tea', 'milk'); --> 2
