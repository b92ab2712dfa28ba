COMMENT ON FUNCTION snowflake_convert(
    regclass, name, boolean, text, boolean, boolean, regnamespace, regprocedure[], text[])
    IS 'makes columns take snowflake IDs';
COMMENT ON FUNCTION snowflake_convert_report(regclass, name, regnamespace)
    IS 'what a conversion would run into, change and lock';
COMMENT ON FUNCTION snowflake_convert_execute(text[], regrole)
    IS 'executes statements of a conversion as the role that owns what they change';
COMMENT ON FUNCTION snowflake_revert(regclass, name, boolean)
    IS 'makes a column of snowflake IDs take values of a sequence';
COMMENT ON FUNCTION snowflake_key_usage() IS 'how far columns that take values of a sequence are used up';
COMMENT ON VIEW snowflake_key_usage IS 'how far columns that take values of a sequence are used up';
COMMENT ON FUNCTION snowflake_widen_next(regclass, text, bigint, text[], name[], text[])
    IS 'the next statement that makes an integer key bigint while the application writes';
COMMENT ON FUNCTION snowflake_widen_copy() IS 'copies columns that are widened to their shadows';
COMMENT ON FUNCTION snowflake_widen_guard(regclass, bigint, text[], name[], text[])
    IS 'lets the statement of a swap go on only if nothing has changed since it was made';
COMMENT ON FUNCTION snowflake_widen_report(regclass, text[], name[], text[])
    IS 'what widening a key would run into, change and lock';
