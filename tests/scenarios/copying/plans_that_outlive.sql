-- Plans that are made during a COPY and kept take distinct IDs in every other statement, too, and are an error in ALTER TABLE.

-- A session plans the check of a domain once.
CREATE TABLE noted (id bigint);
CREATE FUNCTION note(id bigint) RETURNS boolean LANGUAGE plpgsql AS
    'BEGIN INSERT INTO noted VALUES (id); RETURN true; END';
CREATE DOMAIN noting AS bigint CHECK (note(snowflake_nextval()));
CREATE TABLE orders (id bigint DEFAULT snowflake_nextval(), number noting);
CREATE TABLE seven AS SELECT generate_series(1, 7) AS n;
COPY orders (number) FROM PROGRAM 'seq 3';
INSERT INTO orders (number) SELECT generate_series(4, 1000);
INSERT INTO orders (number) VALUES (1001), (1002);
PREPARE p AS INSERT INTO orders (number) VALUES (1003);
EXECUTE p; EXECUTE p;
COPY orders (number) FROM PROGRAM 'seq 3';
SELECT count(*) = 2 * (3 + 997 + 4 + 3), count(*) = count(DISTINCT id) FROM (TABLE noted UNION ALL SELECT id FROM orders) AS ids; --> t | t
ALTER TABLE seven ADD COLUMN number noting DEFAULT 1;
--> ERROR 55000: snowflake_nextval_in_copy() cannot be called in ALTER TABLE
--> HINT: Name snowflake_nextval() in the default, or execute the statement in a new session.
-- Another session has not planned it in a COPY.
\session other
ALTER TABLE seven ADD COLUMN number noting DEFAULT 1;
\session

-- The cast of a variable is kept, too.
CREATE TABLE lines (id bigint PRIMARY KEY DEFAULT snowflake_nextval(), number bigint);
CREATE TYPE key AS (id bigint);
CREATE FUNCTION key(number integer) RETURNS key LANGUAGE sql RETURN ROW (snowflake_nextval())::key;
CREATE CAST (integer AS key) WITH FUNCTION key(integer) AS ASSIGNMENT;
CREATE TABLE taken (id bigint);
CREATE FUNCTION take() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE k key;
BEGIN
    k := 1; INSERT INTO taken VALUES (k.id);
    k := 2; INSERT INTO taken VALUES (k.id);
    RETURN new;
END $$;
CREATE TRIGGER take BEFORE INSERT ON lines FOR EACH ROW EXECUTE FUNCTION take();
COPY lines (number) FROM PROGRAM 'seq 3';
INSERT INTO lines (number) SELECT generate_series(1, 100);
SELECT count(*) = 3 * 103, count(*) = count(DISTINCT id) FROM (TABLE taken UNION ALL SELECT id FROM lines) AS ids; --> t | t
