-- The extension is called snowflake where it was installed by make install, snowflake_pg under cargo pgrx.
SELECT name AS extension FROM pg_available_extensions
    WHERE name IN ('snowflake', 'snowflake_pg') ORDER BY name LIMIT 1 \gset
CREATE EXTENSION :"extension";
-- The first ID of a cluster creates the register, with a warning that tells the time.
SET client_min_messages = error;
SELECT snowflake_nextval() > 0 AS first;
