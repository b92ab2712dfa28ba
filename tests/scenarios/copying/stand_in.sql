-- COPY takes IDs by a function that is not volatile. Nobody gets more by it than by snowflake_nextval().

-- As a default of somebody's own, it takes an ID for each row.
CREATE TABLE own (id bigint DEFAULT snowflake_internal.snowflake_nextval_in_copy(), number bigint);
CREATE TABLE seven AS SELECT generate_series(1, 7) AS n;
INSERT INTO own (number) SELECT generate_series(1, 1000);
INSERT INTO own (number) VALUES (1), (2), (3);
INSERT INTO own VALUES (DEFAULT, 1), (DEFAULT, 2);
CREATE TABLE made AS SELECT snowflake_internal.snowflake_nextval_in_copy() AS id FROM generate_series(1, 100);
COPY own (number) FROM PROGRAM 'seq 3';
SELECT count(*) = 1000 + 3 + 2 + 3 + 100, count(*) = count(DISTINCT id) FROM (TABLE made UNION ALL SELECT id FROM own) AS ids; --> t | t
ALTER TABLE seven ADD COLUMN id bigint DEFAULT snowflake_internal.snowflake_nextval_in_copy();
--> ERROR 55000: snowflake_nextval_in_copy() cannot be called in ALTER TABLE
ALTER TABLE seven ALTER COLUMN n TYPE bigint USING snowflake_internal.snowflake_nextval_in_copy();
--> ERROR 55000: snowflake_nextval_in_copy() cannot be called in ALTER TABLE
SELECT count(*), errors_of('ALTER TABLE seven ' || act || ' snowflake_internal.snowflake_nextval_in_copy()')
    FROM unnest(ARRAY['ADD COLUMN id bigint DEFAULT', 'ALTER COLUMN n TYPE bigint USING']) AS act GROUP BY 2;
--> 2 | 55000: snowflake_nextval_in_copy() cannot be called in ALTER TABLE | It is not volatile, so ALTER TABLE might give all rows one ID. Expressions that were planned during a COPY, such as the check of a domain, keep it until the session ends. | Name snowflake_nextval() in the default, or execute the statement in a new session.

-- A role that may execute one of the two functions only gets by COPY what it gets by INSERT.
CREATE ROLE guest LOGIN IN ROLE pg_execute_server_program;
CREATE TABLE orders (id bigint PRIMARY KEY DEFAULT snowflake_nextval(), number bigint);
GRANT ALL ON orders TO guest;
\as guest
COPY orders (number) FROM PROGRAM 'seq 3';
\as postgres
REVOKE EXECUTE ON FUNCTION snowflake_nextval() FROM PUBLIC;
\as guest
INSERT INTO orders (number) VALUES (1); --> ERROR 42501: permission denied for function snowflake_nextval
SELECT snowflake_nextval(); --> ERROR 42501: permission denied for function snowflake_nextval
SELECT snowflake_internal.snowflake_nextval_in_copy(); --> ERROR 42501: permission denied for function snowflake_nextval
CREATE TEMP TABLE mine (id bigint DEFAULT snowflake_internal.snowflake_nextval_in_copy()); INSERT INTO mine VALUES (DEFAULT);
--> ERROR 42501: permission denied for function snowflake_nextval
COPY orders (number) FROM PROGRAM 'seq 1'; --> ERROR 42501: permission denied for function snowflake_nextval
-- Without the stand-in, COPY inserts row by row, as before.
\as postgres
GRANT EXECUTE ON FUNCTION snowflake_nextval() TO PUBLIC;
REVOKE EXECUTE ON FUNCTION snowflake_internal.snowflake_nextval_in_copy() FROM PUBLIC; REVOKE USAGE ON SCHEMA snowflake_internal FROM PUBLIC;
\as guest
\session new
COPY orders (number) FROM PROGRAM 'seq 3';
SELECT count(*), count(DISTINCT id) FROM orders; --> 6 | 6

-- In a schema of the extension's name, no function of somebody else stands in.
\session
\as postgres
ALTER SCHEMA snowflake_internal RENAME TO renamed; CREATE SCHEMA snowflake_internal;
CREATE FUNCTION snowflake_internal.snowflake_nextval_in_copy() RETURNS bigint LANGUAGE plpgsql STABLE AS
    $$ BEGIN RAISE EXCEPTION 'trap'; END $$;
CREATE FUNCTION public.snowflake_nextval_in_copy() RETURNS bigint LANGUAGE plpgsql STABLE AS
    $$ BEGIN RAISE EXCEPTION 'trap'; END $$;
COPY orders (number) FROM PROGRAM 'seq 3';
SELECT count(*), count(DISTINCT id) FROM orders; --> 9 | 9
