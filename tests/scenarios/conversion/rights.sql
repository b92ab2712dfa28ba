-- A conversion runs as the owner of the tables, in a restricted operation, and only for who has that owner's
-- privileges: whatever others have prepared, what runs is what the ALTER TABLE of the owner would have run.
CREATE ROLE shop LOGIN; CREATE ROLE clerk LOGIN; CREATE ROLE member LOGIN IN ROLE shop; CREATE ROLE heir LOGIN NOINHERIT IN ROLE shop;
CREATE SCHEMA shop AUTHORIZATION shop; GRANT USAGE ON SCHEMA shop TO clerk, heir; GRANT CREATE ON SCHEMA public TO clerk, shop;
\as shop
CREATE TABLE shop.orders (id serial PRIMARY KEY, item text);
GRANT ALL ON shop.orders TO clerk;
\as clerk
SELECT snowflake_convert('shop.orders', 'id'); --> ERROR 42501: must be owner of table shop.orders
SELECT snowflake_revert('shop.orders', 'id'); --> ERROR 42501: must be owner of table shop.orders
SELECT snowflake_convert('pg_class', 'relpages'); --> ERROR 42501: must be owner of table pg_catalog.pg_class
-- Keys of others in a schema are left.
SELECT * FROM snowflake_convert(schema => 'shop');
--> NOTICE: not all keys are converted to snowflake IDs
--> DETAIL: Must be owner of table shop.orders.
--> (0 rows)
\as heir
SELECT snowflake_convert('shop.orders', 'id'); --> ERROR 42501: must be owner of table shop.orders
\as member
SELECT count(*) FROM snowflake_convert('shop.orders', 'id'); --> 4

-- Tables of several owners do not change together.
\as clerk
CREATE TABLE public.lines ("order" integer REFERENCES shop.orders);
\as shop
SELECT snowflake_convert('shop.orders', 'id', dry_run => false);
--> ERROR 42501: column id of table shop.orders cannot be converted
--> DETAIL: Column "order" of table public.lines would change, which belongs to another role.
SELECT count(*) FROM snowflake_convert(schema => 'shop', dry_run => false);
--> NOTICE: not all keys are converted to snowflake IDs
--> 0
\as clerk
DROP TABLE public.lines;

-- The owner of the database has no more rights than others.
\as postgres
CREATE ROLE keeper LOGIN; ALTER DATABASE scenario OWNER TO keeper; GRANT USAGE ON SCHEMA shop TO keeper;
\as keeper
SELECT snowflake_convert('shop.orders', 'id', dry_run => false); --> ERROR 42501: must be owner of table shop.orders

-- The owner's functions run without the rights of a superuser who converts, and cannot get them.
\as shop
CREATE FUNCTION shop.try(statement text) RETURNS void LANGUAGE plpgsql AS $$ BEGIN
    EXECUTE statement;
    RAISE WARNING '% works', statement;
EXCEPTION WHEN OTHERS THEN
    RAISE NOTICE '%', SQLERRM;
END $$;
CREATE FUNCTION shop.who(id bigint) RETURNS boolean LANGUAGE plpgsql AS $$ BEGIN
    IF NOT EXISTS (SELECT FROM shop.armed) THEN RETURN true; END IF;
    RAISE NOTICE '%, superuser: %', current_user, rolsuper FROM pg_roles WHERE rolname = current_user;
    PERFORM shop.try('ALTER ROLE shop SUPERUSER'), shop.try('SET ROLE postgres'), shop.try('RESET ROLE'),
        shop.try('SET SESSION AUTHORIZATION postgres'), shop.try('CREATE TEMPORARY TABLE kept ()');
    SET search_path = shop;
    RETURN true;
END $$;
CREATE TABLE shop.armed (); GRANT SELECT ON shop.armed TO clerk;
INSERT INTO shop.orders (item) VALUES ('book'); ALTER TABLE shop.orders ADD CHECK (shop.who(id));
INSERT INTO shop.armed DEFAULT VALUES;
\as postgres
SELECT count(*) FROM snowflake_convert('shop.orders', 'id', dry_run => false);
--> NOTICE: shop, superuser: f
--> NOTICE: ...alter...role...
--> NOTICE: cannot set parameter "role" within security-restricted operation
--> NOTICE: cannot set parameter "role" within security-restricted operation
--> NOTICE: cannot set parameter "session_authorization" within security-restricted operation
--> NOTICE: cannot create temporary table within security-restricted operation
--> 4
SELECT current_setting('search_path'); --> "$user", public
\as shop
ALTER TABLE shop.orders DROP CONSTRAINT orders_id_check;
\as postgres
SELECT current_user; --> postgres

-- A role that may create triggers runs nothing, nor do functions of the names that the statements have, wherever
-- the session looks for names.
\as clerk
CREATE FUNCTION public.trap() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RAISE WARNING $w$trapped: %$w$, current_user; RETURN new; END';
CREATE TRIGGER trap BEFORE INSERT OR UPDATE ON shop.orders FOR EACH ROW EXECUTE FUNCTION public.trap();
CREATE FUNCTION public.setval(regclass, bigint) RETURNS bigint LANGUAGE plpgsql AS 'BEGIN RAISE WARNING $w$trapped$w$; RETURN 1; END';
CREATE FUNCTION public.max(bigint) RETURNS bigint LANGUAGE plpgsql AS 'BEGIN RAISE WARNING $w$trapped$w$; RETURN 1; END';
CREATE FUNCTION public.more(bigint, bigint) RETURNS boolean LANGUAGE plpgsql AS 'BEGIN RAISE WARNING $w$trapped$w$; RETURN true; END';
CREATE OPERATOR public.>= (FUNCTION = public.more, LEFTARG = bigint, RIGHTARG = bigint);
\as postgres
SET search_path = public, pg_catalog;
SELECT count(*) FROM snowflake_revert('shop.orders', 'id', dry_run => false);
--> WARNING: roles that may insert into table shop.orders may not use its sequence
--> DETAIL: An INSERT by clerk fails if it takes the default.
--> HINT: Run GRANT USAGE ON SEQUENCE shop.orders_id_seq TO clerk.
--> 3
SELECT count(*) FROM snowflake_convert('shop.orders', 'id', dry_run => false); --> 3

-- An overload in the extension's schema makes the default ambiguous, and runs nothing.
\as clerk
CREATE FUNCTION public.snowflake_nextval(x integer DEFAULT 1) RETURNS bigint LANGUAGE plpgsql AS 'BEGIN RAISE WARNING $w$trapped$w$; RETURN 1; END';
--> ERROR 42723: function "snowflake_nextval" already exists with same argument types
CREATE FUNCTION public.snowflake_nextval(x text DEFAULT '1') RETURNS bigint LANGUAGE plpgsql AS 'BEGIN RAISE WARNING $w$trapped$w$; RETURN 1; END';
\as postgres
SELECT count(*) FROM snowflake_revert('shop.orders', 'id', dry_run => false);
--> WARNING: roles that may insert into table shop.orders may not use its sequence
--> DETAIL: An INSERT by clerk fails if it takes the default.
--> HINT: Run GRANT USAGE ON SEQUENCE shop.orders_id_seq TO clerk.
--> 2
SELECT snowflake_convert('shop.orders', 'id', dry_run => false);
--> ERROR 42725: function public.snowflake_nextval() is not unique
