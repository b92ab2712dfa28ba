CREATE VIEW snowflake_key_usage AS SELECT * FROM snowflake_key_usage();

-- What the catalog says anybody may see. Of sequences that a role may not read, it sees no value.
GRANT SELECT ON snowflake_key_usage TO PUBLIC;
