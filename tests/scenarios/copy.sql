-- Options of COPY of PostgreSQL 19, with a table whose key is an ID.

\needs PostgreSQL 19

-- COPY takes the IDs of the default, in order.
CREATE TABLE orders (id bigint PRIMARY KEY DEFAULT snowflake_nextval(), price int);
CREATE TABLE ends (first bigint, last bigint);
INSERT INTO ends VALUES (snowflake_nextval());
COPY orders (price) FROM PROGRAM 'seq 1000';
UPDATE ends SET last = snowflake_nextval();
SELECT count(*), count(DISTINCT id), array_agg(price ORDER BY id) = array_agg(price ORDER BY price),
    min(id) > first, max(id) < last FROM orders, ends GROUP BY first, last;
--> 1000 | 1000 | t | t | t

-- JSON has all digits of an ID.
COPY orders TO PROGRAM 'cat >orders.json' (FORMAT json);
CREATE TABLE written (line jsonb);
COPY written FROM PROGRAM 'cat orders.json && rm orders.json';
SELECT count(*) FROM written; --> 1000
TABLE orders EXCEPT ALL SELECT (line->>'id')::bigint, (line->>'price')::int FROM written; --> (0 rows)

-- A value that cannot be read becomes NULL beside the ID, and is an error in a key.
COPY orders (price) FROM PROGRAM 'printf "one\n2001\ntwo\n"' (ON_ERROR set_null, LOG_VERBOSITY silent);
SELECT count(*), count(price), count(DISTINCT id) FROM orders; --> 1003 | 1001 | 1003
COPY orders (id, price) FROM PROGRAM 'printf "one\t3001\n"' (ON_ERROR set_null, LOG_VERBOSITY silent); --> ERROR 23502
SELECT count(*) FROM orders; --> 1003
