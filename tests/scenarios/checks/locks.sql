-- Whoever cancels a check that waits, or limits its time, wants it to end. An error that ends the wait for a lock alone is one of its row.

\session holder
BEGIN; LOCK TABLE snowflake_internal.snowflake_layout;
\session
SET statement_timeout = '1s';
SELECT FROM snowflake_check(); --> ERROR 57014
SET lock_timeout = '100ms';
SELECT name, ok, detail FROM snowflake_check() WHERE name IN ('layout of the database', 'issues IDs') ORDER BY name;
--> issues IDs | t | This server issues IDs.
--> layout of the database | f | Not checked, because of an error: canceling statement due to lock timeout.
