-- IDs of other systems, by their epoch and widths.

-- Discord: its own epoch, and Twitter's widths.
SELECT * FROM snowflake_parse(175928847299117063, '2015-01-01+00');
--> 175928847299117063 | 2016-04-30 11:18:25.796+00 | 1 | 0 | 7
SELECT snowflake_timestamp(175928847299117063, '2015-01-01+00'); --> 2016-04-30 11:18:25.796+00
SELECT snowflake_make('2016-04-30 11:18:25.796+00', 1, 0, 7, '2015-01-01+00'); --> 175928847299117063
SELECT snowflake_min('2016-04-30 11:18:25.796+00', '2015-01-01+00'), snowflake_max('2016-04-30 11:18:25.796+00', '2015-01-01+00');
--> 175928847298985984 | 175928847303180287

-- Like Instagram: 13 bits of shard and 10 of sequence. The first is the example of its makers, shard 1341 and sequence 905.
SELECT * FROM snowflake_parse((1387263000::bigint << 23) | (1341 << 10) | 905, '2011-01-01+00', 0, 13, 10);
--> 11637205501278089 | 2011-01-17 01:21:03+00 | 0 | 1341 | 905
SELECT snowflake_make(snowflake_timestamp(id, '2011-08-24 21:07:01.721+00', 0, 13, 10), 0, 1341, 905, '2011-08-24 21:07:01.721+00', 0, 13, 10) = id AS same
FROM (VALUES ((1387263000::bigint << 23) | (1341 << 10) | 905)) AS ids (id); --> t

-- Like Mastodon: 48 bits of time since 1970, and 16 of sequence.
SELECT * FROM snowflake_parse(sequence_bits => 16, worker_bits => 0, datacenter_bits => 0, epoch => 'epoch', id => 109372843234234567);
--> 109372843234234567 | 2022-11-19 22:32:24.077+00 | 0 | 0 | 4295

-- TSID, and pgactive, whose node comes before a sequence of 14 bits.
SELECT * FROM snowflake_parse(38352658567418867, '2020-01-01+00', 0, 10, 12);
--> 38352658567418867 | 2020-04-15 19:59:46.36+00 | 0 | 421 | 1011
SELECT * FROM snowflake_parse((325000000000 << 24) | (513 << 14) | 16000, '2016-10-06 23:22:19.634+00', 0, 10, 14);
--> 5452595200008420992 | 2027-01-24 13:08:59.634+00 | 0 | 513 | 16000

-- The server's own layout, said aloud.
SELECT count(*) AS different FROM (SELECT (random() * 9223372036854774784)::bigint AS id FROM generate_series(1, 1000)) AS ids
WHERE snowflake_parse(id, '2010-11-04 01:42:54.657+00') IS DISTINCT FROM snowflake_parse(id)
   OR snowflake_timestamp(id, '2010-11-04 01:42:54.657+00') IS DISTINCT FROM snowflake_timestamp(id); --> 0

-- NULL.
SELECT snowflake_parse(NULL, 'epoch') IS NULL AS id, snowflake_timestamp(1, NULL) IS NULL AS epoch,
       snowflake_timestamp(1, 'epoch', NULL) IS NULL AS bits, snowflake_min(NULL, 'epoch') IS NULL AS min;
--> t | t | t | t

-- Layouts that are not valid, and IDs that are not of a layout.
SELECT errors_of($calls$
    SELECT snowflake_timestamp(1, '2015-01-01 00:00:00.0005+00')
    SELECT snowflake_timestamp(1, '1969-12-31 23:59:59.999+00')
    SELECT snowflake_timestamp(1, 'infinity')
    SELECT snowflake_timestamp(1, 'epoch', 5, 5, 0)
    SELECT snowflake_timestamp(1, 'epoch', 5, 5, 15)
    SELECT snowflake_timestamp(1, 'epoch', 4, 4, 1)
    SELECT snowflake_timestamp(1, 'epoch', -5, 5, 12)
    SELECT snowflake_timestamp(-1, '2015-01-01+00')
    SELECT snowflake_make('2016-04-30 11:18:25.796+00', 1, 0, 4096, '2015-01-01+00')
    SELECT snowflake_make('2014-04-30 11:18:25.796+00', 1, 0, 7, '2015-01-01+00')
    SELECT snowflake_min('2014-04-30 11:18:25.796+00', '2015-01-01+00')
$calls$);
--> 22023: epoch, datacenter_bits, worker_bits and sequence_bits are not a valid combination | The value is not valid: the epoch is not a whole number of milliseconds.
--> 22023: epoch, datacenter_bits, worker_bits and sequence_bits are not a valid combination | The value is not valid: the epoch is not from 1970-01-01 00:00:00+00 to 6429-10-17 02:45:55.327+00.
--> 22023: epoch, datacenter_bits, worker_bits and sequence_bits are not a valid combination | The value is not valid: the epoch is not finite.
--> 22023: epoch, datacenter_bits, worker_bits and sequence_bits are not a valid combination | The value is not valid: the sequence needs at least 1 bit.
--> 22023: epoch, datacenter_bits, worker_bits and sequence_bits are not a valid combination | The value is not valid: the datacenter, worker and sequence widths add up to 25 bits; the valid range is 10 to 24.
--> 22023: epoch, datacenter_bits, worker_bits and sequence_bits are not a valid combination | The value is not valid: the datacenter, worker and sequence widths add up to 9 bits; the valid range is 10 to 24.
--> 22023: epoch, datacenter_bits, worker_bits and sequence_bits are not a valid combination | The value is not valid: a width of -5 bits is negative.
--> 22023: a snowflake ID is never negative | The value is -1.
--> 22003: sequence 4096 is out of range | The valid range is 0 to 4095. | datacenter_bits, worker_bits and sequence_bits say how wide each part is.
--> 22003: timestamp 2014-04-30 11:18:25.796+00 is out of range | The timestamp field holds 2015-01-01 00:00:00+00 to 2084-09-06 15:47:35.551+00. | The epoch says where the field begins.
--> 22003: timestamp 2014-04-30 11:18:25.796+00 is out of range | The timestamp field holds 2015-01-01 00:00:00+00 to 2084-09-06 15:47:35.551+00. | The epoch says where the field begins.
