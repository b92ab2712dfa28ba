-- The extension's tables are in a schema of their own, so that GRANT ... ON ALL TABLES, or a
-- program that changes all tables of a user's schema, leaves them alone. Nobody else can have
-- created objects in it, so CREATE SCHEMA has no IF NOT EXISTS.
CREATE SCHEMA snowflake_internal;
