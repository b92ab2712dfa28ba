-- A transaction that keeps its first snapshot does not see all keys, so it converts none.
CREATE TABLE orders (id bigserial PRIMARY KEY);
BEGIN ISOLATION LEVEL REPEATABLE READ;
SELECT count(*) FROM snowflake_convert('orders'); --> 3
SELECT snowflake_convert('orders', dry_run => false);
--> ERROR 25001: columns cannot be converted in a REPEATABLE READ or SERIALIZABLE transaction
ROLLBACK;
BEGIN ISOLATION LEVEL SERIALIZABLE;
SELECT snowflake_revert('orders', 'id', dry_run => false); --> ERROR 25001
ROLLBACK;
