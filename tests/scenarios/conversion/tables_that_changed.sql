-- Printed text ages. After its locks, a script asks whether the same call would still print the same.
CREATE TABLE films (id serial PRIMARY KEY, title text); CREATE TABLE copies (film integer REFERENCES films);
CREATE TABLE scripts AS SELECT 1 AS number, ARRAY(SELECT snowflake_conversion('{films}')) AS script;
CREATE FUNCTION execute(number integer) RETURNS void LANGUAGE sql AS 'SELECT run((SELECT script FROM scripts WHERE scripts.number = execute.number))';
CREATE TABLE loans (film integer REFERENCES films);
BEGIN; SELECT execute(1);
--> ERROR 55000: the tables have changed since these statements were printed
--> HINT: Print them again, and execute them in a READ COMMITTED transaction.
ROLLBACK; DROP TABLE loans; CREATE VIEW titles AS SELECT id FROM films;
BEGIN; SELECT execute(1); --> ERROR 55000: the tables have changed since these statements were printed
ROLLBACK; DROP VIEW titles;
-- A transaction with one snapshot would not see what has changed, nor new keys.
BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT execute(1); --> ERROR 55000
ROLLBACK;
-- Changes elsewhere do not matter; nor do statements that the reader takes out.
CREATE TABLE others (id serial PRIMARY KEY);
BEGIN; SELECT execute(1); COMMIT;
BEGIN; SELECT execute(1); --> ERROR 55000: the tables have changed since these statements were printed
ROLLBACK;
INSERT INTO scripts SELECT 2, ARRAY(SELECT snowflake_reversion('{films}'));
ALTER SEQUENCE films_id_seq RENAME TO other;
BEGIN; SELECT execute(2); --> ERROR 55000: the tables have changed since these statements were printed
ROLLBACK;
-- Without a transaction, PostgreSQL refuses the locks. The block that reverts a key takes one itself.
LOCK TABLE films; --> ERROR 25P01
SELECT line FROM snowflake_reversion('{films}') AS line WHERE line ~ 'setval';
--> DO $do$ BEGIN\n    LOCK TABLE public.films IN ACCESS EXCLUSIVE MODE;\n    PERFORM pg_catalog.setval('public.other', pg_catalog.max(id)) FROM public.films\n        HAVING pg_catalog.max(id) OPERATOR(pg_catalog.>=) (SELECT last_value FROM public.other);\n    ALTER TABLE public.films ALTER id SET DEFAULT pg_catalog.nextval('public.other');\nEND $do$;

-- Policies that hold for the owner, too, might hide the largest key.
CREATE ROLE shop LOGIN; GRANT CREATE ON SCHEMA public TO shop; GRANT SELECT ON scripts TO shop;
\as shop
CREATE TABLE hidden (id bigserial PRIMARY KEY); ALTER TABLE hidden ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
BEGIN; SELECT run(ARRAY(SELECT snowflake_conversion('{hidden}'))); --> ERROR 42501: query would be affected by row-level security policy for table "hidden"
ROLLBACK;
