-- The check waits for no lock: it says which table it did not look at.

\set cluster_name = locks
\set max_locks_per_transaction = 10
\set max_connections = 20

CREATE TABLE empty (id bigint DEFAULT snowflake_nextval()); CREATE TABLE orders (id bigint DEFAULT snowflake_nextval());
CREATE VIEW said AS SELECT name, ok, detail, hint FROM snowflake_check()
    WHERE name IN ('register', 'claims', 'layout of the database') ORDER BY name;
\session holder
BEGIN; LOCK TABLE orders, snowflake_internal.snowflake_layout, snowflake_internal.snowflake_node_claims;
\session
SET statement_timeout = '10s';
TABLE said;
--> claims | f | Not checked, because another session locks table snowflake_internal.snowflake_node_claims. | NULL
--> layout of the database | f | Not checked, because another session locks table snowflake_internal.snowflake_layout. | NULL
--> register | f | There is none. The first ID creates it. The table public.orders, whose default is a snowflake ID, was not looked at, because another session locks it. | Check again when the other session has ended its transaction.
\session holder
INSERT INTO orders VALUES (1); COMMIT;
\session
SELECT ok, detail FROM said;
--> t | No claim in this database is of the identity of this server.
--> t | Dumps of this database carry the epoch and the widths.
--> f | There is none. The first ID creates it. But the table public.orders, whose default is a snowflake ID, is not empty.
-- It keeps no lock on them.
BEGIN; SELECT FROM snowflake_check();
SELECT count(*) FROM pg_locks WHERE pid = pg_backend_pid() AND relation IN ('empty'::regclass, 'orders'::regclass); --> 0
COMMIT;

-- It looks at one after the other, since a server has room for only so many locks.
DO $$ BEGIN FOR i IN 1..1500 LOOP
    EXECUTE format('CREATE TABLE empty%s (LIKE empty INCLUDING DEFAULTS)', i); COMMIT;
END LOOP; END $$;
DROP TABLE orders;
SELECT detail FROM said WHERE name = 'register'; --> There is none. The first ID creates it.

-- Whoever cancels a check, or limits its time, wants it to end. Another error is one of its row.
\session holder
BEGIN; LOCK TABLE pg_catalog.pg_subscription_rel;
\session
SET statement_timeout = '1s';
SELECT FROM snowflake_check(); --> ERROR 57014
SET lock_timeout = '100ms';
SELECT ok, detail FROM snowflake_check() WHERE name = 'subscriptions';
--> f | Not checked, because of an error: canceling statement due to lock timeout.
