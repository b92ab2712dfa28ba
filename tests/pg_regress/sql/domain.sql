\set VERBOSITY default
\dD snowflake
CREATE TABLE orders (id snowflake PRIMARY KEY, item text);
CREATE TABLE items (id snowflake PRIMARY KEY, order_id bigint NOT NULL REFERENCES orders, name text);
INSERT INTO orders (item) VALUES ('returned') RETURNING id = snowflake_currval() AS is_currval;
COPY orders (item) FROM stdin;
copied
\.
INSERT INTO orders (item) SELECT 'selected' FROM generate_series(1, 3);
INSERT INTO orders VALUES (DEFAULT, 'default'), (1268118639732232192, 'chosen');
INSERT INTO items (order_id, name) SELECT id, 'of ' || item FROM orders;
SELECT item, count(*), count(DISTINCT orders.id) AS ids, count(DISTINCT items.id) AS items
FROM orders JOIN items ON order_id = orders.id GROUP BY item ORDER BY item COLLATE "C";
INSERT INTO items (order_id) VALUES (1);
\echo :LAST_ERROR_SQLSTATE
SELECT snowflake_worker_id(id) AS worker, snowflake_within(id, now() - interval '1 minute', 'infinity') AS new FROM orders WHERE item = 'returned';
-- A cast has no default to take.
SELECT 'nonsense'::snowflake;
\echo :LAST_ERROR_SQLSTATE
SELECT NULL::snowflake IS NULL AS nothing;
-- Who reads a column of it sees a bigint.
SELECT pg_typeof(id), pg_typeof(id + 0) FROM orders LIMIT 1;
DROP TABLE items, orders;
