-- Shards behind foreign tables of postgres_fdw: whose default gives the IDs, and what the shards are asked.

\needs extension postgres_fdw

-- The shards are schemas, to which own sessions lead. IDs that a shard gives are negative here, so that it shows.
CREATE EXTENSION postgres_fdw;
DO $$ BEGIN
    FOR n IN 2..3 LOOP
        EXECUTE format('CREATE SCHEMA shard%1$s
            CREATE TABLE orders (id bigint PRIMARY KEY DEFAULT -public.snowflake_nextval(), item text)', n);
        EXECUTE format('CREATE SERVER shard%s FOREIGN DATA WRAPPER postgres_fdw
            OPTIONS (host %L, port ''5432'', dbname ''scenario'')', n, current_setting('unix_socket_directories'));
        EXECUTE format('CREATE USER MAPPING FOR postgres SERVER shard%s OPTIONS (user ''postgres'')', n);
    END LOOP;
END $$;
-- The parts of a plan, each with its number.
CREATE FUNCTION plan(query text) RETURNS TABLE (number bigint, part text) LANGUAGE plpgsql AS $$
DECLARE
    line text;
    parts text[];
BEGIN
    FOR line IN EXECUTE 'EXPLAIN (VERBOSE, COSTS OFF) ' || query LOOP
        parts := parts || substring(line, 'Remote SQL: .*|Filter:|Subplans Removed: .*');
    END LOOP;
    RETURN QUERY SELECT count(*), regexp_replace(p, 'shard\d', 'shard') FROM unnest(parts) AS p
        WHERE p IS NOT NULL GROUP BY 2 ORDER BY 2;
END $$;

-- Without a default, the parent sends NULL, and the default of the shard does not count.
CREATE FOREIGN TABLE plain (id bigint, item text) SERVER shard2 OPTIONS (schema_name 'shard2', table_name 'orders');
SELECT * FROM plan('INSERT INTO plain (item) VALUES (1)'); --> 1 | Remote SQL: INSERT INTO shard.orders(id, item) VALUES ($1, $2)
INSERT INTO plain (item) VALUES ('x'); --> ERROR 23502
-- A foreign table that leaves the ID out makes the default of the shard count. It has no ID to return.
CREATE FOREIGN TABLE without_id (item text) SERVER shard2 OPTIONS (schema_name 'shard2', table_name 'orders');
INSERT INTO without_id SELECT 'x' FROM generate_series(1, 50);
COPY without_id FROM PROGRAM 'seq 50';
SELECT count(*), count(*) FILTER (WHERE id < 0) FROM shard2.orders; --> 100 | 100

-- A trigger of the shard replaces the NULL, and the parent gets the ID back.
TRUNCATE shard2.orders;
CREATE FUNCTION take_id() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN NEW.id := coalesce(NEW.id, -public.snowflake_nextval()); RETURN NEW; END $$;
CREATE TRIGGER take_id BEFORE INSERT ON shard2.orders FOR EACH ROW EXECUTE FUNCTION take_id();
ALTER FOREIGN TABLE plain OPTIONS (ADD batch_size '20');
INSERT INTO plain (item) SELECT 'x' FROM generate_series(1, 50);
COPY plain (item) FROM PROGRAM 'seq 50';
CREATE TABLE returned (id bigint);
WITH last AS (INSERT INTO plain (item) VALUES ('last') RETURNING id) INSERT INTO returned TABLE last;
SELECT count(*), count(*) FILTER (WHERE id < 0), min(id) = (TABLE returned) FROM plain; --> 101 | 101 | t
-- postgres_fdw sets the search_path of its sessions to pg_catalog. A default is bound to its function, the body of a
-- trigger is not.
CREATE OR REPLACE FUNCTION take_id() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN NEW.id := coalesce(NEW.id, -snowflake_nextval()); RETURN NEW; END $$;
INSERT INTO shard2.orders VALUES (NULL, 'at the shard');
INSERT INTO plain (item) VALUES ('x'); --> ERROR 42883
ALTER FUNCTION take_id() SET search_path = public;
INSERT INTO plain (item) VALUES ('x') RETURNING id < 0; --> t
DROP TRIGGER take_id ON shard2.orders; TRUNCATE shard2.orders;

-- The parent evaluates the default of its table, and sends the ID. The row lands on the shard to which the ID belongs, and
-- is found there.
CREATE TABLE orders (id bigint DEFAULT snowflake_nextval(), item text) PARTITION BY HASH (id);
CREATE FOREIGN TABLE orders_2 PARTITION OF orders FOR VALUES WITH (MODULUS 2, REMAINDER 0)
    SERVER shard2 OPTIONS (schema_name 'shard2', table_name 'orders');
CREATE FOREIGN TABLE orders_3 PARTITION OF orders FOR VALUES WITH (MODULUS 2, REMAINDER 1)
    SERVER shard3 OPTIONS (schema_name 'shard3', table_name 'orders');
INSERT INTO orders (item) SELECT 'x' FROM generate_series(1, 50);
COPY orders (item) FROM PROGRAM 'seq 49';
INSERT INTO orders (item) VALUES ('last') RETURNING id = snowflake_currval(); --> t
SELECT item FROM orders WHERE id = (SELECT snowflake_currval()); --> last
SELECT count(*), count(*) FILTER (WHERE id > 0), count(DISTINCT tableoid) FROM orders; --> 100 | 100 | 2
-- The foreign table has the default of the table that it is a partition of. Some IDs are for the other partition.
DO $$
DECLARE
    taken bigint;
BEGIN
    WHILE taken IS NULL LOOP
        BEGIN
            INSERT INTO orders_2 (item) VALUES ('x') RETURNING id INTO taken;
        EXCEPTION WHEN check_violation THEN NULL;
        END;
    END LOOP;
    DELETE FROM orders_2 WHERE id = taken;
    ASSERT taken = snowflake_currval();
END $$;

-- The shards get comparisons with constants. now() is no constant: a subquery makes it one.
SELECT * FROM plan($$ SELECT item FROM orders WHERE snowflake_within(id, '2026-01-01+00', '2027-01-01+00') $$);
--> 2 | Remote SQL: SELECT item FROM shard.orders WHERE ((id >= 2006515713438646272::bigint)) AND ((id <= 2138787284382646271::bigint))
PREPARE orders_within(timestamptz, timestamptz) AS SELECT item FROM orders WHERE snowflake_within(id, $1, $2);
SELECT * FROM plan($$ EXECUTE orders_within('2026-01-01+00', '2027-01-01+00') $$);
--> 2 | Remote SQL: SELECT item FROM shard.orders WHERE ((id >= 2006515713438646272::bigint)) AND ((id <= 2138787284382646271::bigint))
SELECT * FROM plan($$ SELECT item FROM orders WHERE id >= (SELECT snowflake_min(now() - interval '1 hour')) $$);
--> 2 | Remote SQL: SELECT item FROM shard.orders WHERE ((id >= $1::bigint))
SELECT count(item) FROM orders WHERE id >= (SELECT snowflake_min(now() - interval '1 hour')); --> 100
SELECT * FROM plan($$ SELECT item FROM orders WHERE snowflake_within(id, now() - interval '1 hour', 'infinity') $$);
--> 2 | Filter:
--> 2 | Remote SQL: SELECT id, item FROM shard.orders
SET plan_cache_mode = force_generic_plan;
SELECT * FROM plan($$ EXECUTE orders_within('2026-01-01+00', '2027-01-01+00') $$);
--> 2 | Filter:
--> 2 | Remote SQL: SELECT id, item FROM shard.orders
SELECT * FROM plan('SELECT item FROM orders WHERE snowflake_worker_id(id) = 9');
--> 2 | Filter:
--> 2 | Remote SQL: SELECT id, item FROM shard.orders

-- With the server option "extensions", functions of the extension run on the shards, too. now() is not of the extension, and
-- each server has its own. An ID is never made on behalf of another server.
ALTER SERVER shard2 OPTIONS (ADD extensions 'snowflake');
ALTER SERVER shard3 OPTIONS (ADD extensions 'snowflake');
SELECT * FROM plan('SELECT item FROM orders WHERE snowflake_worker_id(id) = 9');
--> 2 | Remote SQL: SELECT item FROM shard.orders WHERE ((public.snowflake_worker_id(id) = 9))
SELECT count(item) FROM orders WHERE snowflake_worker_id(id) = 9; --> 100
SELECT * FROM plan($$ EXECUTE orders_within('2026-01-01+00', '2027-01-01+00') $$);
--> 2 | Remote SQL: SELECT item FROM shard.orders WHERE ...id >= snowflake_internal.snowflake_within_min($1::timestamp with time zone)...
SELECT * FROM plan($$ SELECT item FROM orders WHERE snowflake_within(id, now() - interval '1 hour', 'infinity') $$);
--> 2 | Filter:
--> 2 | Remote SQL: SELECT id, item FROM shard.orders
SELECT * FROM plan('SELECT item FROM orders WHERE id < snowflake_nextval()');
--> 2 | Filter:
--> 2 | Remote SQL: SELECT id, item FROM shard.orders

-- A query asks only the shards that can have rows of the time. now() is known when it starts.
CREATE TABLE by_time (id bigint DEFAULT snowflake_nextval(), item text) PARTITION BY RANGE (id);
CREATE FOREIGN TABLE of_2025 PARTITION OF by_time FOR VALUES FROM (snowflake_min('2025-01-01+00')) TO (snowflake_min('2026-01-01+00'))
    SERVER shard2 OPTIONS (schema_name 'shard2', table_name 'orders');
CREATE FOREIGN TABLE later PARTITION OF by_time FOR VALUES FROM (snowflake_min('2026-01-01+00')) TO (snowflake_min('2080-01-01+00'))
    SERVER shard3 OPTIONS (schema_name 'shard3', table_name 'orders');
TRUNCATE shard2.orders, shard3.orders;
INSERT INTO by_time (item) SELECT 'x' FROM generate_series(1, 50);
INSERT INTO by_time VALUES (snowflake_make('2025-05-01+00', 0, 0, 0), 'old');
SELECT * FROM plan($$ SELECT item FROM by_time WHERE snowflake_within(id, '2025-01-01+00', '2025-06-01+00') $$);
--> 1 | Remote SQL: SELECT item FROM shard.orders WHERE ...
SELECT item FROM by_time WHERE snowflake_within(id, '2025-01-01+00', '2025-06-01+00'); --> old
SELECT * FROM plan($$ SELECT item FROM by_time WHERE snowflake_within(id, now() - interval '1 hour', 'infinity') $$);
--> 1 | Filter:
--> 1 | Remote SQL: SELECT id, item FROM shard.orders
--> 1 | Subplans Removed: 1
SELECT count(item) FROM by_time WHERE snowflake_within(id, now() - interval '1 hour', 'infinity'); --> 50
