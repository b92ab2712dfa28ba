\set VERBOSITY default
-- Before the first ID of a session.
SELECT snowflake_currval();
\echo :LAST_ERROR_SQLSTATE

CREATE TABLE orders (id bigint PRIMARY KEY DEFAULT snowflake_nextval(), item text);
INSERT INTO orders (item) SELECT 'item ' || n FROM generate_series(1, 1000) n;
INSERT INTO orders (item) VALUES ('last') RETURNING id = snowflake_currval() AS is_currval;
SELECT count(*), count(DISTINCT id) AS distinct, min(snowflake_datacenter_id(id)) AS datacenter,
       max(snowflake_worker_id(id)) AS worker FROM orders;
SELECT item FROM orders ORDER BY id DESC LIMIT 1;
SELECT snowflake_timestamp(id) BETWEEN clock_timestamp() - interval '1 minute' AND clock_timestamp() AS is_now
FROM orders ORDER BY id DESC LIMIT 1;

-- Everything that takes a default.
COPY orders (item) FROM stdin;
copied
\.
INSERT INTO orders VALUES (DEFAULT, 'default'), (DEFAULT, 'default');
SELECT item, count(*) FROM orders WHERE item NOT LIKE 'item %' GROUP BY item ORDER BY item;
SELECT bool_and(id > before) AS increasing
FROM (SELECT id, lag(id) OVER (ORDER BY ctid) AS before FROM orders) AS pairs WHERE before IS NOT NULL;

-- Runs.
SELECT count(*), count(DISTINCT id) AS distinct FROM (SELECT snowflake_nextval(10000) AS id) AS ids;
SELECT bool_and(id > before) AS increasing FROM (
    SELECT id, lag(id) OVER () AS before FROM (SELECT snowflake_nextval(10000) AS id) AS ids
) AS pairs WHERE before IS NOT NULL;
SELECT count(*) FROM snowflake_nextval(5);
SELECT max(id) = snowflake_currval() AS is_currval FROM (SELECT snowflake_nextval(3) AS id) AS ids;
SELECT count(*) FROM snowflake_nextval(0);
SELECT count(*) FROM snowflake_nextval(NULL);
SELECT count(*) FROM snowflake_nextval(1);
SELECT snowflake_nextval(-1);
\echo :LAST_ERROR_SQLSTATE
SELECT snowflake_nextval(-2147483648);
\echo :LAST_ERROR_SQLSTATE
\set VERBOSITY terse
SELECT snowflake_nextval(2147483648);
\set VERBOSITY default
\echo :LAST_ERROR_SQLSTATE

-- An error loses nothing: the session goes on.
SELECT snowflake_nextval() > max(id) AS goes_on FROM orders;
DROP TABLE orders;

-- Forgotten as currval() is, and not by a statement that fails.
BEGIN;
DISCARD ALL;
ROLLBACK;
DISCARD PLANS;
SELECT snowflake_currval() > 0 AS kept;
DISCARD SEQUENCES;
SELECT snowflake_currval();
SELECT snowflake_nextval() = snowflake_currval() AS is_currval;
DISCARD ALL;
SELECT snowflake_currval();
