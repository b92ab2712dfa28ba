-- A default of another name: a function in SQL that is nothing but the call, which PostgreSQL inlines.

CREATE FUNCTION new_id() RETURNS bigint LANGUAGE sql RETURN snowflake_nextval();
CREATE TABLE orders (id bigint PRIMARY KEY DEFAULT new_id(), number bigint);
INSERT INTO orders (number) SELECT generate_series(1, 1000);
INSERT INTO orders (number) VALUES (1001), (1002), (1003);
COPY orders (number) FROM PROGRAM 'seq 1004 3500';
SELECT count(*), bool_and(before < id), bool_and(snowflake_worker_id(id) = 9)
    FROM (SELECT id, lag(id) OVER (ORDER BY number) AS before FROM orders) AS pairs; --> 3500 | t | t
SELECT id = snowflake_currval() FROM orders ORDER BY id DESC LIMIT 1; --> t
EXPLAIN (VERBOSE, COSTS off) INSERT INTO orders (number) VALUES (1);
--> Insert on public.orders
-->   ->  Result
-->         Output: snowflake_nextval(), '1'::bigint

-- A role needs EXECUTE on both, whichever way it inserts.
CREATE ROLE guest LOGIN IN ROLE pg_execute_server_program; GRANT ALL ON orders TO guest;
REVOKE EXECUTE ON FUNCTION snowflake_nextval() FROM PUBLIC;
\as guest
INSERT INTO orders (number) VALUES (1); --> ERROR 42501: permission denied for function snowflake_nextval
COPY orders (number) FROM PROGRAM 'seq 1'; --> ERROR 42501: permission denied for function snowflake_nextval
\as postgres
GRANT EXECUTE ON FUNCTION snowflake_nextval() TO guest; REVOKE EXECUTE ON FUNCTION new_id() FROM PUBLIC;
\as guest
INSERT INTO orders (number) VALUES (1); --> ERROR 42501: permission denied for function new_id
COPY orders (number) FROM PROGRAM 'seq 1'; --> ERROR 42501: permission denied for function new_id
\as postgres
GRANT EXECUTE ON FUNCTION new_id() TO guest;
\as guest
INSERT INTO orders (number) VALUES (1);
COPY orders (number) FROM PROGRAM 'seq 1';
-- As a SECURITY DEFINER function, it needs EXECUTE on itself alone, but is not inlined.
\as postgres
REVOKE EXECUTE ON FUNCTION snowflake_nextval() FROM guest; ALTER FUNCTION new_id() SECURITY DEFINER;
\as guest
\session new
INSERT INTO orders (number) VALUES (1);
COPY orders (number) FROM PROGRAM 'seq 1';
SELECT snowflake_nextval(); --> ERROR 42501: permission denied for function snowflake_nextval
\session
\as postgres
SELECT count(*), count(DISTINCT id) FROM orders; --> 3504 | 3504
EXPLAIN (VERBOSE, COSTS off) INSERT INTO orders (number) VALUES (1);
--> Insert on public.orders
-->   ->  Result
-->         Output: new_id(), '1'::bigint

-- Conversions find no sequence in the default. Reversions name it, once, and the extension stays.
CREATE TABLE twice (id bigint DEFAULT new_id() + snowflake_nextval()); CREATE TABLE plain (id bigint);
CREATE FUNCTION one(id bigint) RETURNS bigint LANGUAGE sql RETURN id; CREATE TABLE other (id bigint DEFAULT one(1));
SELECT snowflake_conversion('{orders}'); --> -- public.orders has no column that takes values of a sequence
SELECT snowflake_reversion('{orders,plain,other}');
--> -- public.orders.id stays: its default is public.new_id(), not public.snowflake_nextval()
--> -- public.other has no column that takes snowflake IDs
--> -- public.plain has no column that takes snowflake IDs
SELECT snowflake_reversion();
--> -- public.orders.id stays: its default is public.new_id(), not public.snowflake_nextval()
--> -- public.twice.id stays: its default is (public.new_id() + public.snowflake_nextval()), not public.snowflake_nextval()
DROP EXTENSION snowflake; --> ERROR 2BP01: cannot drop extension snowflake because other objects depend on it
-- So the way back is to replace the function.
CREATE SEQUENCE orders_id_seq; SELECT setval('orders_id_seq', max(id)) > 0 FROM orders; --> t
CREATE OR REPLACE FUNCTION new_id() RETURNS bigint LANGUAGE sql RETURN nextval('orders_id_seq');
INSERT INTO orders (number) VALUES (1) RETURNING id = (SELECT max(id) + 1 FROM orders); --> t
DROP TABLE twice; DROP EXTENSION snowflake;
