-- A server that issues no IDs prints, too. A key is not converted there, but reverted.
\set shared_preload_libraries =
CREATE TABLE orders (id bigserial PRIMARY KEY);
SELECT run(ARRAY(SELECT snowflake_conversion('{orders}')));
--> ERROR 55000: snowflake_pg must be loaded via "shared_preload_libraries" to generate IDs
ALTER TABLE orders ALTER id SET DEFAULT snowflake_nextval();
INSERT INTO orders VALUES (1268118639732232192);
SELECT run(ARRAY(SELECT snowflake_reversion('{orders}')));
INSERT INTO orders DEFAULT VALUES RETURNING id; --> 1268118639732232193
