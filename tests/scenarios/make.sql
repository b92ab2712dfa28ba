-- An ID of given parts.

-- Known answers.
SELECT snowflake_make('2020-06-03 09:53:38.874+00', 5, 9, 0); --> 1268118639732232192
SELECT snowflake_make('2022-06-28 16:07:40.105+00', 11, 26, 0); --> 1541815603606036480
-- Microseconds are cut.
SELECT snowflake_make('2020-06-03 09:53:38.874999+00', 5, 9, 0); --> 1268118639732232192

-- The ends of every field.
SELECT snowflake_make('2010-11-04 01:42:54.657+00', 0, 0, 0); --> 0
SELECT snowflake_make('2080-07-10 17:30:30.208999+00', 31, 31, 4095); --> 9223372036854775807

-- NULL.
SELECT snowflake_make(NULL, 5, 9, 0) IS NULL AS ts, snowflake_make(now(), NULL, 9, 0) IS NULL AS datacenter,
       snowflake_make(now(), 5, NULL, 0) IS NULL AS worker, snowflake_make(now(), 5, 9, NULL) IS NULL AS sequence;
--> t | t | t | t

-- One past every field.
SELECT errors_of(format('SELECT snowflake_make(%L, 0, 0, 0)', time)) FROM unnest(ARRAY['2010-11-04 01:42:54.656999+00', '2080-07-10 17:30:30.209+00',
    'infinity', '-infinity', '294276-12-31 23:59:59.999999+00', '4713-01-01 00:00:00+00 BC']) AS time;
--> 22003: timestamp 2010-11-04 01:42:54.656999+00 is out of range | The timestamp field holds 2010-11-04 01:42:54.657+00 to 2080-07-10 17:30:30.208+00. | The epoch says where the field begins.
--> 22003: timestamp 2080-07-10 17:30:30.209+00 is out of range | The timestamp field holds 2010-11-04 01:42:54.657+00 to 2080-07-10 17:30:30.208+00. | The epoch says where the field begins.
--> 22003: timestamp infinity is out of range | The timestamp field holds 2010-11-04 01:42:54.657+00 to 2080-07-10 17:30:30.208+00. | The epoch says where the field begins.
--> 22003: timestamp -infinity is out of range | The timestamp field holds 2010-11-04 01:42:54.657+00 to 2080-07-10 17:30:30.208+00. | The epoch says where the field begins.
--> 22003: timestamp 294276-12-31 23:59:59.999999+00 is out of range | The timestamp field holds 2010-11-04 01:42:54.657+00 to 2080-07-10 17:30:30.208+00. | The epoch says where the field begins.
--> 22003: timestamp 4713-01-01 00:00:00+00 BC is out of range | The timestamp field holds 2010-11-04 01:42:54.657+00 to 2080-07-10 17:30:30.208+00. | The epoch says where the field begins.
SELECT errors_of(format('SELECT snowflake_make(%L, %s)', '2020-06-03 09:53:38.874+00', parts))
    FROM unnest(ARRAY['32, 9, 0', '-1, 9, 0', '5, 32, 0', '5, -1, 0', '5, 9, 4096', '5, 9, -1']) AS parts;
--> 22003: datacenter_id 32 is out of range | The valid range is 0 to 31. | datacenter_bits, worker_bits and sequence_bits say how wide each part is.
--> 22003: datacenter_id -1 is out of range | The valid range is 0 to 31. | datacenter_bits, worker_bits and sequence_bits say how wide each part is.
--> 22003: worker_id 32 is out of range | The valid range is 0 to 31. | datacenter_bits, worker_bits and sequence_bits say how wide each part is.
--> 22003: worker_id -1 is out of range | The valid range is 0 to 31. | datacenter_bits, worker_bits and sequence_bits say how wide each part is.
--> 22003: sequence 4096 is out of range | The valid range is 0 to 4095. | datacenter_bits, worker_bits and sequence_bits say how wide each part is.
--> 22003: sequence -1 is out of range | The valid range is 0 to 4095. | datacenter_bits, worker_bits and sequence_bits say how wide each part is.

-- There and back, for 100,000 random IDs.
SELECT count(*) AS changed FROM (
    SELECT (random() * 9223372036854774784)::bigint AS id FROM generate_series(1, 100000)
) AS ids, snowflake_parse(id) AS p (same, ts, datacenter, worker, seq)
WHERE snowflake_make(ts, datacenter, worker, seq) <> id; --> 0
