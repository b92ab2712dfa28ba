-- Any role may do what the pages promise, and no more, whatever the default privileges were when the extension was created.

CREATE ROLE app LOGIN; CREATE ROLE granted LOGIN;
CREATE VIEW may_not AS SELECT p.oid::regprocedure::text AS function FROM pg_proc AS p JOIN pg_depend AS d ON d.objid = p.oid AND d.deptype = 'e'
    JOIN pg_extension AS e ON e.oid = d.refobjid AND e.extname = 'snowflake' WHERE NOT has_function_privilege('public', p.oid, 'EXECUTE') ORDER BY 1;
TABLE may_not;
--> snowflake_internal.snowflake_guard_claims()
--> snowflake_internal.snowflake_guard_layout()
--> snowflake_observe(bigint)
--> snowflake_observe_rows()
--> snowflake_stat_reset()
-- By default, no function has privileges of its own.
SELECT count(*) FROM pg_proc WHERE proname ~ '^snowflake_' AND proacl IS NOT NULL; --> 5

DROP EXTENSION snowflake;
ALTER DEFAULT PRIVILEGES REVOKE EXECUTE ON FUNCTIONS FROM PUBLIC; ALTER DEFAULT PRIVILEGES REVOKE USAGE ON TYPES FROM PUBLIC;
ALTER DEFAULT PRIVILEGES GRANT EXECUTE ON FUNCTIONS TO granted WITH GRANT OPTION; ALTER DEFAULT PRIVILEGES GRANT ALL ON TABLES TO granted;
-- Functions that others have created there are left alone, and not called.
CREATE FUNCTION snowflake_nextval(text) RETURNS bigint RETURN 1; CREATE FUNCTION format(text, regprocedure) RETURNS text RETURN 'DROP';
CREATE FUNCTION equal(name, name) RETURNS boolean RETURN true; CREATE OPERATOR = (LEFTARG = name, RIGHTARG = name, FUNCTION = equal);
CREATE EXTENSION snowflake;
DROP OPERATOR public.= (name, name);
TABLE may_not;
--> snowflake_internal.snowflake_guard_claims()
--> snowflake_internal.snowflake_guard_layout()
--> snowflake_observe(bigint)
--> snowflake_observe_rows()
--> snowflake_stat_reset()
SELECT has_function_privilege('public', 'snowflake_nextval(text)', 'EXECUTE'); --> f
SELECT function, has_function_privilege('granted', function, 'EXECUTE') FROM may_not;
--> snowflake_internal.snowflake_guard_claims() | f
--> snowflake_internal.snowflake_guard_layout() | f
--> snowflake_observe(bigint) | f
--> snowflake_observe_rows() | f
--> snowflake_stat_reset() | f
CREATE TABLE orders (id bigint PRIMARY KEY DEFAULT snowflake_nextval(), number int); GRANT ALL ON orders TO app;
\as app
INSERT INTO orders DEFAULT VALUES;
SELECT count(*) FROM orders WHERE snowflake_within(id, '-infinity', 'infinity'); --> 1
SELECT count(*) FROM snowflake_nextval(3), snowflake_status, pg_stat_snowflake, snowflake_horizon_holders; --> 3
TABLE snowflake_nodes; --> (0 rows)
CREATE TEMP TABLE parts AS SELECT snowflake_parse(id) AS p FROM orders; CREATE TEMP TABLE more (p snowflake_parts);
SELECT (p).worker_id FROM parts; --> 9
