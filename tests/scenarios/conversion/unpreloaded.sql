-- A server that issues no IDs converts nothing, but reverts.
\set shared_preload_libraries =
CREATE TABLE orders (id bigserial PRIMARY KEY);
SELECT snowflake_convert('orders');
--> ERROR 55000: snowflake_pg must be loaded via "shared_preload_libraries" to generate IDs
ALTER TABLE orders ALTER id SET DEFAULT snowflake_nextval();
INSERT INTO orders VALUES (1268118639732232192);
SELECT count(*) FROM snowflake_revert('orders', 'id', dry_run => false); --> 2
INSERT INTO orders DEFAULT VALUES RETURNING id; --> 1268118639732232193
