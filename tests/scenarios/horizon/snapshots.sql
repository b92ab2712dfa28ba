-- The horizon belongs to the snapshot of its query.

\set max_prepared_transactions = 20

CREATE TABLE jobs (id bigint PRIMARY KEY DEFAULT snowflake_nextval(), what text);
CREATE SEQUENCE first;
-- An old snapshot has a horizon below what it does not see.
INSERT INTO jobs (what) VALUES ('seen');
\session old
BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT;
\session
INSERT INTO jobs (what) VALUES ('unseen') RETURNING setval('first', id);
INSERT INTO jobs (what) VALUES ('later');
\session old
SELECT what, snowflake_horizon() = last_value - 1 FROM jobs, first WHERE id <= snowflake_horizon(); --> seen | t
SELECT what, snowflake_horizon() = last_value - 1 FROM jobs, first WHERE id <= snowflake_horizon(); --> seen | t
COMMIT;
\session
SELECT snowflake_horizon() > last_value FROM first; --> t

-- A transaction counts that ran when the snapshot was taken, and has committed since.
\session running
BEGIN; INSERT INTO jobs DEFAULT VALUES RETURNING setval('first', id);
\session old
BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT;
\session
INSERT INTO jobs DEFAULT VALUES;
\session running
COMMIT;
\session old
SELECT snowflake_horizon() = last_value - 1 FROM first; --> t
COMMIT;

-- The server remembers the last 65,536 transactions that took IDs. A snapshot that is older gets no wrong answer; neither a long
-- transaction without an ID nor its end is in the way of the others.
CREATE TABLE other (n integer);
CREATE PROCEDURE work(rows integer) LANGUAGE plpgsql AS $$
BEGIN
    FOR n IN 1..rows LOOP
        INSERT INTO jobs DEFAULT VALUES;
        COMMIT;
    END LOOP;
END $$;
\session idle
BEGIN; INSERT INTO other VALUES (1);
\session old
BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT;
\session
SET synchronous_commit = off;
INSERT INTO jobs DEFAULT VALUES RETURNING setval('first', id);
CALL work(60000);
\session old
SELECT snowflake_horizon() = last_value - 1 FROM first; --> t
\session
CALL work(80000);
\session old
SELECT snowflake_horizon(); --> ERROR 55000: the horizon of snowflake IDs is not known to a snapshot that is this old
\session
INSERT INTO jobs DEFAULT VALUES RETURNING setval('first', id);
SELECT snowflake_horizon() = last_value FROM first; --> t
\session straddling
BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT;
\session idle
COMMIT;
\session straddling
SELECT snowflake_horizon() = last_value FROM first; --> t
