-- The owner of a schema cannot put another one in its place while a conversion uses names in it: a view of the
-- same name would run his functions with the rights of the owner of the table.
CREATE ROLE shop LOGIN; CREATE ROLE mallory LOGIN; GRANT CREATE ON DATABASE scenario TO mallory;
CREATE SCHEMA theirs AUTHORIZATION mallory; GRANT CREATE, USAGE ON SCHEMA theirs TO shop;
\as shop
CREATE TABLE theirs.orders (id bigserial PRIMARY KEY);
BEGIN;
SELECT count(*) FROM snowflake_convert('theirs.orders', 'id', dry_run => false); --> 3
\as mallory
SET lock_timeout = '100ms';
ALTER SCHEMA theirs RENAME TO former; --> ERROR 55P03
\as shop
COMMIT;
BEGIN;
SELECT count(*) FROM snowflake_revert('theirs.orders', 'id', dry_run => false); --> 2
\as mallory
ALTER SCHEMA theirs RENAME TO former; --> ERROR 55P03
DROP SEQUENCE theirs.orders_id_seq CASCADE; --> ERROR 55P03
\as shop
COMMIT;
\as mallory
ALTER SCHEMA theirs RENAME TO former;

-- A dry run leaves nothing locked.
\as shop
BEGIN;
SELECT count(*) FROM snowflake_convert('former.orders', 'id'); --> 3
SELECT count(*) FROM pg_locks WHERE pid = pg_backend_pid() AND relation >= 16384 AND database <> 0; --> 0
\as mallory
ALTER SCHEMA former RENAME TO theirs;
\as shop
COMMIT;
