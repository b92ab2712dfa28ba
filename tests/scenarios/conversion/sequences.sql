-- A key is converted whatever sequence it takes its values from; casts do not matter.
CREATE SEQUENCE shared; CREATE SEQUENCE small AS smallint;
CREATE TABLE one (id bigint PRIMARY KEY DEFAULT nextval('shared'));
CREATE TABLE two (id bigint PRIMARY KEY DEFAULT nextval('shared'));
CREATE TABLE cast_to (id bigint PRIMARY KEY DEFAULT nextval('small')::integer);
CREATE TABLE narrow (id integer PRIMARY KEY DEFAULT nextval('shared')::int2::bigint);
CREATE TABLE nothing (id bigint PRIMARY KEY);
SELECT statement FROM snowflake_convert(schema => 'public', dry_run => false);
--> ALTER TABLE public.one ALTER COLUMN id SET DEFAULT public.snowflake_nextval();
--> ALTER TABLE public.two ALTER COLUMN id SET DEFAULT public.snowflake_nextval();
--> ALTER TABLE public.cast_to ALTER COLUMN id SET DEFAULT public.snowflake_nextval();
--> ALTER TABLE public.narrow ALTER COLUMN id SET DATA TYPE bigint, ALTER COLUMN id SET DEFAULT public.snowflake_nextval();
--> SELECT pg_catalog.setval('public.shared', pg_catalog.max(id)) FROM public.one HAVING pg_catalog.max(id) OPERATOR(pg_catalog.>=) (SELECT last_value FROM public.shared);
--> ALTER TABLE public.one ALTER COLUMN id SET DEFAULT pg_catalog.nextval('public.shared'::pg_catalog.regclass);
--> SELECT pg_catalog.setval('public.shared', pg_catalog.max(id)) FROM public.two HAVING pg_catalog.max(id) OPERATOR(pg_catalog.>=) (SELECT last_value FROM public.shared);
--> ALTER TABLE public.two ALTER COLUMN id SET DEFAULT pg_catalog.nextval('public.shared'::pg_catalog.regclass);
--> ALTER SEQUENCE public.small AS bigint;
--> SELECT pg_catalog.setval('public.small', pg_catalog.max(id)) FROM public.cast_to HAVING pg_catalog.max(id) OPERATOR(pg_catalog.>=) (SELECT last_value FROM public.small);
--> ALTER TABLE public.cast_to ALTER COLUMN id SET DEFAULT pg_catalog.nextval('public.small'::pg_catalog.regclass);
--> SELECT pg_catalog.setval('public.shared', pg_catalog.max(id)) FROM public.narrow HAVING pg_catalog.max(id) OPERATOR(pg_catalog.>=) (SELECT last_value FROM public.shared);
--> ALTER TABLE public.narrow ALTER COLUMN id SET DEFAULT pg_catalog.nextval('public.shared'::pg_catalog.regclass);
INSERT INTO one DEFAULT VALUES RETURNING id > 1000; --> t
-- A column that has no default is converted if it is named.
SELECT statement FROM snowflake_convert('nothing', 'id', dry_run => false);
--> ALTER TABLE public.nothing ALTER COLUMN id SET DEFAULT public.snowflake_nextval();
--> ALTER TABLE public.nothing ALTER COLUMN id DROP DEFAULT;
-- The column owns no sequence that it could take values of.
SELECT snowflake_revert('one', 'id', dry_run => false);
--> ERROR 55000: column id of table public.one cannot be reverted
--> DETAIL: It does not own exactly one sequence.
--> HINT: Let it own the sequence whose values it is to take, as in CREATE SEQUENCE ... OWNED BY public.one.id.
ALTER SEQUENCE shared OWNED BY one.id;
CREATE SEQUENCE second OWNED BY one.id;
SELECT snowflake_revert('one', 'id', dry_run => false); --> ERROR 55000
DROP SEQUENCE second;
SELECT count(*) FROM snowflake_revert('one', 'id', dry_run => false); --> 2
INSERT INTO one DEFAULT VALUES RETURNING id = (SELECT max(id) + 1 FROM one); --> t
-- A sequence that ends before the largest key cannot take over.
CREATE SEQUENCE short MAXVALUE 100 OWNED BY two.id; INSERT INTO two DEFAULT VALUES;
SELECT snowflake_revert('two', 'id', dry_run => false);
--> ERROR 22003: setval: value ... is out of bounds for sequence "short" (1..100)
SELECT count(*) FROM pg_attrdef WHERE adrelid = 'two'::regclass AND pg_get_expr(adbin, adrelid) = 'snowflake_nextval()'; --> 1
