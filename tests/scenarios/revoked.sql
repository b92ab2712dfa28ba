-- Where a role may not execute snowflake_nextval(), nothing else takes an ID for it, or shows the last one.

CREATE ROLE guest LOGIN; CREATE ROLE watcher LOGIN IN ROLE pg_monitor; GRANT CREATE ON SCHEMA public TO guest;
CREATE TABLE orders (id bigint PRIMARY KEY DEFAULT snowflake_nextval(), number int); GRANT ALL ON orders TO guest;
REVOKE EXECUTE ON FUNCTION snowflake_nextval(), snowflake_nextval(int) FROM PUBLIC;
SELECT snowflake_nextval() > 0; --> t
CREATE TABLE before AS SELECT issued FROM pg_stat_snowflake; GRANT SELECT ON before TO guest;
\as guest
-- Every function that it may execute and that gives a bigint, and every way to a default.
SELECT p.oid::regprocedure FROM pg_proc AS p JOIN pg_depend AS d ON d.objid = p.oid AND d.deptype = 'e'
    JOIN pg_extension AS e ON e.oid = d.refobjid AND e.extname = 'snowflake'
    WHERE (prorettype = 'bigint'::regtype OR 'bigint'::regtype = ANY (proallargtypes)) AND provolatile <> 'i'
        AND has_function_privilege(p.oid, 'EXECUTE') ORDER BY p.oid::regprocedure::text;
--> snowflake_currval()
--> snowflake_from_public(text,text)
--> snowflake_horizon()
--> snowflake_internal.snowflake_horizon_held()
--> snowflake_internal.snowflake_nextval_in_copy()
--> snowflake_internal.snowflake_stat()
--> snowflake_internal.snowflake_stat_observations_refused()
--> snowflake_internal.snowflake_status()
SELECT errors_of(statement) FROM unnest(ARRAY['SELECT snowflake_nextval()', 'SELECT snowflake_nextval(1)',
    'SELECT snowflake_internal.snowflake_nextval_in_copy()', 'INSERT INTO orders DEFAULT VALUES',
    'SELECT snowflake_currval()', 'SELECT snowflake_observe(1)']) AS statement;
--> 42501: permission denied for function snowflake_nextval
--> 42501: permission denied for function snowflake_nextval
--> 42501: permission denied for function snowflake_nextval | The function snowflake_nextval_in_copy takes the place of snowflake_nextval in COPY, and needs the right to execute both. | Call snowflake_nextval() where its execution is granted.
--> 42501: permission denied for function snowflake_nextval
--> 55000: snowflake_currval is not yet defined in this session | Call snowflake_nextval() first.
--> 42501: permission denied for function snowflake_observe
SELECT last_id, last_timestamp IS NOT NULL, floor IS NOT NULL FROM snowflake_status; --> NULL | t | t
SELECT count(first_id) FROM snowflake_horizon_holders WHERE pid <> pg_backend_pid(); --> 0
SELECT count(*) FROM snowflake_check() WHERE detail || hint ~ '\d{17}'; --> 0
SELECT s.issued = b.issued FROM pg_stat_snowflake AS s, before AS b; --> t
\as watcher
SELECT last_id > 0 FROM snowflake_status; --> t
