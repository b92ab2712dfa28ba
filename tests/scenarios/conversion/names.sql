-- Names are quoted where they need it, and mean the same whatever the search_path.
CREATE SCHEMA "Old ""Shop"""; CREATE SCHEMA other;
CREATE TABLE "Old ""Shop"""."The Films" ("Id" serial PRIMARY KEY, "it's" text);
CREATE TABLE "Old ""Shop""".copies ("film\id" integer REFERENCES "Old ""Shop"""."The Films");
CREATE TABLE other."The Films" ("Id" integer);
SET search_path = other, public;
CREATE TABLE steps AS SELECT * FROM snowflake_convert('"Old ""Shop"""."The Films"', 'Id', dry_run => false)
    WITH ORDINALITY AS s (step, statement, number);
SELECT step, statement FROM steps ORDER BY number;
--> convert | ALTER TABLE "Old ""Shop""".copies ALTER COLUMN "film\id" SET DATA TYPE bigint;
--> convert | ALTER TABLE "Old ""Shop"""."The Films" ALTER COLUMN "Id" SET DATA TYPE bigint, ALTER COLUMN "Id" SET DEFAULT public.snowflake_nextval();
--> revert | ALTER SEQUENCE "Old ""Shop"""."The Films_Id_seq" AS bigint;
--> revert | SELECT pg_catalog.setval('"Old ""Shop"""."The Films_Id_seq"', pg_catalog.max("Id")) FROM "Old ""Shop"""."The Films" HAVING pg_catalog.max("Id") OPERATOR(pg_catalog.>=) (SELECT last_value FROM "Old ""Shop"""."The Films_Id_seq");
--> revert | ALTER TABLE "Old ""Shop"""."The Films" ALTER COLUMN "Id" SET DEFAULT pg_catalog.nextval('"Old ""Shop"""."The Films_Id_seq"'::pg_catalog.regclass);
INSERT INTO "Old ""Shop"""."The Films" DEFAULT VALUES RETURNING "Id" > 1000; --> t
-- PostgreSQL 19 knows no other string literals.
DO $$ BEGIN IF current_setting('server_version_num')::integer < 190000 THEN SET standard_conforming_strings = off; END IF; END $$;
SELECT count(*) FROM snowflake_revert('"Old ""Shop"""."The Films"', 'Id', dry_run => false); --> 3
INSERT INTO "Old ""Shop"""."The Films" DEFAULT VALUES RETURNING "Id" > 1000; --> t
SELECT snowflake_convert('"Old ""Shop"""."The Films"', 'id');
--> ERROR 42703: column "id" of relation "Old ""Shop"""."The Films" does not exist
