-- A read-only transaction takes IDs, but sets no floor, and neither confirms nor claims anything, as it refuses setval().

SELECT snowflake_nextval();
SELECT snowflake_claim_node('db-1') IS NOT NULL; --> t
CREATE SEQUENCE before; CREATE VIEW floor AS SELECT (extract(epoch FROM snowflake_floor()) * 1000)::bigint AS floor;
SELECT setval('before', floor) FROM floor;
BEGIN READ ONLY;
SELECT setval('before', 1); --> ERROR 25006: cannot execute setval() in a read-only transaction
ROLLBACK;
BEGIN READ ONLY;
SELECT errors_of(statement) FROM unnest(ARRAY[
    'SELECT snowflake_nextval()', 'SELECT snowflake_observe(1)', 'SELECT snowflake_horizon()', 'SELECT ok FROM snowflake_check()',
    'SELECT snowflake_set_floor(now() + interval ''1 min'')', 'SELECT snowflake_set_floor(now(), force => true)',
    'SELECT snowflake_confirm(''clock'')', 'SELECT snowflake_confirm(''layout'')', 'SELECT snowflake_confirm(''system_identifier'', true)',
    'SELECT snowflake_claim_node(''db-1'')', 'SELECT snowflake_claim_node(''db-2'')',
    'SELECT snowflake_release_node(''db-1'', issued_until => now(), fenced => true)']) AS statement;
--> nothing
--> nothing
--> nothing
--> nothing
--> 25006: cannot execute snowflake_set_floor() in a read-only transaction
--> 25006: cannot execute snowflake_set_floor() in a read-only transaction
--> 25006: cannot execute snowflake_confirm() in a read-only transaction
--> 25006: cannot execute snowflake_confirm() in a read-only transaction
--> 25006: cannot execute snowflake_confirm() in a read-only transaction
--> 25006: cannot execute snowflake_claim_node() in a read-only transaction
--> 25006: cannot execute snowflake_claim_node() in a read-only transaction
--> 25006: cannot execute snowflake_release_node() in a read-only transaction
COMMIT;
SELECT floor - last_value < 10000 FROM floor, before; --> t
SELECT name, released_at FROM snowflake_nodes; --> db-1 | NULL
