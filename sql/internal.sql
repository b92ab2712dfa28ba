-- The extension's tables are in a schema of their own. What reaches all tables of a user's schema,
-- such as GRANT ... ON ALL TABLES or a program that takes them for the application's, does not reach
-- them, and only the script of the extension creates anything here. So this fails where a schema of
-- this name is there already.
CREATE SCHEMA snowflake_internal;
