-- No name ends a comment, a literal or a block, and none is looked for by search_path.
CREATE ROLE "$do$; 'x'" LOGIN; CREATE SCHEMA "my ""shop"; GRANT ALL ON SCHEMA "my ""shop" TO "$do$; 'x'";
CREATE TABLE canary (); GRANT ALL ON canary TO PUBLIC;
\as $do$; 'x'
SET search_path = "my ""shop", public;
CREATE TABLE "a
DROP TABLE public.canary; --" ("$do$ ""id""" serial PRIMARY KEY, "'\" integer UNIQUE);
CREATE TABLE "$do$" ("a
b" bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY);
INSERT INTO "a
DROP TABLE public.canary; --" DEFAULT VALUES; INSERT INTO "$do$" DEFAULT VALUES;
CREATE TABLE "Ünï-Cödé, with a name of more than sixty-three bytes, ééé" ("ïd of as many bytes, which a name of a sequence cannot hold" bigint PRIMARY KEY DEFAULT snowflake_nextval());
--> NOTICE: identifier "Ünï-Cödé, with a name of more than sixty-three bytes, ééé" will be truncated to "Ünï-Cödé, with a name of more than sixty-three bytes, éé"
CREATE TABLE taken (id bigint PRIMARY KEY DEFAULT snowflake_nextval()); CREATE TABLE taken_id_seq ();
CREATE TABLE "a_b" (c bigint PRIMARY KEY DEFAULT snowflake_nextval()); CREATE TABLE a ("b_c" bigint PRIMARY KEY DEFAULT snowflake_nextval());
CREATE TABLE narrow (id smallserial PRIMARY KEY); ALTER TABLE narrow RENAME TO "n
DROP TABLE public.canary; --";
-- Functions, operators and a table of the names that the statements use, where the reader looks first.
CREATE FUNCTION max(integer) RETURNS integer LANGUAGE plpgsql AS 'BEGIN RAISE WARNING $w$trapped$w$; RETURN 1; END';
CREATE FUNCTION snowflake_nextval(x text DEFAULT '') RETURNS bigint LANGUAGE plpgsql AS 'BEGIN RAISE WARNING $w$trapped$w$; RETURN 1; END';
CREATE FUNCTION setval(regclass, bigint) RETURNS bigint LANGUAGE plpgsql AS 'BEGIN RAISE WARNING $w$trapped$w$; RETURN 1; END';
CREATE FUNCTION strpos(text, text) RETURNS integer LANGUAGE plpgsql AS 'BEGIN RAISE WARNING $w$trapped$w$; RETURN 1; END';
CREATE FUNCTION more(bigint, bigint) RETURNS boolean LANGUAGE plpgsql AS 'BEGIN RAISE WARNING $w$trapped$w$; RETURN true; END';
CREATE OPERATOR >= (FUNCTION = more, LEFTARG = bigint, RIGHTARG = bigint);
CREATE TABLE pg_class (); CREATE TABLE pg_depend ();
SET search_path = "my ""shop", pg_catalog, public;
SELECT line FROM snowflake_conversion() AS line WHERE line ~ '^(--|ALTER|LOCK)' AND line !~ 'no time';
--> -- "my ""shop"."n DROP TABLE public.canary; --".id stays: it is of type smallint
--> -- tables of "$do$; 'x'", in one transaction
--> LOCK TABLE "my ""shop"."$do$", "my ""shop"."a\nDROP TABLE public.canary; --" IN ACCESS EXCLUSIVE MODE;
--> -- "my ""shop"."$do$"."a b" loses the sequence "my ""shop"."$do$_a b_seq", with its grants and comment; then INSERT ... OVERRIDING USER VALUE takes the values that it is given
--> ALTER TABLE "my ""shop"."$do$" ALTER "a\nb" DROP IDENTITY, ALTER "a\nb" SET DEFAULT public.snowflake_nextval();
--> ALTER TABLE "my ""shop"."a\nDROP TABLE public.canary; --" ALTER "$do$ ""id""" TYPE bigint, ALTER "$do$ ""id""" SET DEFAULT public.snowflake_nextval();
--> ALTER SEQUENCE "my ""shop"."a\nDROP TABLE public.canary; --_$do$ ""id""_seq" AS bigint NO MAXVALUE;
--> -- after the commit: ANALYZE "my ""shop"."a DROP TABLE public.canary; --"; let clients connect again
BEGIN; SELECT public.run(ARRAY(SELECT snowflake_conversion())); COMMIT;
INSERT INTO "a
DROP TABLE public.canary; --" DEFAULT VALUES RETURNING "$do$ ""id""" OPERATOR(pg_catalog.>) 1000; --> t
SELECT pg_catalog.regexp_replace(line, 'snowflake_\d+', 'snowflake_OID') FROM snowflake_reversion() AS line WHERE line ~ '^(--|LOCK|CREATE)';
--> -- tables of "$do$; 'x'", in one transaction
--> LOCK TABLE "my ""shop"."$do$", "my ""shop"."a\nDROP TABLE public.canary; --", "my ""shop"."Ünï-Cödé, with a name of more than sixty-three bytes, éé", "my ""shop".a, "my ""shop".a_b, "my ""shop".taken IN ACCESS EXCLUSIVE MODE;
--> CREATE SEQUENCE "my ""shop"."$do$_a\nb_seq";
--> CREATE SEQUENCE "my ""shop".a_b_c_seq;
--> CREATE SEQUENCE "my ""shop".snowflake_OID_1_seq;
--> CREATE SEQUENCE "my ""shop".snowflake_OID_1_seq;
--> CREATE SEQUENCE "my ""shop".snowflake_OID_1_seq;
BEGIN; SELECT public.run(ARRAY(SELECT snowflake_reversion())); COMMIT;
SELECT pg_catalog.count(*) FROM public.canary; --> 0
SELECT 'the largest is ' OPERATOR(pg_catalog.||) (pg_catalog.max("$do$ ""id""") OPERATOR(pg_catalog.>) 1000)::text FROM "a
DROP TABLE public.canary; --"; --> the largest is true
SELECT pg_catalog.regexp_replace(pg_get_expr(adbin, adrelid), 'snowflake_\d+', 'snowflake_OID') FROM pg_catalog.pg_attrdef ORDER BY 1;
--> nextval('"$do$_a\nb_seq"'::regclass)
--> nextval('"a\nDROP TABLE public.canary; --_$do$ ""id""_seq"'::regclass)
--> nextval('a_b_c_seq'::regclass)
--> nextval('narrow_id_seq'::regclass)
--> nextval('snowflake_OID_1_seq'::regclass)
--> nextval('snowflake_OID_1_seq'::regclass)
--> nextval('snowflake_OID_1_seq'::regclass)
INSERT INTO "$do$" DEFAULT VALUES RETURNING 1; INSERT INTO taken DEFAULT VALUES;
