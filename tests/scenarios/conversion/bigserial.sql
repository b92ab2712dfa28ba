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
