-- From 0.2.0 to 0.3.0 of the extension of snowflake_pg.
CREATE FUNCTION snowflake_to_public(id bigint, prefix text DEFAULT '') RETURNS text
    LANGUAGE c STABLE PARALLEL SAFE AS 'MODULE_PATHNAME', 'snowflake_to_public_wrapper';
CREATE FUNCTION snowflake_from_public(public text, prefix text DEFAULT '') RETURNS bigint
    LANGUAGE c STABLE PARALLEL SAFE AS 'MODULE_PATHNAME', 'snowflake_from_public_wrapper';
COMMENT ON FUNCTION snowflake_to_public(bigint, text)
    IS 'name of a snowflake ID that tells nothing of it';
COMMENT ON FUNCTION snowflake_from_public(text, text)
    IS 'snowflake ID of a name that snowflake_to_public() made';
