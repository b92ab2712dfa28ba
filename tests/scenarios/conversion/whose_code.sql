-- Statements can run code of the owner of the table: a change of types that of a check, the expression of an index or a
-- domain; and the plan of any query that of an index or of statistics, whose constants it computes. Another role, a
-- superuser above all, has to take a block out before he lends his rights to it.
CREATE ROLE mallory LOGIN; GRANT CREATE ON SCHEMA public TO mallory;
\as mallory
CREATE TABLE armed (); GRANT SELECT ON armed TO PUBLIC;
CREATE FUNCTION attack(value integer) RETURNS integer IMMUTABLE LANGUAGE plpgsql AS $$ BEGIN
    IF EXISTS (SELECT FROM public.armed) THEN RAISE WARNING 'runs as %', current_user; END IF;
    RETURN value;
END $$;
CREATE DOMAIN trap AS integer CHECK (attack(value) > 0);
CREATE TABLE checked (id serial PRIMARY KEY, item integer, CHECK (attack(item) > 0)); INSERT INTO checked (item) VALUES (1);
CREATE TABLE indexed (id serial PRIMARY KEY, item integer); CREATE INDEX ON indexed (attack(item)); INSERT INTO indexed (item) VALUES (1);
CREATE TABLE trapped (id serial PRIMARY KEY, item trap); INSERT INTO trapped (item) VALUES (1);
CREATE TABLE folded (id bigserial PRIMARY KEY, item integer); CREATE INDEX ON folded (attack(1));
CREATE TABLE counted (id bigserial PRIMARY KEY, item integer);
CREATE STATISTICS counts ON (attack(1) + item), item FROM counted;
CREATE TABLE parted (id bigserial, item integer, PRIMARY KEY (id, item)) PARTITION BY RANGE (item);
CREATE TABLE part PARTITION OF parted (CHECK (attack(1) > 0)) FOR VALUES FROM (0) TO (9);
CREATE TABLE plain (id bigserial PRIMARY KEY, item integer); INSERT INTO plain (item) VALUES (1);
INSERT INTO armed DEFAULT VALUES;
\as postgres
SELECT regexp_replace(line, E'\\n *', ' ', 'g') FROM snowflake_conversion(schema => 'public') AS line WHERE line ~ 'session_user';
--> DO $do$ BEGIN IF session_user OPERATOR(pg_catalog.<>) 'mallory' THEN RAISE insufficient_privilege USING MESSAGE = 'these statements can run code of mallory with your rights', HINT = 'Connect as this role; or, if you trust its functions, take this block out.'; END IF; END $do$;
CREATE TABLE scripts AS SELECT "table", ARRAY(SELECT snowflake_conversion(ARRAY["table"])) AS script
    FROM unnest('{checked,indexed,trapped,folded,counted,parted,plain}'::regclass[]) AS "table";
DO $$ DECLARE s text[]; BEGIN
    FOR s IN SELECT script FROM scripts WHERE "table" <> 'plain'::regclass LOOP
        BEGIN
            PERFORM run(s);
        EXCEPTION WHEN insufficient_privilege THEN RAISE NOTICE '%', sqlerrm;
        END;
    END LOOP;
END $$;
--> NOTICE: these statements can run code of mallory with your rights
--> NOTICE: these statements can run code of mallory with your rights
--> NOTICE: these statements can run code of mallory with your rights
--> NOTICE: these statements can run code of mallory with your rights
--> NOTICE: these statements can run code of mallory with your rights
--> NOTICE: these statements can run code of mallory with your rights
-- Nor by SET ROLE, from which the code can go back.
BEGIN; SET LOCAL ROLE mallory; SELECT run(ARRAY(SELECT snowflake_conversion('{checked}')));
--> ERROR 42501: these statements can run code of mallory with your rights
--> HINT: Connect as this role; or, if you trust its functions, take this block out.
ROLLBACK;
-- Without such objects, a default alone runs nothing, there or back.
BEGIN; SELECT run((SELECT script FROM scripts WHERE "table" = 'plain'::regclass)); COMMIT;
BEGIN; SELECT run(ARRAY(SELECT snowflake_reversion('{plain}'))); COMMIT;
\as mallory
-- How often PostgreSQL computes a constant depends on its version.
SET client_min_messages = error;
BEGIN; SELECT run(ARRAY(SELECT snowflake_conversion('{folded,counted,parted}'))); COMMIT; -->
RESET client_min_messages;
\as postgres
SELECT t FROM unnest('{folded,counted,parted,plain}'::text[]) t
    WHERE EXISTS (SELECT FROM snowflake_reversion(ARRAY[t::regclass]) line WHERE line ~ 'session_user') ORDER BY t;
