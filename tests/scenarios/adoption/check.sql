-- The check says how many keys adopted schemas have and how many take IDs, and names those that take values of a sequence.
CREATE SCHEMA blog; CREATE ROLE app; CREATE ROLE migrator IN ROLE app; CREATE ROLE plain; CREATE SCHEMA "Old Shop" AUTHORIZATION app; CREATE SCHEMA plain AUTHORIZATION plain;
GRANT CREATE ON SCHEMA "Old Shop" TO migrator, plain;
CREATE VIEW adoption AS SELECT ok, detail, hint FROM snowflake_check() WHERE name = 'adoption';
CREATE TABLE blog.posts (id bigserial PRIMARY KEY); CREATE TABLE blog.tags (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY);
CREATE TABLE blog.narrow (id serial PRIMARY KEY); CREATE TABLE blog.other (id bigint PRIMARY KEY, number bigserial);
CREATE TABLE blog.logs (id bigserial PRIMARY KEY) PARTITION BY HASH (id); CREATE TABLE blog.logs_0 PARTITION OF blog.logs FOR VALUES WITH (MODULUS 1, REMAINDER 0);
CREATE TABLE blog.by_name (id bigint PRIMARY KEY DEFAULT nextval('blog.posts_id_seq'::text));
CREATE TABLE "Old Shop".orders (id bigserial PRIMARY KEY); ALTER TABLE "Old Shop".orders OWNER TO app; CREATE TABLE public.elsewhere (id bigserial PRIMARY KEY);
SELECT * FROM adoption;
--> t | No schema is adopted, by the settings of this session and of roles that create tables. | NULL
SET snowflake.adopted_schemas = 'plain'; SELECT * FROM adoption;
--> t | Keys in adopted schemas: 0, with snowflake IDs: 0, not bigint: 0. | NULL
SET snowflake.adopted_schemas = 'blog'; SELECT * FROM adoption;
--> f | Keys in adopted schemas: 5, with snowflake IDs: 0, not bigint: 1. Keys that take values of a sequence: 4 (blog.by_name.id, blog.logs.id, blog.posts.id, blog.tags.id), by the setting of this session. | Execute what snowflake_conversion() prints for the keys, or take the schema out of snowflake.adopted_schemas.
RESET snowflake.adopted_schemas;

-- The setting of a role counts for what the role could create, and is named.
ALTER ROLE migrator SET snowflake.adopted_schemas = 'plain, "Old Shop"'; SELECT * FROM adoption;
--> f | Keys in adopted schemas: 1, with snowflake IDs: 0, not bigint: 0. Keys that take values of a sequence: 1 ("Old Shop".orders.id), by the setting of role migrator. | Execute what snowflake_conversion() prints for the keys, or take the schema out of snowflake.adopted_schemas.
ALTER ROLE plain SET snowflake.adopted_schemas = '"Old Shop", blog'; SELECT detail FROM adoption;
--> Keys in adopted schemas: 1, with snowflake IDs: 0, not bigint: 0. Keys that take values of a sequence: 1 ("Old Shop".orders.id), by the setting of role migrator.
ALTER ROLE migrator RESET snowflake.adopted_schemas; SELECT * FROM adoption;
--> t | Keys in adopted schemas: 0, with snowflake IDs: 0, not bigint: 0. | NULL
ALTER ROLE plain SET snowflake.adopted_schemas = '*'; SET ROLE plain; CREATE TABLE plain.mine (id bigserial PRIMARY KEY); RESET ROLE; SELECT detail FROM adoption;
--> Keys in adopted schemas: 1, with snowflake IDs: 0, not bigint: 0. Keys that take values of a sequence: 1 (plain.mine.id), by the setting of role plain.
DROP TABLE plain.mine; ALTER ROLE plain RESET snowflake.adopted_schemas;

