-- A narrow column that refers to a key that is a snowflake ID stays, with a warning that says how to mend it.

\set search_path = blog, public
\set snowflake.adopted_schemas = blog

CREATE SCHEMA blog;
CREATE SCHEMA other;
CREATE TABLE users (id bigserial PRIMARY KEY, name text); INSERT INTO users (name) VALUES ('Ada');
CREATE TABLE wide (author bigint REFERENCES users);
ALTER TABLE wide ADD COLUMN more integer;
CREATE TABLE later (author integer); CREATE TABLE other.later (author integer); CREATE TABLE added (a text);
CREATE TABLE posts (author integer REFERENCES users);
--> WARNING: column author of table blog.posts cannot hold the snowflake IDs that it refers to
--> DETAIL: It is of type integer. An INSERT that refers to a new row of blog.users fails, because the ID is out of range.
--> HINT: Run ALTER TABLE blog.posts ALTER COLUMN author TYPE bigint.
CREATE TABLE other.posts (author smallint REFERENCES users);
--> WARNING: column author of table other.posts cannot hold the snowflake IDs that it refers to
--> DETAIL: It is of type smallint. An INSERT that refers to a new row of blog.users fails, because the ID is out of range.
--> HINT: Run ALTER TABLE other.posts ALTER COLUMN author TYPE bigint.
ALTER TABLE later ADD FOREIGN KEY (author) REFERENCES users;
--> WARNING: column author of table blog.later cannot hold the snowflake IDs that it refers to
--> HINT: Run ALTER TABLE blog.later ALTER COLUMN author TYPE bigint.
ALTER TABLE other.later ADD FOREIGN KEY (author) REFERENCES users NOT VALID;
--> WARNING: column author of table other.later cannot hold the snowflake IDs that it refers to
--> HINT: Run ALTER TABLE other.later ALTER COLUMN author TYPE bigint.
ALTER TABLE added ADD COLUMN author integer REFERENCES users;
--> WARNING: column author of table blog.added cannot hold the snowflake IDs that it refers to
--> HINT: Run ALTER TABLE blog.added ALTER COLUMN author TYPE bigint.
DO $$ BEGIN CREATE TABLE in_do (author integer, FOREIGN KEY (author) REFERENCES users); END $$;
--> WARNING: column author of table blog.in_do cannot hold the snowflake IDs that it refers to
--> HINT: Run ALTER TABLE blog.in_do ALTER COLUMN author TYPE bigint.
SELECT data_type, string_agg(concat(table_schema, '.', table_name), ', ' ORDER BY table_schema, table_name) FROM information_schema.columns WHERE column_name = 'author' GROUP BY 1 ORDER BY 1;
--> bigint | blog.wide
--> integer | blog.added, blog.in_do, blog.later, blog.posts, other.later
--> smallint | other.posts

-- Each refuses the ID of a new row, and accepts it after what the hint says.
CREATE VIEW narrow AS SELECT unnest(ARRAY['posts', 'other.posts', 'later', 'other.later', 'added', 'in_do']) AS relation;
SELECT count(*), left(errors_of(format('INSERT INTO %s (author) SELECT id FROM users', relation)), 5) FROM narrow GROUP BY 2; --> 6 | 22003
SELECT count(*), errors_of(format(E'ALTER TABLE %1$s ALTER COLUMN author TYPE bigint\nINSERT INTO %1$s (author) SELECT id FROM users', relation)) FROM narrow GROUP BY 2;
--> 12 | nothing

-- A column that a partition inherits is changed where it comes from.
CREATE TABLE dated (author integer, at date) PARTITION BY RANGE (at);
CREATE TABLE part PARTITION OF dated DEFAULT;
ALTER TABLE part ADD FOREIGN KEY (author) REFERENCES users;
--> WARNING: column author of table blog.part cannot hold the snowflake IDs that it refers to
--> HINT: Run ALTER TABLE blog.dated ALTER COLUMN author TYPE bigint.
ALTER TABLE dated ADD FOREIGN KEY (author) REFERENCES users;
--> WARNING: column author of table blog.dated cannot hold the snowflake IDs that it refers to
--> HINT: Run ALTER TABLE blog.dated ALTER COLUMN author TYPE bigint.
ALTER TABLE blog.dated ALTER COLUMN author TYPE bigint;

