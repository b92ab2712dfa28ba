-- The schema of the extension's tables is created with it, wherever the extension is, and stays a superuser's.

CREATE ROLE owner LOGIN CREATEDB;
\as owner
CREATE DATABASE theirs;
\in theirs
-- One of this name that is there already is an error, which leaves nothing behind.
CREATE SCHEMA snowflake_internal;
CREATE EXTENSION snowflake; --> ERROR 42P06: schema "snowflake_internal" already exists
SELECT count(*) FROM pg_proc AS p FULL JOIN pg_class AS c ON false WHERE p.proname ~ 'snowflake' OR c.relname ~ 'snowflake'; --> 0
DROP SCHEMA snowflake_internal;
-- The extension stays where it was created.
CREATE SCHEMA "My IDs";
CREATE EXTENSION snowflake SCHEMA "My IDs";
CREATE TABLE orders (id bigint PRIMARY KEY DEFAULT "My IDs".snowflake_nextval());
INSERT INTO orders DEFAULT VALUES;
SELECT "My IDs".snowflake_parse(id) FROM orders;
SELECT "My IDs".snowflake_claim_node('db-1');
SELECT name FROM "My IDs".snowflake_nodes; --> db-1
SELECT count(*) FROM snowflake_internal.snowflake_layout; --> 1
ALTER EXTENSION snowflake SET SCHEMA public; --> ERROR 0A000: extension "snowflake" does not support SET SCHEMA
-- The owner of the extension may create and change nothing there.
SELECT pg_get_userbyid(nspowner) FROM pg_namespace WHERE nspname = 'snowflake_internal'; --> postgres
CREATE TABLE snowflake_internal.mine (); --> ERROR 42501
CREATE FUNCTION snowflake_internal.mine() RETURNS int LANGUAGE sql RETURN 1; --> ERROR 42501
ALTER SCHEMA snowflake_internal RENAME TO mine; --> ERROR 42501
DROP TABLE snowflake_internal.snowflake_layout; --> ERROR 42501
ALTER TABLE snowflake_internal.snowflake_layout ADD mine int; --> ERROR 42501
DROP TABLE orders; DROP EXTENSION snowflake;
SELECT count(*) FROM pg_namespace WHERE nspname = 'snowflake_internal'; --> 0

-- For a superuser, it is the same.
\as postgres
\in
DROP EXTENSION snowflake; CREATE SCHEMA snowflake_internal;
CREATE EXTENSION snowflake; --> ERROR 42P06: schema "snowflake_internal" already exists
SELECT count(*) FROM pg_proc AS p FULL JOIN pg_class AS c ON false WHERE p.proname ~ 'snowflake' OR c.relname ~ 'snowflake'; --> 0
DROP SCHEMA snowflake_internal;
CREATE SCHEMA "My IDs"; CREATE EXTENSION snowflake SCHEMA "My IDs";
SELECT "My IDs".snowflake_parse("My IDs".snowflake_nextval());
SELECT "My IDs".snowflake_claim_node('db-1');
SELECT count(*) FROM snowflake_internal.snowflake_layout; --> 1
ALTER EXTENSION snowflake SET SCHEMA public; --> ERROR 0A000: extension "snowflake" does not support SET SCHEMA
ALTER DATABASE scenario OWNER TO owner;
\as owner
CREATE TABLE snowflake_internal.mine (); --> ERROR 42501
ALTER SCHEMA snowflake_internal RENAME TO mine; --> ERROR 42501
DROP TABLE snowflake_internal.snowflake_layout; --> ERROR 42501
\as postgres
DROP EXTENSION snowflake;
SELECT count(*) FROM pg_namespace WHERE nspname = 'snowflake_internal'; --> 0
