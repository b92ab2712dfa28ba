-- A bigint key gets another default, in a transaction of the reader's. No row is written, and its sequence stays.
CREATE ROLE shop LOGIN; CREATE ROLE app; GRANT CREATE ON SCHEMA public TO shop;
\as shop
CREATE TABLE orders (id bigserial PRIMARY KEY, item text);
CREATE TABLE lines (id bigserial, number int, PRIMARY KEY (number, id)); GRANT INSERT ON lines TO app;
INSERT INTO orders (item) VALUES ('book'), ('pen');
CREATE TABLE files AS SELECT pg_relation_filenode('orders') AS file;
SELECT regexp_replace(regexp_replace(line, '[0-9a-f]{32}', 'DIGEST'), '[0-9]{19}', 'ID') FROM snowflake_conversion('{orders}') AS line;
--> -- tables of shop, in one transaction
--> SET LOCAL lock_timeout = 500;
--> LOCK TABLE public.orders IN ACCESS EXCLUSIVE MODE;
--> DO $do$ BEGIN\n    IF pg_catalog.current_setting('transaction_isolation')\n                OPERATOR(pg_catalog.<>) 'read committed'\n            OR NOT EXISTS (SELECT FROM public.snowflake_conversion('{public.orders}'::pg_catalog.regclass[], NULL) AS line\n                           WHERE pg_catalog.strpos(line, 'DIGEST') OPERATOR(pg_catalog.>) 0) THEN\n        RAISE object_not_in_prerequisite_state USING\n            MESSAGE = 'the tables have changed since these statements were printed',\n            HINT = 'Print them again, and execute them in a READ COMMITTED transaction.';\n    END IF;\nEND $do$;
--> ALTER TABLE public.orders ALTER id SET DEFAULT public.snowflake_nextval();
--> DO $do$ BEGIN\n    IF (SELECT pg_catalog.max(id) FROM public.orders) OPERATOR(pg_catalog.>=) public.snowflake_nextval() THEN\n        RAISE object_not_in_prerequisite_state USING MESSAGE = 'keys of public.orders are not below the next snowflake ID',\n            HINT = 'Give these rows other keys. Before the first ID, an earlier epoch makes IDs larger.';\n    END IF;\nEND $do$;
--> -- public.orders.id has keys that mean no time: those below ID
BEGIN; SELECT run(ARRAY(SELECT snowflake_conversion('{orders,lines}'))); COMMIT;
INSERT INTO orders (item) VALUES ('ink') RETURNING snowflake_timestamp(id) > now() - interval '1 minute'; --> t
SELECT pg_relation_filenode('orders') = file, pg_get_serial_sequence('orders', 'id') FROM files; --> t | public.orders_id_seq
-- Once more, there is nothing to do.
SELECT count(*) FROM snowflake_conversion('{orders}'); --> 0

-- Back: new keys are above all others, and who inserts may use the sequence.
SELECT regexp_replace(line, '[0-9a-f]{32}', 'DIGEST') FROM snowflake_reversion('{lines}') AS line;
--> -- tables of shop, in one transaction
--> SET LOCAL lock_timeout = 500;
--> LOCK TABLE public.lines IN ACCESS EXCLUSIVE MODE;
--> DO $do$ BEGIN\n    IF pg_catalog.current_setting('transaction_isolation')\n                OPERATOR(pg_catalog.<>) 'read committed'\n            OR NOT EXISTS (SELECT FROM public.snowflake_reversion('{public.lines}'::pg_catalog.regclass[], NULL) AS line\n                           WHERE pg_catalog.strpos(line, 'DIGEST') OPERATOR(pg_catalog.>) 0) THEN\n        RAISE object_not_in_prerequisite_state USING\n            MESSAGE = 'the tables have changed since these statements were printed',\n            HINT = 'Print them again, and execute them in a READ COMMITTED transaction.';\n    END IF;\nEND $do$;
--> DO $do$ BEGIN\n    LOCK TABLE public.lines IN ACCESS EXCLUSIVE MODE;\n    PERFORM pg_catalog.setval('public.lines_id_seq', pg_catalog.max(id)) FROM public.lines\n        HAVING pg_catalog.max(id) OPERATOR(pg_catalog.>=) (SELECT last_value FROM public.lines_id_seq);\n    ALTER TABLE public.lines ALTER id SET DEFAULT pg_catalog.nextval('public.lines_id_seq');\nEND $do$;
--> GRANT USAGE ON SEQUENCE public.lines_id_seq TO app;
SELECT run(ARRAY(SELECT snowflake_reversion(schema => 'public')));
INSERT INTO orders (item) VALUES ('nib') RETURNING id = (SELECT max(id) + 1 FROM orders); --> t
SELECT has_sequence_privilege('app', 'lines_id_seq', 'USAGE'); --> t
SELECT snowflake_reversion('{orders}'); --> -- public.orders has no column that takes snowflake IDs

-- The sequence goes on if its keys are the largest, or were deleted; one that is not used yet begins above the keys.
CREATE TABLE notes (id bigserial PRIMARY KEY);
INSERT INTO notes DEFAULT VALUES; INSERT INTO notes DEFAULT VALUES; DELETE FROM notes WHERE id = 2;
CREATE TABLE marks (id bigserial PRIMARY KEY);
SELECT run(ARRAY(SELECT snowflake_conversion('{notes,marks}')));
INSERT INTO marks VALUES (1);
SELECT run(ARRAY(SELECT snowflake_reversion('{notes,marks}')));
INSERT INTO notes DEFAULT VALUES RETURNING id; --> 3
INSERT INTO marks DEFAULT VALUES RETURNING id; --> 2
-- A key that is not below the next ID is not converted.
INSERT INTO marks VALUES (9223372036854775807);
SELECT run(ARRAY(SELECT snowflake_conversion('{marks}')));
--> ERROR 55000: keys of public.marks are not below the next snowflake ID
--> HINT: Give these rows other keys. Before the first ID, an earlier epoch makes IDs larger.

-- A sequence that stays has no bound below IDs: a loader of rows sets it to the largest key.
CREATE SEQUENCE of_bounded MAXVALUE 1000; CREATE TABLE bounded (id bigint PRIMARY KEY DEFAULT nextval('of_bounded'));
ALTER SEQUENCE of_bounded OWNED BY bounded.id;
SELECT line FROM snowflake_conversion('{bounded}') AS line WHERE line ~ '^ALTER';
--> ALTER TABLE public.bounded ALTER id SET DEFAULT public.snowflake_nextval();
--> ALTER SEQUENCE public.of_bounded AS bigint NO MAXVALUE;