-- A name that is misspelt fails, unless the role creates nothing here.
SET snowflake.adopted_schemas = 'pulbic'; SELECT * FROM adoption;
--> f | Keys in adopted schemas: 0, with snowflake IDs: 0, not bigint: 0. Schemas that do not exist: pulbic (this session). | Correct the name, or set it for the database that has the schema.
RESET snowflake.adopted_schemas; ALTER ROLE migrator IN DATABASE scenario SET snowflake.adopted_schemas = '"Old Shop", pulbic'; SELECT * FROM adoption;
--> f | Keys in adopted schemas: 1, with snowflake IDs: 0, not bigint: 0. Keys that take values of a sequence: 1 ("Old Shop".orders.id), by the setting of role migrator. Schemas that do not exist: pulbic (role migrator). | Execute what snowflake_conversion() prints for the keys, or take the schema out of snowflake.adopted_schemas. Correct the name, or set it for the database that has the schema.
ALTER ROLE migrator IN DATABASE scenario RESET ALL; CREATE ROLE nobody; ALTER ROLE nobody SET snowflake.adopted_schemas = 'pulbic, *'; SELECT * FROM adoption;
--> t | No schema is adopted, by the settings of this session and of roles that create tables. | NULL

-- A foreign key that is narrower than the adopted key fails, wherever it is.
SET snowflake.adopted_schemas = 'blog'; CREATE TABLE blog.users (id bigserial PRIMARY KEY); CREATE DOMAIN number AS integer; CREATE DOMAIN of_number AS number;
CREATE TABLE plain.writers (who of_number REFERENCES blog.users, other bigint REFERENCES blog.users);
--> WARNING: column who of table plain.writers cannot hold the snowflake IDs that it refers to
CREATE TABLE blog.dated (at date, "By" smallint REFERENCES blog.users) PARTITION BY LIST (at); CREATE TABLE blog.dated_1 PARTITION OF blog.dated DEFAULT;
--> WARNING: column "By" of table blog.dated cannot hold the snowflake IDs that it refers to
SELECT * FROM adoption;
--> f | Keys in adopted schemas: 6, with snowflake IDs: 1, not bigint: 1. Keys that take values of a sequence: 4 (blog.by_name.id, blog.logs.id, blog.posts.id, blog.tags.id), by the setting of this session. Columns that cannot hold the IDs: 2 (blog.dated."By", plain.writers.who), by the setting of this session. | Execute what snowflake_conversion() prints for the keys, or take the schema out of snowflake.adopted_schemas. Make the columns bigint.
ALTER TABLE plain.writers ALTER who TYPE bigint; ALTER TABLE blog.dated ALTER "By" TYPE bigint; ALTER TABLE blog.users ALTER id TYPE integer;
--> WARNING: column id of table blog.users cannot hold the snowflake IDs that it takes
SELECT detail FROM adoption;
--> Keys in adopted schemas: 6, with snowflake IDs: 1, not bigint: 1. Keys that take values of a sequence: 4 (blog.by_name.id, blog.logs.id, blog.posts.id, blog.tags.id), by the setting of this session. Columns that cannot hold the IDs: 1 (blog.users.id), by the setting of this session.
DROP TABLE blog.users CASCADE; --> NOTICE: drop cascades to 3 other objects
RESET snowflake.adopted_schemas; ALTER DATABASE scenario SET snowflake.adopted_schemas = '*'; SELECT detail FROM adoption;
--> Keys in adopted schemas: 7, with snowflake IDs: 0, not bigint: 1. Keys that take values of a sequence: 6 ("Old Shop".orders.id, blog.by_name.id, blog.logs.id, blog.posts.id, blog.tags.id, ...), by the setting of the database.
ALTER ROLE ALL SET snowflake.adopted_schemas = 'blog'; SELECT detail FROM adoption;
--> Keys in adopted schemas: 7, with snowflake IDs: 0, not bigint: 1. Keys that take values of a sequence: 6 ("Old Shop".orders.id, blog.by_name.id, blog.logs.id, blog.posts.id, blog.tags.id, ...), by the setting of all roles and the database.
ALTER ROLE ALL RESET snowflake.adopted_schemas;
