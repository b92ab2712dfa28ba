-- A public ID is read with its key and its prefix only, tells nothing of the order, and an index serves it.

\set public_keys = 000102030405060708090a0b0c0d0e0f

SELECT snowflake_to_public(1268118639732232192, 'ord'); --> ord_4v6OhBwNrBBescGiuxQIbh
-- A name is read, but not with another prefix, nor changed.
SELECT count(*), snowflake_from_public(name, prefix) = id, snowflake_from_public(name, 'usr'), snowflake_from_public(' ' || name, prefix),
        snowflake_from_public(name || E'\n', prefix), snowflake_from_public(lower(name), prefix)
    FROM unnest(ARRAY[0, 1, -1, -9223372036854775808, 9223372036854775807, 1268118639732232192]) AS id,
        unnest(ARRAY['', 'ord', 'order_line']) AS prefix, snowflake_to_public(id, prefix) AS name GROUP BY 2, 3, 4, 5, 6;
--> 18 | t | NULL | NULL | NULL | NULL
SELECT snowflake_from_public(name, ''), snowflake_from_public(name, 'ord')
    FROM unnest(ARRAY['', 'ord', 'ord_', 'ö', E'\x01', repeat('z', 1000000)]) AS name GROUP BY 1, 2; --> NULL | NULL

-- NULL gives NULL, and a wrong prefix is an error.
SELECT snowflake_to_public(NULL), snowflake_from_public(NULL, 'ord'); --> NULL | NULL
SELECT count(*), errors_of(format('SELECT ' || call, prefix)) FROM unnest(ARRAY['NULL', '''Ord''', '''ord_''', 'repeat(''a'', 64)']) AS prefix,
    unnest(ARRAY['snowflake_to_public(1, %s)', 'snowflake_from_public(''x'', %s)', 'snowflake_to_public(NULL, %s)']) AS call GROUP BY 2 ORDER BY 2;
--> 3 | 22004: the prefix of a public ID must not be NULL | For names without a prefix, use the empty string.
--> 3 | 22023: invalid prefix for a public ID | The value is not valid: it begins or ends with an underscore. | A prefix has at most 63 characters, which are a to z, and underscores inside.
--> 3 | 22023: invalid prefix for a public ID | The value is not valid: it has characters other than a to z and underscores. | A prefix has at most 63 characters, which are a to z, and underscores inside.
--> 3 | 22023: invalid prefix for a public ID | The value is not valid: it has more than 63 characters. | A prefix has at most 63 characters, which are a to z, and underscores inside.

-- A generated column and an index are refused.
CREATE TABLE orders (id bigint PRIMARY KEY DEFAULT snowflake_nextval(), item text);
INSERT INTO orders (item) SELECT 'book' FROM generate_series(1, 10000);
ANALYZE orders;
ALTER TABLE orders ADD public text GENERATED ALWAYS AS (snowflake_to_public(id)) STORED; --> ERROR 42P17
CREATE INDEX ON orders (snowflake_to_public(id)); --> ERROR 42P17

-- The index of the primary key serves a lookup, in a generic plan, too, which does not know the name.
CREATE FUNCTION find(name text) RETURNS SETOF bigint BEGIN ATOMIC
    SELECT id FROM orders WHERE id = snowflake_from_public(name, 'ord'); END;
SELECT count(*) FROM orders, snowflake_to_public(id, 'ord') AS name WHERE id = (SELECT find(name)); --> 10000
SELECT count(*) FROM orders WHERE id = ANY (ARRAY(SELECT snowflake_from_public(n, 'ord')
    FROM unnest(ARRAY[(SELECT snowflake_to_public(max(id), 'ord') FROM orders), 'forged']) AS n)); --> 1
EXPLAIN (COSTS OFF) SELECT id FROM orders WHERE id = snowflake_from_public('ord_4v6OhBwNrBBescGiuxQIbh', 'ord');
--> Index Only Scan using orders_pkey on orders
-->   Index Cond: (id = snowflake_from_public('ord_4v6OhBwNrBBescGiuxQIbh'::text, 'ord'::text))
EXPLAIN (COSTS OFF) SELECT id FROM orders
    WHERE id = ANY (ARRAY(SELECT snowflake_from_public(n, 'ord') FROM unnest(ARRAY['ord_4v6OhBwNrBBescGiuxQIbh', 'forged']) AS n));
--> Index Only Scan using orders_pkey on orders
-->   Index Cond: (id = ANY (...
-->   InitPlan ...1...
-->     ->  Function Scan on unnest n
SET plan_cache_mode = force_generic_plan;
PREPARE find(text) AS SELECT id FROM orders WHERE id = snowflake_from_public($1, 'ord');
EXPLAIN (COSTS OFF) EXECUTE find('ord_4v6OhBwNrBBescGiuxQIbh');
--> Index Only Scan using orders_pkey on orders
-->   Index Cond: (id = snowflake_from_public($1, 'ord'::text))
RESET plan_cache_mode;
-- The name of a column has to be computed for each row.
EXPLAIN (COSTS OFF) SELECT id FROM orders WHERE snowflake_to_public(id, 'ord') = 'ord_4v6OhBwNrBBescGiuxQIbh';
--> Seq Scan on orders
-->   Filter: (snowflake_to_public(id, 'ord'::text) = 'ord_4v6OhBwNrBBescGiuxQIbh'::text)

-- In the order of the names, which is random, the next ID is greater in half of the cases.
SELECT count(*) FILTER (WHERE before < id) BETWEEN 4700 AND 5300
    FROM (SELECT id, lag(id) OVER (ORDER BY snowflake_to_public(id) COLLATE "C") AS before FROM orders) AS pairs; --> t

-- Parallel workers make and read the same names.
SET parallel_setup_cost = 0; SET parallel_tuple_cost = 0; SET min_parallel_table_scan_size = 0; SET max_parallel_workers_per_gather = 2;
EXPLAIN (COSTS OFF) SELECT count(*) FROM orders WHERE snowflake_from_public(snowflake_to_public(id, item), item) = id;
--> Finalize Aggregate
-->   ->  Gather
-->         Workers Planned: 2
-->         ->  Partial Aggregate
-->               ->  Parallel Seq Scan on orders
-->                     Filter: (snowflake_from_public(snowflake_to_public(id, item), item) = id)
SELECT count(*) FROM orders WHERE snowflake_from_public(snowflake_to_public(id, item), item) = id; --> 10000

-- In a database with another encoding, the text of a name is bytes that mean nothing.
CREATE DATABASE latin TEMPLATE template0 ENCODING 'LATIN1' LOCALE 'C';
CREATE DATABASE ascii TEMPLATE template0 ENCODING 'SQL_ASCII' LOCALE 'C';
\in latin
CREATE EXTENSION snowflake;
SELECT snowflake_from_public(convert_from('\x6f72645fe4', 'LATIN1'), 'ord'), snowflake_from_public(snowflake_to_public(5, 'ord'), 'ord'); --> NULL | 5
\in ascii
CREATE EXTENSION snowflake;
SELECT snowflake_from_public(convert_from('\x6f72645fe4', 'SQL_ASCII'), 'ord'), snowflake_from_public(snowflake_to_public(5, 'ord'), 'ord'); --> NULL | 5
