-- A partition that is attached later has no default, and partitions of an older table keep its keys.

\set search_path = blog, public
\set snowflake.adopted_schemas = blog

CREATE SCHEMA blog;
-- An identity column would reach such a partition, on 17 and later.
CREATE TABLE parts (id bigint GENERATED ALWAYS AS IDENTITY, at date, PRIMARY KEY (id, at)) PARTITION BY RANGE (at);
CREATE TABLE part (id bigint NOT NULL, at date NOT NULL);
ALTER TABLE parts ATTACH PARTITION part DEFAULT;
INSERT INTO parts (at) VALUES (now());
SELECT data_type, column_default FROM information_schema.columns WHERE (table_name, column_name) = ('parts', 'id');
--> bigint | snowflake_nextval()
INSERT INTO part (at) VALUES (now()); --> ERROR 23502
ALTER TABLE part ALTER COLUMN id SET DEFAULT snowflake_nextval();
INSERT INTO part (at) VALUES (now());

SET snowflake.adopted_schemas = '';
CREATE TABLE older (id bigserial, at date, PRIMARY KEY (id, at)) PARTITION BY RANGE (at);
RESET snowflake.adopted_schemas;
CREATE TABLE its_part PARTITION OF older DEFAULT;
SELECT data_type, column_default FROM information_schema.columns WHERE (table_name, column_name) = ('its_part', 'id');
--> bigint | nextval('older_id_seq'::regclass)
INSERT INTO older (at) VALUES (now());
