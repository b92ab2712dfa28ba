-- The setting is for a run of migrations, a role, a database or a transaction.

CREATE ROLE migrator LOGIN;
CREATE SCHEMA app AUTHORIZATION migrator;
\as migrator
CREATE TABLE app.plain (id bigserial PRIMARY KEY);
\options -c snowflake.adopted_schemas=app
CREATE TABLE app.of_run (id bigserial PRIMARY KEY);
\options
\as postgres
ALTER ROLE migrator SET snowflake.adopted_schemas = 'app';
\session of the role
CREATE TABLE app.of_other_role (id bigserial PRIMARY KEY);
\as migrator
CREATE TABLE app.of_role (id bigserial PRIMARY KEY);
\as postgres
ALTER DATABASE scenario SET snowflake.adopted_schemas = 'app';
\session of the database
CREATE TABLE app.of_database (id bigserial PRIMARY KEY);
\options -c snowflake.adopted_schemas=
CREATE TABLE app.of_other_run (id bigserial PRIMARY KEY);
\options

-- Anybody sets it for himself, also within a transaction.
\as migrator
ALTER ROLE migrator SET snowflake.adopted_schemas = '';
SET snowflake.adopted_schemas = '';
CREATE TABLE app.of_session (id bigserial PRIMARY KEY);
BEGIN;
SET LOCAL snowflake.adopted_schemas = app;
CREATE TABLE app.of_transaction (id bigserial PRIMARY KEY);
COMMIT;
CREATE TABLE app.after_transaction (id bigserial PRIMARY KEY);

\as postgres
SELECT data_type, replace(column_default, table_name, 'T'), is_identity, string_agg(table_name, ' ' ORDER BY table_name) FROM information_schema.columns
    WHERE table_schema = 'app' GROUP BY 1, 2, 3 ORDER BY 4;
--> bigint | nextval('app.T_id_seq'::regclass) | NO | after_transaction of_other_role of_other_run of_session plain
--> bigint | snowflake_nextval() | NO | of_database of_role of_run of_transaction
