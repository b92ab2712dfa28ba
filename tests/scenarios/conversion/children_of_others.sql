-- A foreign key is created again on the table that it refers to, and on partitions of that, but not on tables
-- that inherit from it: these are not locked.
CREATE ROLE clerk LOGIN; CREATE ROLE shop LOGIN; GRANT CREATE ON SCHEMA public TO clerk, shop;
\as clerk
CREATE TABLE public.papers (id integer PRIMARY KEY); CREATE TABLE public.drafts () INHERITS (public.papers);
GRANT REFERENCES ON public.papers TO shop;
\as shop
CREATE TABLE public.orders (id serial PRIMARY KEY);
CREATE TABLE public.lines (id integer REFERENCES public.orders, FOREIGN KEY (id) REFERENCES public.papers);
BEGIN;
SELECT count(*) FROM snowflake_convert('public.orders', 'id', dry_run => false); --> 5
SELECT DISTINCT relation::regclass::text FROM pg_locks
WHERE pid = pg_backend_pid() AND relation IN ('public.papers'::regclass, 'public.drafts'::regclass);
--> papers
COMMIT;