--> counted
--> folded
--> parted
BEGIN; SELECT run(ARRAY(SELECT snowflake_reversion('{folded}')));
--> ERROR 42501: these statements can run code of mallory with your rights
ROLLBACK;
-- An index that comes after the print is a change of the table.
BEGIN; CREATE TABLE stale AS SELECT ARRAY(SELECT snowflake_conversion('{plain}')) AS script;
CREATE INDEX ON plain (attack(1)); SELECT run((SELECT script FROM stale));
--> WARNING: runs as mallory
--> WARNING: runs as mallory
--> WARNING: runs as mallory
--> ERROR 55000: the tables have changed since these statements were printed
ROLLBACK;
\as mallory
DROP TABLE folded, counted, parted;
BEGIN; SELECT run(ARRAY(SELECT snowflake_conversion('{checked,trapped}'))); COMMIT;
-->
INSERT INTO checked DEFAULT VALUES RETURNING id > 1000;
--> WARNING: runs as mallory
--> t

-- Tables of several owners come one owner after the other, each for a transaction of its own.
\as postgres
CREATE ROLE shop LOGIN; GRANT CREATE ON SCHEMA public TO shop; DROP TABLE checked, trapped;
\as shop
CREATE TABLE orders (id serial PRIMARY KEY);
\as postgres
SELECT line FROM snowflake_conversion(schema => 'public') AS line WHERE line !~ '^DO|no time';
--> -- tables of mallory, in one transaction
--> SET LOCAL lock_timeout = 500;
--> LOCK TABLE public.indexed, public.plain IN ACCESS EXCLUSIVE MODE;
--> ALTER TABLE public.indexed ALTER id TYPE bigint, ALTER id SET DEFAULT public.snowflake_nextval();
--> ALTER TABLE public.plain ALTER id SET DEFAULT public.snowflake_nextval();
--> ALTER SEQUENCE public.indexed_id_seq AS bigint NO MAXVALUE;
--> -- after the commit: ANALYZE public.indexed; let clients connect again
--> -- tables of shop, in one transaction
--> SET LOCAL lock_timeout = 500;
--> LOCK TABLE public.orders IN ACCESS EXCLUSIVE MODE;
--> ALTER TABLE public.orders ALTER id TYPE bigint, ALTER id SET DEFAULT public.snowflake_nextval();
--> ALTER SEQUENCE public.orders_id_seq AS bigint NO MAXVALUE;
--> -- after the commit: ANALYZE public.orders; let clients connect again
\as shop
SELECT count(*) FROM snowflake_conversion('{indexed}'); --> 10
BEGIN; SELECT run(ARRAY(SELECT snowflake_conversion(schema => 'public')));
--> ERROR 42501: these statements can run code of mallory with your rights
ROLLBACK;
BEGIN; SELECT run(ARRAY(SELECT snowflake_conversion('{orders}'))); COMMIT; -->
\as mallory
BEGIN; SELECT run(ARRAY(SELECT snowflake_conversion('{indexed}'))); COMMIT;
--> WARNING: runs as mallory
-->

-- Who may not execute snowflake_nextval() neither takes an ID, nor learns one, nor converts a key.
\as postgres
REVOKE EXECUTE ON FUNCTION snowflake_nextval() FROM PUBLIC;
CREATE TABLE last AS SELECT last_id FROM snowflake_status;
\as shop
CREATE TABLE visits (id bigserial PRIMARY KEY);
SELECT count(*) > 3 FROM snowflake_conversion('{visits}'); --> t
BEGIN; SELECT run(ARRAY(SELECT snowflake_conversion('{visits}')));
--> ERROR 42501: permission denied for function snowflake_nextval
ROLLBACK;
\as postgres
SELECT last.last_id = s.last_id FROM last, snowflake_status AS s; --> t
