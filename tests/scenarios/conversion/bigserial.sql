-- A bigserial key gets another default. No row is written, and its sequence stays.
CREATE TABLE orders (id bigserial PRIMARY KEY, item text);
INSERT INTO orders (item) VALUES ('book'), ('pen');
CREATE TABLE files AS SELECT pg_relation_filenode('orders') AS file;

SELECT * FROM snowflake_convert('orders', 'id');
--> convert | ALTER TABLE public.orders ALTER COLUMN id SET DEFAULT public.snowflake_nextval();
--> revert | SELECT pg_catalog.setval('public.orders_id_seq', pg_catalog.max(id)) FROM public.orders HAVING pg_catalog.max(id) OPERATOR(pg_catalog.>=) (SELECT last_value FROM public.orders_id_seq);
--> revert | ALTER TABLE public.orders ALTER COLUMN id SET DEFAULT pg_catalog.nextval('public.orders_id_seq'::pg_catalog.regclass);
SELECT pg_get_expr(adbin, adrelid) FROM pg_attrdef WHERE adrelid = 'orders'::regclass; --> nextval('orders_id_seq'::regclass)

SELECT * FROM snowflake_convert('orders', dry_run => false);
--> convert | ALTER TABLE public.orders ALTER COLUMN id SET DEFAULT public.snowflake_nextval();
--> revert | SELECT pg_catalog.setval('public.orders_id_seq', pg_catalog.max(id)) FROM public.orders HAVING pg_catalog.max(id) OPERATOR(pg_catalog.>=) (SELECT last_value FROM public.orders_id_seq);
--> revert | ALTER TABLE public.orders ALTER COLUMN id SET DEFAULT pg_catalog.nextval('public.orders_id_seq'::pg_catalog.regclass);
INSERT INTO orders (item) VALUES ('ink') RETURNING snowflake_timestamp(id) > now() - interval '1 minute'; --> t
SELECT pg_relation_filenode('orders') = file, pg_get_serial_sequence('orders', 'id') FROM files; --> t | public.orders_id_seq
-- Once more, there is nothing to do.
SELECT count(*) FROM snowflake_convert('orders', dry_run => false); --> 0

-- Back: new keys are above all others.
SELECT * FROM snowflake_revert('orders', 'id');
--> revert | SELECT pg_catalog.setval('public.orders_id_seq', pg_catalog.max(id)) FROM public.orders HAVING pg_catalog.max(id) OPERATOR(pg_catalog.>=) (SELECT last_value FROM public.orders_id_seq);
--> revert | ALTER TABLE public.orders ALTER COLUMN id SET DEFAULT pg_catalog.nextval('public.orders_id_seq'::pg_catalog.regclass);
SELECT count(*) FROM snowflake_revert('orders', 'id', dry_run => false); --> 2
INSERT INTO orders (item) VALUES ('nib') RETURNING id = (SELECT max(id) + 1 FROM orders); --> t
SELECT snowflake_revert('orders', 'id'); --> ERROR 55000: column id of table public.orders cannot be reverted
--> DETAIL: Its default is not snowflake_nextval().

-- The sequence goes on if its keys are the largest, or were deleted.
CREATE TABLE notes (id bigserial PRIMARY KEY);
INSERT INTO notes DEFAULT VALUES; INSERT INTO notes DEFAULT VALUES; DELETE FROM notes WHERE id = 2;
SELECT count(*) FROM snowflake_convert('notes', dry_run => false);
SELECT count(*) FROM snowflake_revert('notes', 'id', dry_run => false);
INSERT INTO notes DEFAULT VALUES RETURNING id; --> 3
-- One that has never been used begins after a key that somebody else has inserted.
CREATE TABLE marks (id bigserial PRIMARY KEY);
SELECT count(*) FROM snowflake_convert('marks', dry_run => false);
INSERT INTO marks VALUES (1);
SELECT count(*) FROM snowflake_revert('marks', 'id', dry_run => false);
INSERT INTO marks DEFAULT VALUES RETURNING id; --> 2

-- An identity needs no privilege on its sequence, and a default does: those who insert are named.
CREATE ROLE app; CREATE ROLE "Old App"; CREATE TABLE cards (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, word text);
GRANT INSERT, SELECT ON cards TO app; GRANT INSERT (word) ON cards TO "Old App";
SELECT count(*) FROM snowflake_convert('cards', dry_run => false);
SELECT count(*) FROM snowflake_revert('cards', 'id', dry_run => false);
--> WARNING: roles that may insert into table public.cards may not use its sequence
--> DETAIL: An INSERT by "Old App", app fails if it takes the default.
--> HINT: Run GRANT USAGE ON SEQUENCE public.cards_id_seq TO "Old App", app.
--> 2
SET ROLE app; INSERT INTO cards DEFAULT VALUES; --> ERROR 42501
RESET ROLE; GRANT USAGE ON SEQUENCE public.cards_id_seq TO "Old App", app;
SET ROLE app; INSERT INTO cards DEFAULT VALUES RETURNING id; --> 1
RESET ROLE; SELECT count(*) FROM snowflake_convert('cards', dry_run => false);
REVOKE USAGE ON SEQUENCE cards_id_seq FROM app; GRANT USAGE ON SEQUENCE cards_id_seq TO PUBLIC; GRANT INSERT ON cards TO PUBLIC;
SELECT count(*) FROM snowflake_revert('cards', 'id'); --> 2
