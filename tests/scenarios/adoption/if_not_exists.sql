-- IF NOT EXISTS over a table or a column changes nothing.

\set search_path = blog, public

CREATE SCHEMA blog;
CREATE TABLE old (id bigserial PRIMARY KEY);
SET snowflake.adopted_schemas = 'blog';
CREATE TABLE IF NOT EXISTS old (id bigserial PRIMARY KEY); --> NOTICE: relation "old" already exists, skipping
ALTER TABLE old ADD COLUMN IF NOT EXISTS id bigserial; --> NOTICE: column "id" ... already exists, skipping
SELECT data_type, column_default FROM information_schema.columns WHERE table_name = 'old';
--> bigint | nextval('old_id_seq'::regclass)
