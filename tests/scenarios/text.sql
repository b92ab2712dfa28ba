-- IDs as JSON and as text.

SET timezone = 'America/New_York';

-- JSON: the ID as a string, and the time in UTC whatever the session's time zone.
SELECT jsonb_pretty(snowflake_json(1268118639732232192));
--> {\n    "id": "1268118639732232192",\n    "unix_ms": 1591178018874,\n    "sequence": 0,\n    "timestamp": "2020-06-03T09:53:38.874Z",\n    "worker_id": 9,\n    "datacenter_id": 5\n}
SELECT snowflake_json(0), snowflake_json(9223372036854775807);
--> {"id": "0", "unix_ms": 1288834974657, "sequence": 0, "timestamp": "2010-11-04T01:42:54.657Z", "worker_id": 0, "datacenter_id": 0} | {"id": "9223372036854775807", "unix_ms": 3487858230208, "sequence": 4095, "timestamp": "2080-07-10T17:30:30.208Z", "worker_id": 31, "datacenter_id": 31}
SELECT snowflake_json(NULL) IS NULL AS nothing; --> t
SELECT snowflake_json(-1);
--> ERROR 22023: a snowflake ID is never negative
--> DETAIL: The value is -1.
SELECT count(*) AS changed FROM (
    SELECT id, snowflake_json(id) AS json FROM (SELECT (random() * 9223372036854774784)::bigint AS id FROM generate_series(1, 100000)) AS ids OFFSET 0
) AS ids
WHERE (json->>'id')::bigint <> id
   OR snowflake_make((json->>'timestamp')::timestamptz, (json->>'datacenter_id')::int, (json->>'worker_id')::int, (json->>'sequence')::int) <> id
   OR to_timestamp((json->>'unix_ms')::numeric / 1000) <> snowflake_timestamp(id); --> 0

-- Base 62.
SELECT snowflake_to_base62(1268118639732232192), snowflake_from_base62('1Vfznn0WLjc');
--> 1Vfznn0WLjc | 1268118639732232192
SELECT snowflake_to_base62(0), snowflake_to_base62(61), snowflake_to_base62(62), snowflake_to_base62(9223372036854775807);
--> 00000000000 | 0000000000z | 00000000010 | AzL8n0Y58m7
SELECT snowflake_from_base62('00000000000'), snowflake_from_base62('AzL8n0Y58m7'); --> 0 | 9223372036854775807
SELECT snowflake_to_base62(NULL) IS NULL AS to, snowflake_from_base62(NULL) IS NULL AS from; --> t | t
SELECT count(*) AS changed FROM (SELECT (random() * 9223372036854774784)::bigint AS id FROM generate_series(1, 100000)) AS ids
WHERE snowflake_from_base62(snowflake_to_base62(id)) <> id OR length(snowflake_to_base62(id)) <> 11; --> 0
SELECT count(*) AS misplaced FROM (
    SELECT id, lag(id) OVER (ORDER BY snowflake_to_base62(id) COLLATE "C") AS before
    FROM (SELECT (random() * 9223372036854774784)::bigint AS id FROM generate_series(1, 100000)) AS ids
) AS ids WHERE before > id; --> 0

-- Malformed text: which character, and where. A text that no memory might be left for is not looked at.
SELECT snowflake_from_base62(repeat('x', 65537));
--> ERROR 54000: a text of 65537 bytes is too long
--> DETAIL: No valid value has more than 65536 bytes.
SELECT snowflake_to_base62(-1);
--> ERROR 22023: a snowflake ID is never negative
--> DETAIL: The value is -1.
SELECT errors_of(format('SELECT snowflake_from_base62(%L)', text))
    FROM unnest(ARRAY['1Vf-nn0WLjc', '1Vfznn0WLjä', ' 1Vfznn0WLjc', '1Vfznn0WLj', '1Vfznn0WLjcc', '', 'AzL8n0Y58m8']) AS text;
--> 22P02: invalid base 62 text for a snowflake ID: "1Vf-nn0WLjc" | The value is not valid: "-" at position 4 is not a base 62 digit. | The text of an ID is 11 characters of 0-9, A-Z and a-z, as snowflake_to_base62() writes it.
--> 22P02: invalid base 62 text for a snowflake ID: "1Vfznn0WLjä" | The value is not valid: "ä" at position 11 is not a base 62 digit. | The text of an ID is 11 characters of 0-9, A-Z and a-z, as snowflake_to_base62() writes it.
--> 22P02: invalid base 62 text for a snowflake ID: " 1Vfznn0WLjc" | The value is not valid: " " at position 1 is not a base 62 digit. | The text of an ID is 11 characters of 0-9, A-Z and a-z, as snowflake_to_base62() writes it.
--> 22P02: invalid base 62 text for a snowflake ID: "1Vfznn0WLj" | The value is not valid: it has 10 characters instead of 11. | The text of an ID is 11 characters of 0-9, A-Z and a-z, as snowflake_to_base62() writes it.
--> 22P02: invalid base 62 text for a snowflake ID: "1Vfznn0WLjcc" | The value is not valid: it has 12 characters instead of 11. | The text of an ID is 11 characters of 0-9, A-Z and a-z, as snowflake_to_base62() writes it.
--> 22P02: invalid base 62 text for a snowflake ID: "" | The value is not valid: it has 0 characters instead of 11. | The text of an ID is 11 characters of 0-9, A-Z and a-z, as snowflake_to_base62() writes it.
--> 22003: base 62 text "AzL8n0Y58m8" is out of range for a snowflake ID | The value is not valid: it is more than 9223372036854775807.

-- Bits and bytes are PostgreSQL's own.
SELECT 1268118639732232192::bit(64), int8send(1268118639732232192);
--> 0001000110011001010000110010111100011110010010101001000000000000 | \x1199432f1e4a9000
