-- The parts of an ID: time, datacenter, worker and sequence.

-- Known answers.
SELECT * FROM snowflake_parse(1268118639732232192); --> 1268118639732232192 | 2020-06-03 09:53:38.874+00 | 5 | 9 | 0
SELECT * FROM snowflake_parse(1541815603606036480); --> 1541815603606036480 | 2022-06-28 16:07:40.105+00 | 11 | 26 | 0
SELECT snowflake_timestamp(1541815603606036480), snowflake_datacenter_id(1541815603606036480),
       snowflake_worker_id(1541815603606036480), snowflake_sequence(1541815603606036480);
--> 2022-06-28 16:07:40.105+00 | 11 | 26 | 0
SELECT (snowflake_parse(1268118639732232192)).worker_id; --> 9

-- The first and the last ID.
SELECT * FROM snowflake_parse(0); --> 0 | 2010-11-04 01:42:54.657+00 | 0 | 0 | 0
SELECT * FROM snowflake_parse(9223372036854775807);
--> 9223372036854775807 | 2080-07-10 17:30:30.208+00 | 31 | 31 | 4095

-- NULL.
SELECT snowflake_parse(NULL) IS NULL AS parse, snowflake_timestamp(NULL) IS NULL AS timestamp,
       snowflake_datacenter_id(NULL) IS NULL AS datacenter, snowflake_worker_id(NULL) IS NULL AS worker,
       snowflake_sequence(NULL) IS NULL AS sequence; --> t | t | t | t | t

-- No ID is negative.
SELECT count(*), errors_of(format('SELECT snowflake_%s(%s)', part, id))
    FROM unnest(ARRAY['parse', 'timestamp', 'datacenter_id', 'worker_id', 'sequence']) AS part, unnest(ARRAY[-1, -9223372036854775808]) AS id GROUP BY 2 ORDER BY 2;
--> 5 | 22023: a snowflake ID is never negative | The value is -1.
--> 5 | 22023: a snowflake ID is never negative | The value is -9223372036854775808.
SELECT snowflake_timestamp(9223372036854775808); --> ERROR 42883: function snowflake_timestamp(numeric) does not exist

-- In the schema: a stored generated column and an index.
CREATE TABLE events (
    id bigint PRIMARY KEY DEFAULT snowflake_nextval(),
    created_at timestamptz GENERATED ALWAYS AS (snowflake_timestamp(id)) STORED
);
CREATE INDEX ON events (snowflake_timestamp(id));
INSERT INTO events VALUES (1268118639732232192), (1541815603606036480);
TABLE events ORDER BY id;
--> 1268118639732232192 | 2020-06-03 09:53:38.874+00
--> 1541815603606036480 | 2022-06-28 16:07:40.105+00
