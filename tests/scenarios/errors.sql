-- Errors say what they are about, and show no backtrace.

SELECT snowflake_parse(-1);
--> ERROR 22023: a snowflake ID is never negative
--> DETAIL: The value is -1.
SELECT snowflake_set_floor('infinity');
--> ERROR 22003: timestamp infinity is out of range
--> DETAIL: The timestamp field holds 2010-11-04 01:42:54.657+00 to 2080-07-10 17:30:30.208+00.
CREATE FUNCTION raised(statement text) RETURNS TABLE (state text, message text, detail text, hint text, names text[], context text) LANGUAGE plpgsql AS $$
DECLARE s text; t text; c text; d text; n text;
BEGIN
    EXECUTE statement;
EXCEPTION WHEN OTHERS OR query_canceled THEN
    GET STACKED DIAGNOSTICS state = RETURNED_SQLSTATE, message = MESSAGE_TEXT, detail = PG_EXCEPTION_DETAIL, hint = PG_EXCEPTION_HINT,
        context = PG_EXCEPTION_CONTEXT, s = SCHEMA_NAME, t = TABLE_NAME, c = COLUMN_NAME, d = PG_DATATYPE_NAME, n = CONSTRAINT_NAME;
    names := ARRAY[s, t, c, d, n];
    RETURN NEXT;
END $$;
SELECT detail FROM raised('SELECT snowflake_currval()'); -->

-- An error of PostgreSQL's own, raised while the extension calls it.
SET statement_timeout = '100ms';
SELECT state, detail FROM raised('SELECT count(*) FROM (SELECT snowflake_nextval(2000000000)) AS ids'); --> 57014 |
RESET statement_timeout;

-- An error leaves nothing behind for the next one.
SELECT names, context FROM raised('SELECT snowflake_from_base62(''?'')');
--> {"","","","",""} | SQL statement "SELECT snowflake_from_base62('?')"\nPL/pgSQL function raised(text) line 4 at EXECUTE
SELECT user; --> postgres

-- Whoever changes the type that the extension returns is told so.
CREATE FUNCTION parse() RETURNS SETOF text BEGIN ATOMIC
    SELECT state || ': ' || message FROM unnest(ARRAY['SELECT snowflake_parse(1268118639732232192)::text',
        'SELECT * FROM snowflake_parse(1)', 'SELECT (snowflake_parse(1, ''2015-01-01+00'')).id']) AS query, raised(query); END;
ALTER TYPE snowflake_parts ADD ATTRIBUTE t text;
SELECT count(*), parse() GROUP BY 2; --> 3 | 42804: type snowflake_parts is not what the extension created
ALTER TYPE snowflake_parts DROP ATTRIBUTE t;
SELECT snowflake_parse(1268118639732232192); --> (1268118639732232192,"2020-06-03 09:53:38.874+00",5,9,0)
ALTER TYPE snowflake_parts DROP ATTRIBUTE sequence;
SELECT count(*), parse() GROUP BY 2; --> 3 | 42804: type snowflake_parts is not what the extension created
ALTER TYPE snowflake_parts ADD ATTRIBUTE sequence integer;
SELECT snowflake_parse(1268118639732232192); --> (1268118639732232192,"2020-06-03 09:53:38.874+00",5,9,0)
ALTER TYPE snowflake_parts ALTER ATTRIBUTE worker_id TYPE text;
SELECT count(*), parse() GROUP BY 2; --> 3 | 42804: type snowflake_parts is not what the extension created
ALTER TYPE snowflake_parts ALTER ATTRIBUTE worker_id TYPE integer;
SELECT snowflake_parse(1268118639732232192); --> (1268118639732232192,"2020-06-03 09:53:38.874+00",5,9,0)
ALTER TYPE snowflake_parts ALTER ATTRIBUTE worker_id TYPE bigint;
SELECT count(*), parse() GROUP BY 2; --> 3 | 42804: type snowflake_parts is not what the extension created
ALTER TYPE snowflake_parts ALTER ATTRIBUTE worker_id TYPE integer;
SELECT snowflake_parse(1268118639732232192); --> (1268118639732232192,"2020-06-03 09:53:38.874+00",5,9,0)
