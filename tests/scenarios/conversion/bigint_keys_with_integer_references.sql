-- Columns that refer to a bigint key and are narrower become bigint, also if the key takes snowflake IDs
-- already: the next INSERT would fail.
CREATE TABLE users (id bigserial PRIMARY KEY);
CREATE TABLE posts (id bigint PRIMARY KEY DEFAULT snowflake_nextval(), author integer REFERENCES users);
CREATE TABLE likes (post integer REFERENCES posts);
CREATE ROLE other; CREATE TABLE visits (visitor bigint REFERENCES users); ALTER TABLE visits OWNER TO other;
SELECT statement FROM snowflake_convert('users', dry_run => false) WHERE step = 'convert';
--> ALTER TABLE public.posts ALTER COLUMN author SET DATA TYPE bigint;
--> ALTER TABLE public.users ALTER COLUMN id SET DEFAULT public.snowflake_nextval();
SELECT * FROM snowflake_convert('posts', dry_run => false);
--> convert | ALTER TABLE public.likes ALTER COLUMN post SET DATA TYPE bigint;
WITH author AS (INSERT INTO users DEFAULT VALUES RETURNING id),
    post AS (INSERT INTO posts (author) SELECT id FROM author RETURNING id)
    INSERT INTO likes SELECT id FROM post;
