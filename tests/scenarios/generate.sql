-- IDs of the default, in runs, and the last one of a session.

-- Before the first ID of a session.
SELECT snowflake_currval();
--> ERROR 55000: snowflake_currval is not yet defined in this session
--> HINT: Call snowflake_nextval() first.

CREATE TABLE orders (id bigint PRIMARY KEY DEFAULT snowflake_nextval(), item text);
INSERT INTO orders (item) SELECT 'item ' || n FROM generate_series(1, 1000) n;
INSERT INTO orders (item) VALUES ('last') RETURNING id = snowflake_currval() AS is_currval; --> t
SELECT count(*), count(DISTINCT id) AS distinct, min(snowflake_datacenter_id(id)) AS datacenter,
       max(snowflake_worker_id(id)) AS worker FROM orders; --> 1001 | 1001 | 5 | 9
SELECT item FROM orders ORDER BY id DESC LIMIT 1; --> last
SELECT snowflake_timestamp(id) BETWEEN clock_timestamp() - interval '1 minute' AND clock_timestamp() AS is_now
FROM orders ORDER BY id DESC LIMIT 1; --> t

-- Everything that takes a default.
COPY orders (item) FROM PROGRAM 'echo copied';
INSERT INTO orders VALUES (DEFAULT, 'default'), (DEFAULT, 'default');
SELECT item, count(*) FROM orders WHERE item NOT LIKE 'item %' GROUP BY item ORDER BY item;
--> copied | 1
--> default | 2
--> last | 1
SELECT bool_and(id > before) AS increasing
FROM (SELECT id, lag(id) OVER (ORDER BY ctid) AS before FROM orders) AS pairs WHERE before IS NOT NULL; --> t

-- Runs.
SELECT count(*), count(DISTINCT id) AS distinct FROM (SELECT snowflake_nextval(10000) AS id) AS ids; --> 10000 | 10000
SELECT bool_and(id > before) AS increasing FROM (
    SELECT id, lag(id) OVER () AS before FROM (SELECT snowflake_nextval(10000) AS id) AS ids
) AS pairs WHERE before IS NOT NULL; --> t
SELECT count(*) FROM snowflake_nextval(5); --> 5
SELECT max(id) = snowflake_currval() AS is_currval FROM (SELECT snowflake_nextval(3) AS id) AS ids; --> t
SELECT count(*) FROM snowflake_nextval(0); --> 0
SELECT count(*) FROM snowflake_nextval(NULL); --> 0
SELECT count(*) FROM snowflake_nextval(1); --> 1
SELECT errors_of(format('SELECT snowflake_nextval(%s)', count)) FROM unnest(ARRAY[-1, -2147483648]) AS count;
--> 22023: count must not be negative | The count is -1.
--> 22023: count must not be negative | The count is -2147483648.
SELECT snowflake_nextval(2147483648); --> ERROR 42883: function snowflake_nextval(bigint) does not exist

-- An error loses nothing: the session goes on.
SELECT snowflake_nextval() > max(id) AS goes_on FROM orders; --> t
DROP TABLE orders;

-- Forgotten as currval() is, and not by a statement that fails.
BEGIN;
DISCARD ALL; --> ERROR 25001: DISCARD ALL cannot run inside a transaction block
ROLLBACK;
DISCARD PLANS;
SELECT snowflake_currval() > 0 AS kept; --> t
DISCARD SEQUENCES;
SELECT snowflake_currval(); --> ERROR 55000: snowflake_currval is not yet defined in this session
SELECT snowflake_nextval() = snowflake_currval() AS is_currval; --> t
DISCARD ALL;
SELECT snowflake_currval(); --> ERROR 55000: snowflake_currval is not yet defined in this session

-- A read-only transaction generates, because no row is written.
BEGIN READ ONLY; SELECT snowflake_nextval() > 0; SELECT count(*) FROM snowflake_nextval(10); COMMIT; --> t
--> 10
