-- Partitions and children are converted and reverted through the topmost table, and count for what refers to them.
\needs PostgreSQL 15
CREATE TABLE logs (id bigserial, day integer, PRIMARY KEY (id, day)) PARTITION BY RANGE (day);
CREATE TABLE logs_0 PARTITION OF logs FOR VALUES FROM (0) TO (10);
CREATE TABLE logs_1 (id bigserial, day integer NOT NULL);
CREATE TABLE logs_2 (id bigint NOT NULL, day integer NOT NULL);
ALTER TABLE logs ATTACH PARTITION logs_1 FOR VALUES FROM (10) TO (20);
ALTER TABLE logs ATTACH PARTITION logs_2 FOR VALUES FROM (20) TO (30);
CREATE TABLE of_partition (log integer, day integer, FOREIGN KEY (log, day) REFERENCES logs_0);
CREATE TABLE parts (log integer, day integer) PARTITION BY LIST (day);
CREATE TABLE parts_1 PARTITION OF parts FOR VALUES IN (1);
ALTER TABLE parts_1 ADD FOREIGN KEY (log, day) REFERENCES logs;
INSERT INTO logs (day) VALUES (1), (11);
CREATE FUNCTION defaults() RETURNS text LANGUAGE sql AS $$
    SELECT string_agg(concat_ws(' ', attrelid::regclass, pg_get_expr(adbin, adrelid)), ', ' ORDER BY attrelid) FROM pg_attribute
    LEFT JOIN pg_attrdef ON (adrelid, adnum) = (attrelid, attnum)
    WHERE attrelid::regclass::text ~ '^logs(_.)?$' AND attname = 'id' $$;
SELECT defaults();
--> logs nextval('logs_id_seq'::regclass), logs_0 nextval('logs_id_seq'::regclass), logs_1 nextval('logs_1_id_seq'::regclass), logs_2
-- Through a partition, too.
CREATE TABLE steps AS SELECT * FROM snowflake_convert('logs_0', 'id', dry_run => false) WITH ORDINALITY AS s (step, statement, number);
SELECT step, statement FROM steps ORDER BY number;
--> convert | ALTER TABLE public.parts ALTER COLUMN log SET DATA TYPE bigint;
--> convert | ALTER TABLE public.of_partition ALTER COLUMN log SET DATA TYPE bigint;
--> convert | ALTER TABLE public.logs ALTER COLUMN id SET DEFAULT public.snowflake_nextval();
--> revert | SELECT pg_catalog.setval('public.logs_id_seq', pg_catalog.max(id)) FROM public.logs HAVING pg_catalog.max(id) OPERATOR(pg_catalog.>=) (SELECT last_value FROM public.logs_id_seq);
--> revert | ALTER TABLE public.logs ALTER COLUMN id SET DEFAULT pg_catalog.nextval('public.logs_id_seq'::pg_catalog.regclass);
--> revert | SELECT pg_catalog.setval('public.logs_1_id_seq', pg_catalog.max(id)) FROM public.logs_1 HAVING pg_catalog.max(id) OPERATOR(pg_catalog.>=) (SELECT last_value FROM public.logs_1_id_seq);
--> revert | ALTER TABLE public.logs_1 ALTER COLUMN id SET DEFAULT pg_catalog.nextval('public.logs_1_id_seq'::pg_catalog.regclass);
--> revert | ALTER TABLE public.logs_2 ALTER COLUMN id DROP DEFAULT;
SELECT defaults();
--> logs snowflake_nextval(), logs_0 snowflake_nextval(), logs_1 snowflake_nextval(), logs_2 snowflake_nextval()
INSERT INTO logs (day) VALUES (2), (12), (22); INSERT INTO logs_1 (day) VALUES (13);
INSERT INTO parts SELECT id, day FROM logs WHERE day = 1; INSERT INTO of_partition SELECT id, day FROM logs WHERE day = 2;
SELECT count(*) FROM logs WHERE id > 1000; --> 4
-- What is attached later has no default of its own, and rows that are inserted through the parent need none.
CREATE TABLE logs_3 (id bigint NOT NULL, day integer NOT NULL);
ALTER TABLE logs ATTACH PARTITION logs_3 FOR VALUES FROM (30) TO (40);
INSERT INTO logs (day) VALUES (31) RETURNING id > 1000; --> t
ALTER TABLE logs DETACH PARTITION logs_3; DROP TABLE logs_3;

CREATE FUNCTION revert() RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    s text;
BEGIN
    FOR s IN SELECT statement FROM steps WHERE step = 'revert' ORDER BY number LOOP EXECUTE s; END LOOP;
END $$;
SELECT revert();
SELECT defaults();
--> logs nextval('logs_id_seq'::regclass), logs_0 nextval('logs_id_seq'::regclass), logs_1 nextval('logs_1_id_seq'::regclass), logs_2
INSERT INTO logs (day) VALUES (3) RETURNING id = (SELECT max(id) + 1 FROM logs); --> t
INSERT INTO logs_1 (day) VALUES (14) RETURNING id = (SELECT max(id) + 1 FROM logs_1); --> t

-- An identity of a partitioned table.
CREATE TABLE events (id bigint GENERATED ALWAYS AS IDENTITY, day integer) PARTITION BY LIST (day);
CREATE TABLE events_1 PARTITION OF events FOR VALUES IN (1);
TRUNCATE steps; INSERT INTO steps SELECT * FROM snowflake_convert('events', 'id', dry_run => false) WITH ORDINALITY;
INSERT INTO events (day) VALUES (1) RETURNING id > 1000; --> t
SELECT revert();
INSERT INTO events (day) VALUES (1) RETURNING id = (SELECT max(id) + 1 FROM events); --> t

-- Children, whose keys are inherited.
CREATE TABLE animals (id serial PRIMARY KEY, name text);
CREATE TABLE cats (UNIQUE (id)) INHERITS (animals);
CREATE TABLE kittens (cat integer REFERENCES cats (id));
SELECT statement FROM snowflake_convert('cats', 'id', dry_run => false) WHERE step = 'convert';
--> ALTER TABLE public.kittens ALTER COLUMN cat SET DATA TYPE bigint;
--> ALTER TABLE public.animals ALTER COLUMN id SET DATA TYPE bigint, ALTER COLUMN id SET DEFAULT public.snowflake_nextval();
WITH cat AS (INSERT INTO cats (name) VALUES ('Tom') RETURNING id) INSERT INTO kittens SELECT id FROM cat;
SELECT count(*) FROM snowflake_revert('cats', 'id', dry_run => false);
INSERT INTO cats (name) VALUES ('Tim') RETURNING id = (SELECT max(id) + 1 FROM animals); --> t
