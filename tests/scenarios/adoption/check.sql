-- The check names bigint keys in adopted schemas that take values of a sequence, whoever has the setting.
CREATE SCHEMA blog; CREATE SCHEMA "Old Shop"; CREATE ROLE app;
CREATE VIEW adoption AS SELECT ok, detail, hint FROM snowflake_check() WHERE name = 'adoption';
CREATE TABLE blog.posts (id bigserial PRIMARY KEY); CREATE TABLE blog.tags (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY);
CREATE TABLE blog.narrow (id serial PRIMARY KEY); CREATE TABLE blog.other (id bigint PRIMARY KEY, number bigserial);
CREATE TABLE blog.logs (id bigserial PRIMARY KEY) PARTITION BY HASH (id); CREATE TABLE blog.logs_0 PARTITION OF blog.logs FOR VALUES WITH (MODULUS 1, REMAINDER 0);
CREATE TABLE "Old Shop".orders (id bigserial PRIMARY KEY); CREATE TABLE public.elsewhere (id bigserial PRIMARY KEY);
SELECT * FROM adoption; --> t | No schema is adopted, by the settings of this session and of roles. | NULL
SET snowflake.adopted_schemas = 'other'; SELECT ok FROM adoption; --> t
SET snowflake.adopted_schemas = 'blog'; SELECT * FROM adoption;
--> f | Keys in adopted schemas that take values of a sequence: 3 (blog.logs.id, blog.posts.id, blog.tags.id). | Convert them with snowflake_convert(), or take the schema out of snowflake.adopted_schemas.
RESET snowflake.adopted_schemas;
ALTER ROLE app SET snowflake.adopted_schemas = 'other, "Old Shop"'; SELECT * FROM adoption;
--> f | Keys in adopted schemas that take values of a sequence: 1 ("Old Shop".orders.id). | Convert them with snowflake_convert(), or take the schema out of snowflake.adopted_schemas.
ALTER ROLE app RESET snowflake.adopted_schemas; ALTER DATABASE scenario SET snowflake.adopted_schemas = '*'; SELECT detail FROM adoption;
--> Keys in adopted schemas that take values of a sequence: 5 ("Old Shop".orders.id, blog.logs.id, blog.posts.id, blog.tags.id, public.elsewhere.id).
SELECT run(ARRAY(SELECT snowflake_conversion(schema => 'blog')));
SELECT detail FROM adoption;
--> Keys in adopted schemas that take values of a sequence: 3 ("Old Shop".orders.id, blog.logs.id, public.elsewhere.id).
