-- Tables without a new key that takes values of a sequence are left alone, without a message.

\set search_path = blog, public
\set snowflake.adopted_schemas = blog

CREATE SCHEMA blog;
CREATE TABLE public.elsewhere (id bigserial PRIMARY KEY);
CREATE TEMPORARY TABLE temporary (id bigserial PRIMARY KEY);
CREATE TABLE copied AS SELECT 1::bigint AS id;
SELECT 1::bigint AS id INTO selected;
CREATE TABLE own (id bigint PRIMARY KEY DEFAULT 7);
CREATE TABLE none (id bigint PRIMARY KEY);
CREATE TABLE uuids (id uuid PRIMARY KEY DEFAULT gen_random_uuid());
CREATE TABLE other (id bigint PRIMARY KEY, number bigserial);
CREATE TABLE included (id bigserial, key bigint, PRIMARY KEY (key) INCLUDE (id));
CREATE TABLE shares (id bigserial PRIMARY KEY REFERENCES own);
CREATE TABLE unnamed (id bigserial);
CREATE TABLE renamed (id bigint PRIMARY KEY);
ALTER TABLE renamed RENAME TO renamed_again;
ALTER TABLE renamed_again ADD CHECK (id > 0), ALTER COLUMN id SET DEFAULT 3;
ALTER TABLE renamed_again ADD COLUMN more bigserial, ALTER COLUMN more SET STATISTICS 50;
CREATE TABLE public.moved (id bigserial PRIMARY KEY); ALTER TABLE public.moved SET SCHEMA blog;

-- A restore of a dump keeps the keys of the dump.
SET check_function_bodies = false;
CREATE TABLE blog.old (id bigint NOT NULL, other bigint NOT NULL);
CREATE SEQUENCE blog.old_id_seq START WITH 1 INCREMENT BY 1 NO MINVALUE NO MAXVALUE CACHE 1;
ALTER SEQUENCE blog.old_id_seq OWNED BY blog.old.id;
ALTER TABLE ONLY blog.old ALTER COLUMN id SET DEFAULT nextval('blog.old_id_seq'::regclass);
ALTER TABLE blog.old ALTER COLUMN other ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME blog.old_other_seq START WITH 1 INCREMENT BY 1 NO MINVALUE NO MAXVALUE CACHE 1);
ALTER TABLE ONLY blog.old ADD CONSTRAINT old_pkey PRIMARY KEY (id);
RESET check_function_bodies;

-- Replicas create what their origin has.
SET session_replication_role = replica;
CREATE TABLE replicated (id bigserial PRIMARY KEY, r integer REFERENCES replicated);
RESET session_replication_role;

SELECT column_name, data_type, replace(column_default, table_name, 'T'), string_agg(table_name, ' ' ORDER BY table_name) FROM information_schema.columns
    WHERE column_name IN ('id', 'number', 'more') AND (table_schema IN ('blog', 'public') OR table_schema LIKE 'pg_temp%')
    AND table_name NOT LIKE '%snowflake%' GROUP BY 1, 2, 3 ORDER BY 4;
--> id | bigint | NULL | copied none other selected
--> id | bigint | nextval('T_id_seq'::regclass) | elsewhere included moved old replicated shares temporary unnamed
--> number | bigint | nextval('T_number_seq'::regclass) | other
--> id | bigint | 7 | own
--> id | bigint | 3 | renamed_again
--> more | bigint | nextval('T_more_seq'::regclass) | renamed_again
--> id | uuid | gen_random_uuid() | uuids

-- An existing key is given a sequence, as a way back does.
CREATE TABLE blog.given (id bigint PRIMARY KEY, other bigserial); ALTER TABLE blog.given ALTER id ADD GENERATED ALWAYS AS IDENTITY;
CREATE TABLE blog.back (id bigserial PRIMARY KEY); ALTER TABLE blog.back ALTER id SET DEFAULT nextval('blog.back_id_seq');
INSERT INTO blog.given DEFAULT VALUES RETURNING id; --> 1
INSERT INTO blog.back DEFAULT VALUES RETURNING id; --> 1
