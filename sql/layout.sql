-- The epoch and the widths that this database is used with, which a dump carries. Nothing is unique,
-- because a subscriber gets the row of its publisher. The table is unlogged at first, so that its
-- row is not published: a subscriber might not have the table yet.
CREATE UNLOGGED TABLE snowflake_internal.snowflake_layout (
    epoch timestamptz NOT NULL,
    datacenter_bits integer NOT NULL,
    worker_bits integer NOT NULL,
    sequence_bits integer NOT NULL
);
INSERT INTO snowflake_internal.snowflake_layout
    SELECT s.epoch, s.datacenter_bits, s.worker_bits, s.sequence_bits
    FROM snowflake_internal.snowflake_status() AS s;
ALTER TABLE snowflake_internal.snowflake_layout SET LOGGED;
-- A published table without a key needs a replica identity before it can be updated.
ALTER TABLE snowflake_internal.snowflake_layout REPLICA IDENTITY FULL;
CREATE TRIGGER guard BEFORE INSERT ON snowflake_internal.snowflake_layout
    FOR EACH ROW EXECUTE FUNCTION snowflake_internal.snowflake_guard_layout();
ALTER TABLE snowflake_internal.snowflake_layout ENABLE ALWAYS TRIGGER guard;
SELECT pg_catalog.pg_extension_config_dump('snowflake_internal.snowflake_layout', '');
