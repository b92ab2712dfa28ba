\set VERBOSITY default
SET timezone = 'UTC';
SET datestyle = 'ISO';

-- Known answers.
SELECT * FROM snowflake_parse(1268118639732232192);
SELECT * FROM snowflake_parse(1541815603606036480);
SELECT snowflake_timestamp(1541815603606036480), snowflake_datacenter_id(1541815603606036480),
       snowflake_worker_id(1541815603606036480), snowflake_sequence(1541815603606036480);
SELECT (snowflake_parse(1268118639732232192)).worker_id;

-- The first and the last ID.
SELECT * FROM snowflake_parse(0);
SELECT * FROM snowflake_parse(9223372036854775807);

-- NULL.
SELECT snowflake_parse(NULL) IS NULL AS parse, snowflake_timestamp(NULL) IS NULL AS timestamp,
       snowflake_datacenter_id(NULL) IS NULL AS datacenter, snowflake_worker_id(NULL) IS NULL AS worker,
       snowflake_sequence(NULL) IS NULL AS sequence;

-- No ID is negative.
SELECT snowflake_parse(-1);
\echo :LAST_ERROR_SQLSTATE
SELECT snowflake_timestamp(-1);
\echo :LAST_ERROR_SQLSTATE
SELECT snowflake_datacenter_id(-9223372036854775808);
\echo :LAST_ERROR_SQLSTATE
SELECT snowflake_worker_id(-1);
\echo :LAST_ERROR_SQLSTATE
SELECT snowflake_sequence(-1);
\echo :LAST_ERROR_SQLSTATE
\set VERBOSITY terse
SELECT snowflake_timestamp(9223372036854775808);
\set VERBOSITY default
\echo :LAST_ERROR_SQLSTATE

-- In the schema: a stored generated column and an index.
CREATE TABLE events (
    id bigint PRIMARY KEY DEFAULT snowflake_nextval(),
    created_at timestamptz GENERATED ALWAYS AS (snowflake_timestamp(id)) STORED
);
CREATE INDEX ON events (snowflake_timestamp(id));
INSERT INTO events VALUES (1268118639732232192), (1541815603606036480);
TABLE events ORDER BY id;
DROP TABLE events;
