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
SELECT table_name, data_type, column_default FROM information_schema.columns WHERE table_schema = 'app' ORDER BY 1;
--> after_transaction | bigint | nextval('app.after_transaction_id_seq'::regclass)
--> of_database | bigint | snowflake_nextval()
--> of_other_role | bigint | nextval('app.of_other_role_id_seq'::regclass)
--> of_other_run | bigint | nextval('app.of_other_run_id_seq'::regclass)
--> of_role | bigint | snowflake_nextval()
--> of_run | bigint | snowflake_nextval()
--> of_session | bigint | nextval('app.of_session_id_seq'::regclass)
--> of_transaction | bigint | snowflake_nextval()
--> plain | bigint | nextval('app.plain_id_seq'::regclass)
