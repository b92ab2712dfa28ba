\set VERBOSITY default
SET timezone = 'America/New_York';

-- JSON: the ID as a string, and the time in UTC whatever the session's time zone.
SELECT jsonb_pretty(snowflake_json(1268118639732232192));
SELECT snowflake_json(0), snowflake_json(9223372036854775807);
SELECT snowflake_json(NULL) IS NULL AS nothing;
SELECT snowflake_json(-1);
\echo :LAST_ERROR_SQLSTATE
SELECT count(*) AS changed FROM (
    SELECT id, snowflake_json(id) AS json FROM (SELECT (random() * 9223372036854774784)::bigint AS id FROM generate_series(1, 100000)) AS ids
) AS ids
WHERE (json->>'id')::bigint <> id
   OR snowflake_make((json->>'timestamp')::timestamptz, (json->>'datacenter_id')::int, (json->>'worker_id')::int, (json->>'sequence')::int) <> id
   OR to_timestamp((json->>'unix_ms')::numeric / 1000) <> snowflake_timestamp(id);

-- Base 62.
SELECT snowflake_to_base62(1268118639732232192), snowflake_from_base62('1Vfznn0WLjc');
SELECT snowflake_to_base62(0), snowflake_to_base62(61), snowflake_to_base62(62), snowflake_to_base62(9223372036854775807);
SELECT snowflake_from_base62('00000000000'), snowflake_from_base62('AzL8n0Y58m7');
SELECT snowflake_to_base62(NULL) IS NULL AS to, snowflake_from_base62(NULL) IS NULL AS from;
SELECT count(*) AS changed FROM (SELECT (random() * 9223372036854774784)::bigint AS id FROM generate_series(1, 100000)) AS ids
WHERE snowflake_from_base62(snowflake_to_base62(id)) <> id OR length(snowflake_to_base62(id)) <> 11;
SELECT count(*) AS misplaced FROM (
    SELECT id, lag(id) OVER (ORDER BY snowflake_to_base62(id) COLLATE "C") AS before
    FROM (SELECT (random() * 9223372036854774784)::bigint AS id FROM generate_series(1, 100000)) AS ids
) AS ids WHERE before > id;

-- Malformed text: which character, and where.
SELECT snowflake_to_base62(-1);
\echo :LAST_ERROR_SQLSTATE
SELECT snowflake_from_base62('1Vf-nn0WLjc');
\echo :LAST_ERROR_SQLSTATE
SELECT snowflake_from_base62('1Vfznn0WLjä');
\echo :LAST_ERROR_SQLSTATE
SELECT snowflake_from_base62(' 1Vfznn0WLjc');
\echo :LAST_ERROR_SQLSTATE
SELECT snowflake_from_base62('1Vfznn0WLj');
\echo :LAST_ERROR_SQLSTATE
SELECT snowflake_from_base62('1Vfznn0WLjcc');
\echo :LAST_ERROR_SQLSTATE
SELECT snowflake_from_base62('');
\echo :LAST_ERROR_SQLSTATE
SELECT snowflake_from_base62('AzL8n0Y58m8');
\echo :LAST_ERROR_SQLSTATE

-- Bits and bytes are PostgreSQL's own.
SELECT 1268118639732232192::bit(64), int8send(1268118639732232192);