-- The key is looked at as it is after the statement, also of a table that refers to itself, and with several columns.
CREATE TABLE tree (id bigserial PRIMARY KEY, parent integer REFERENCES tree);
--> WARNING: column parent of table blog.tree cannot hold the snowflake IDs that it refers to
--> DETAIL: It is of type integer. An INSERT that refers to a new row of blog.tree fails, because the ID is out of range.
--> HINT: Run ALTER TABLE blog.tree ALTER COLUMN parent TYPE bigint.
CREATE TABLE pairs (id bigserial, part integer, PRIMARY KEY (part, id));
CREATE TABLE of_pairs (a integer, b integer, FOREIGN KEY (a, b) REFERENCES pairs);
--> WARNING: column b of table blog.of_pairs cannot hold the snowflake IDs that it refers to
--> DETAIL: It is of type integer. An INSERT that refers to a new row of blog.pairs fails, because the ID is out of range.
--> HINT: Run ALTER TABLE blog.of_pairs ALTER COLUMN b TYPE bigint.

-- Nothing is said of references to other keys, or where no schema is adopted.
CREATE TABLE public.countries (id bigserial PRIMARY KEY);
CREATE TABLE cities (name text, country integer REFERENCES public.countries);
CREATE FUNCTION public.snowflake_nextval(text) RETURNS bigint LANGUAGE sql AS 'SELECT 1::bigint';
CREATE TABLE public.theirs (id bigint PRIMARY KEY DEFAULT public.snowflake_nextval(''));
CREATE TABLE more (country integer REFERENCES public.theirs);
CREATE TABLE ours (id bigserial PRIMARY KEY);
SET snowflake.adopted_schemas = '';
CREATE TABLE silent (our integer REFERENCES ours);

-- References to a key before it is adopted, domains, and a key that becomes narrower.
SET snowflake.adopted_schemas = 'blog';
CREATE DOMAIN public.number AS integer; CREATE DOMAIN public.of_number AS public.number;
CREATE TABLE of_domain (author public.of_number REFERENCES users);
--> WARNING: column author of table blog.of_domain cannot hold the snowflake IDs that it refers to
CREATE TABLE late (id bigserial UNIQUE); CREATE TABLE of_late (late integer REFERENCES late (id), again integer REFERENCES users);
--> WARNING: column again of table blog.of_late cannot hold the snowflake IDs that it refers to
ALTER TABLE late ADD PRIMARY KEY (id);
--> WARNING: column late of table blog.of_late cannot hold the snowflake IDs that it refers to
CREATE TABLE widened (id serial PRIMARY KEY); CREATE TABLE of_widened (a integer REFERENCES widened, b integer REFERENCES users);
--> NOTICE: not all new keys were converted to snowflake IDs
--> WARNING: column b of table blog.of_widened cannot hold the snowflake IDs that it refers to
ALTER TABLE widened ALTER id TYPE bigint;
--> WARNING: column a of table blog.of_widened cannot hold the snowflake IDs that it refers to
ALTER TABLE wide ALTER author TYPE integer USING 1;
--> WARNING: column author of table blog.wide cannot hold the snowflake IDs that it refers to
CREATE TABLE narrowed (id bigserial PRIMARY KEY); ALTER TABLE narrowed ALTER id TYPE integer;
--> WARNING: column id of table blog.narrowed cannot hold the snowflake IDs that it takes
INSERT INTO narrowed DEFAULT VALUES; --> ERROR 22003
ALTER TABLE narrowed ALTER id TYPE bigint; INSERT INTO narrowed DEFAULT VALUES;
ALTER TABLE narrowed ADD COLUMN other integer DEFAULT public.snowflake_nextval(), ALTER id SET STATISTICS 10;
--> ERROR 22003
TRUNCATE narrowed; ALTER TABLE narrowed ADD COLUMN other integer DEFAULT public.snowflake_nextval(), ALTER id SET STATISTICS 10;
--> WARNING: column other of table blog.narrowed cannot hold the snowflake IDs that it takes
