-- A partitioned table is converted with its partitions, and so back; a child by INHERITS only by its own default.
CREATE ROLE shop LOGIN; CREATE ROLE app; GRANT CREATE ON SCHEMA public TO shop;
\as shop
CREATE TABLE logs (id serial, day date, PRIMARY KEY (day, id)) PARTITION BY RANGE (day);
CREATE TABLE logs_26 PARTITION OF logs FOR VALUES FROM ('2026-01-01') TO ('2027-01-01');
CREATE TABLE logs_27 (day date NOT NULL, dropped int, id integer NOT NULL) PARTITION BY LIST (day); ALTER TABLE logs_27 DROP dropped;
CREATE TABLE logs_27_1 PARTITION OF logs_27 FOR VALUES IN ('2027-01-01');
ALTER TABLE logs ATTACH PARTITION logs_27 FOR VALUES FROM ('2027-01-01') TO ('2028-01-01');
CREATE TABLE visits (log integer, day date, FOREIGN KEY (day, log) REFERENCES logs); GRANT INSERT ON logs_26 TO app;
SELECT line FROM snowflake_conversion(schema => 'public') AS line WHERE line !~ '^DO|no time';
--> -- tables of shop, in one transaction
--> SET LOCAL lock_timeout = 500;
--> LOCK TABLE public.visits, public.logs IN ACCESS EXCLUSIVE MODE;
--> ALTER TABLE public.logs ALTER id TYPE bigint, ALTER id SET DEFAULT public.snowflake_nextval();
--> ALTER TABLE public.visits ALTER log TYPE bigint;
--> ALTER SEQUENCE public.logs_id_seq AS bigint NO MAXVALUE;
--> -- after the commit: ANALYZE public.logs, public.visits; let clients connect again
SELECT snowflake_conversion('{logs_26}'); --> -- public.logs_26.id stays: the table is a partition of public.logs
BEGIN; SELECT run(ARRAY(SELECT snowflake_conversion(schema => 'public'))); COMMIT;
INSERT INTO logs (day) VALUES ('2026-05-05'), ('2027-01-01') RETURNING id > 1000; --> t
--> t
INSERT INTO logs_27_1 (day) VALUES ('2027-01-01'); INSERT INTO visits SELECT id, day FROM logs;
BEGIN; SELECT run(ARRAY(SELECT snowflake_reversion(schema => 'public'))); COMMIT;
INSERT INTO logs (day) VALUES ('2026-05-06') RETURNING id = (SELECT max(id) + 1 FROM logs); --> t
INSERT INTO logs_27_1 (day) VALUES ('2027-01-01') RETURNING id = (SELECT max(id) + 1 FROM logs); --> t
SELECT has_sequence_privilege('app', 'logs_id_seq', 'USAGE'); --> t
-- A partition that owns a sequence takes the values of its table's.
CREATE TABLE visits_26 (id bigint NOT NULL DEFAULT snowflake_nextval(), day date NOT NULL); CREATE SEQUENCE of_26 OWNED BY visits_26.id;
CREATE TABLE all_visits (id bigint DEFAULT snowflake_nextval(), day date, PRIMARY KEY (day, id)) PARTITION BY RANGE (day);
ALTER TABLE all_visits ATTACH PARTITION visits_26 FOR VALUES FROM ('2026-01-01') TO ('2027-01-01');
SELECT line FROM snowflake_reversion('{all_visits,visits_26}') AS line WHERE line ~ '^(--|CREATE)';
--> -- tables of shop, in one transaction
--> CREATE SEQUENCE public.all_visits_id_seq;
BEGIN; SELECT run(ARRAY(SELECT snowflake_reversion('{all_visits,visits_26}'))); COMMIT;
SELECT pg_get_expr(adbin, adrelid) FROM pg_attrdef WHERE adrelid = 'visits_26'::regclass; --> nextval('all_visits_id_seq'::regclass)

-- Neither the parent of a child nor its siblings change with it, in whatever schema.
CREATE TABLE papers (id bigserial PRIMARY KEY); CREATE TABLE drafts (PRIMARY KEY (id)) INHERITS (papers);
CREATE SEQUENCE of_drafts OWNED BY drafts.id; ALTER TABLE drafts ALTER id SET DEFAULT nextval('of_drafts');
CREATE TABLE notes () INHERITS (papers); CREATE TABLE sheets (PRIMARY KEY (id)) INHERITS (papers);
BEGIN; SELECT run(ARRAY(SELECT snowflake_conversion('{drafts}'))); COMMIT;
SELECT adrelid::regclass, pg_get_expr(adbin, adrelid) FROM pg_attrdef WHERE adrelid = ANY ('{papers,drafts,notes}'::regclass[]) ORDER BY 1;
--> papers | nextval('papers_id_seq'::regclass)
--> drafts | snowflake_nextval()
--> notes | nextval('papers_id_seq'::regclass)
SELECT line FROM snowflake_conversion('{papers,sheets}') AS line WHERE line !~ '^DO|no time';
--> -- public.sheets.id stays: it does not own the sequence of its default, nextval('public.papers_id_seq'::regclass)
--> -- tables of shop, in one transaction
--> SET LOCAL lock_timeout = 500;
--> LOCK TABLE ONLY public.papers IN ACCESS EXCLUSIVE MODE;
--> ALTER TABLE ONLY public.papers ALTER id SET DEFAULT public.snowflake_nextval();
BEGIN; SELECT run(ARRAY(SELECT snowflake_conversion('{papers}'))); COMMIT;
ALTER TABLE notes ALTER id SET DEFAULT snowflake_nextval();
-- Those that take IDs share a sequence afterwards, as before.
BEGIN; SELECT run(ARRAY(SELECT snowflake_reversion('{papers,drafts,notes}'))); COMMIT;
SELECT adrelid::regclass, pg_get_expr(adbin, adrelid) FROM pg_attrdef WHERE adrelid = ANY ('{papers,drafts,notes}'::regclass[]) ORDER BY 1;
--> papers | nextval('papers_id_seq'::regclass)
--> drafts | nextval('of_drafts'::regclass)
--> notes | nextval('papers_id_seq'::regclass)
