-- Without preloading, a setting for a database is there, and tables stay as they are written.

\set shared_preload_libraries =

CREATE SCHEMA blog;
ALTER DATABASE scenario SET snowflake.adopted_schemas = 'blog';
\session of the setting
CREATE TABLE blog.one (id bigserial PRIMARY KEY);

-- Once a function of the extension has loaded the library, the setting is known.
SELECT snowflake_timestamp(1);
CREATE TABLE blog.two (id bigserial PRIMARY KEY);
--> WARNING: keys of new tables were not converted to snowflake IDs
--> DETAIL: snowflake_pg must be loaded via "shared_preload_libraries" to generate IDs.
SELECT table_name, data_type, column_default FROM information_schema.columns WHERE table_schema = 'blog' ORDER BY 1;
--> one | bigint | nextval('blog.one_id_seq'::regclass)
--> two | bigint | nextval('blog.two_id_seq'::regclass)
INSERT INTO blog.one DEFAULT VALUES;
INSERT INTO blog.two DEFAULT VALUES;
