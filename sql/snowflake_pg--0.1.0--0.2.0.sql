-- From 0.1.0 to 0.2.0. Restart the server with the new library before this is run.

\echo Use "ALTER EXTENSION snowflake UPDATE TO '0.2.0'" to load this file. \quit

DROP FUNCTION snowflake_convert(regclass, name, boolean);
DROP FUNCTION snowflake_revert(regclass, name, boolean);
CREATE FUNCTION snowflake_convert(relation regclass DEFAULT NULL, column_name name DEFAULT NULL,
                                  dry_run boolean DEFAULT true, dependents text DEFAULT 'refuse',
                                  validate boolean DEFAULT false, rehearse boolean DEFAULT false,
                                  schema regnamespace DEFAULT NULL)
    RETURNS TABLE (step text, statement text)
    LANGUAGE c VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'snowflake_convert_keys_wrapper';
CREATE FUNCTION snowflake_convert_report(relation regclass DEFAULT NULL, schema regnamespace DEFAULT NULL)
    RETURNS TABLE (kind text, object text, reason text, remedy text, rewritten bigint, lock text)
    LANGUAGE c VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'snowflake_convert_report_wrapper';
CREATE FUNCTION snowflake_revert(relation regclass, column_name name, dry_run boolean DEFAULT true)
    RETURNS TABLE (step text, statement text)
    LANGUAGE c VOLATILE STRICT PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'snowflake_revert_key_wrapper';
COMMENT ON FUNCTION snowflake_convert(regclass, name, boolean, text, boolean, boolean, regnamespace) IS 'makes columns take snowflake IDs';
COMMENT ON FUNCTION snowflake_convert_report(regclass, regnamespace) IS 'what a conversion would run into, change and lock';
COMMENT ON FUNCTION snowflake_revert(regclass, name, boolean) IS 'makes a column of snowflake IDs take values of a sequence';

CREATE FUNCTION snowflake_check() RETURNS TABLE (name text, ok bool, detail text, hint text)
    LANGUAGE c VOLATILE STRICT AS 'MODULE_PATHNAME', 'snowflake_check_wrapper';
COMMENT ON FUNCTION snowflake_check() IS 'whether the server issues snowflake IDs, or would if it were promoted';

CREATE FUNCTION snowflake_twins() RETURNS bigint
    LANGUAGE c VOLATILE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'snowflake_twins_wrapper';
COMMENT ON FUNCTION snowflake_twins() IS 'for pg_stat_snowflake';
CREATE FUNCTION snowflake_steps_reused() RETURNS bigint
    LANGUAGE c VOLATILE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'snowflake_steps_reused_wrapper';
COMMENT ON FUNCTION snowflake_steps_reused() IS 'for pg_stat_snowflake';
CREATE OR REPLACE VIEW pg_stat_snowflake AS
    SELECT s.*, snowflake_twins() AS twins, snowflake_steps_reused() AS steps_reused
    FROM snowflake_stat() AS s;
ALTER VIEW snowflake_status RENAME COLUMN reserved_until TO floor;

CREATE FUNCTION snowflake_watch_twins() RETURNS trigger
    LANGUAGE c AS 'MODULE_PATHNAME', 'snowflake_watch_twins_wrapper';
COMMENT ON FUNCTION snowflake_watch_twins() IS 'trigger that looks for replicated rows with this server''s own identity';

CREATE FUNCTION snowflake_claim_node(name text, datacenter_id integer DEFAULT NULL,
                                     worker_id integer DEFAULT NULL)
    RETURNS text LANGUAGE c VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'snowflake_claim_node_wrapper';
CREATE FUNCTION snowflake_release_node(name text, floor timestamptz DEFAULT NULL,
                                       issued_until timestamptz DEFAULT NULL,
                                       fenced boolean DEFAULT false)
    RETURNS timestamptz LANGUAGE c VOLATILE PARALLEL UNSAFE
    AS 'MODULE_PATHNAME', 'snowflake_release_node_wrapper';
CREATE FUNCTION snowflake_guard_claims() RETURNS trigger
    LANGUAGE c AS 'MODULE_PATHNAME', 'snowflake_guard_claims_wrapper';
COMMENT ON FUNCTION snowflake_guard_claims() IS 'for snowflake_node_claims';
COMMENT ON FUNCTION snowflake_claim_node(text, integer, integer) IS 'gives a node an identity, as lines of postgresql.conf';
COMMENT ON FUNCTION snowflake_release_node(text, timestamptz, timestamptz, boolean) IS 'takes the identity back from a node';

-- One row for each identity that was ever given out. Everybody may read it, and insert what a
-- trigger lets pass: that is what dumps and restores need, whoever the owner of the database is.
CREATE TABLE snowflake_node_claims (
    datacenter_id integer NOT NULL CHECK (datacenter_id >= 0),
    worker_id integer NOT NULL CHECK (worker_id >= 0),
    name text NOT NULL,
    claimed_at timestamptz NOT NULL,
    released_at timestamptz,
    start_after timestamptz,
    PRIMARY KEY (datacenter_id, worker_id),
    CONSTRAINT released_with_floor CHECK (released_at IS NULL OR start_after IS NOT NULL)
);
CREATE UNIQUE INDEX snowflake_node_claims_name ON snowflake_node_claims (name)
    WHERE released_at IS NULL;
CREATE TRIGGER guard BEFORE INSERT ON snowflake_node_claims
    FOR EACH ROW EXECUTE FUNCTION snowflake_guard_claims();
SELECT pg_catalog.pg_extension_config_dump('snowflake_node_claims', '');

CREATE VIEW snowflake_nodes AS
    SELECT name, datacenter_id, worker_id, claimed_at, released_at, start_after
    FROM snowflake_node_claims;

REVOKE EXECUTE ON FUNCTION snowflake_guard_claims() FROM PUBLIC;
GRANT SELECT ON snowflake_nodes TO PUBLIC;
GRANT SELECT, INSERT ON snowflake_node_claims TO PUBLIC;
COMMENT ON TABLE snowflake_node_claims IS 'for snowflake_nodes';
COMMENT ON VIEW snowflake_nodes IS 'identities that were given to nodes, and those that were released';
COMMENT ON FUNCTION snowflake_floor() IS 'time up to which snowflake IDs may have been issued';

CREATE FUNCTION snowflake_guard_layout() RETURNS trigger
    LANGUAGE c AS 'MODULE_PATHNAME', 'snowflake_guard_layout_wrapper';

-- The epoch and the widths that this database is used with, which a dump carries. Everybody may
-- read them, and insert what a trigger lets pass: that is what dumps and restores need, whoever the
-- owner of the database is. Nothing is unique, because a subscriber gets the row of its publisher.
-- The table is unlogged at first, so that its row is not published: a subscriber may not have the
-- table yet.
CREATE UNLOGGED TABLE snowflake_layout (
    epoch timestamptz NOT NULL,
    datacenter_bits integer NOT NULL,
    worker_bits integer NOT NULL,
    sequence_bits integer NOT NULL
);
INSERT INTO snowflake_layout
    SELECT s.epoch, s.datacenter_bits, s.worker_bits, s.sequence_bits FROM snowflake_status() AS s;
ALTER TABLE snowflake_layout SET LOGGED;
-- So that it can be updated where it is published.
ALTER TABLE snowflake_layout REPLICA IDENTITY FULL;
CREATE TRIGGER guard BEFORE INSERT ON snowflake_layout
    FOR EACH ROW EXECUTE FUNCTION snowflake_guard_layout();
SELECT pg_catalog.pg_extension_config_dump('snowflake_layout', '');

REVOKE EXECUTE ON FUNCTION snowflake_guard_layout() FROM PUBLIC;
GRANT SELECT, INSERT ON snowflake_layout TO PUBLIC;
COMMENT ON TABLE snowflake_layout IS 'epoch and widths that this database is used with, for dumps';
COMMENT ON FUNCTION snowflake_guard_layout() IS 'for snowflake_layout';

-- The domain leaves the extension. Where something uses it, it stays, as the own of the extension's
-- owner, and its columns get the default themselves: DROP EXTENSION ... CASCADE would drop a domain
-- whose default needs the extension, and its columns.
ALTER EXTENSION snowflake DROP DOMAIN snowflake;
DO LANGUAGE plpgsql $$
DECLARE
    its record;
BEGIN
    DROP DOMAIN snowflake;
EXCEPTION WHEN dependent_objects_still_exist THEN
    FOR its IN
        SELECT c.oid::regclass AS relation, a.attname AS column
        FROM pg_attribute AS a JOIN pg_class AS c ON c.oid = a.attrelid
        WHERE a.atttypid = 'snowflake'::regtype AND NOT a.attisdropped AND NOT a.atthasdef
          AND c.relkind IN ('r', 'p', 'f', 'v') AND NOT pg_is_other_temp_schema(c.relnamespace)
    LOOP
        EXECUTE format('ALTER TABLE ONLY %s ALTER COLUMN %I SET DEFAULT snowflake_nextval()',
                       its.relation, its.column);
    END LOOP;
    ALTER DOMAIN snowflake DROP DEFAULT;
    COMMENT ON DOMAIN snowflake IS NULL;
    EXECUTE format('ALTER DOMAIN snowflake OWNER TO %s',
                   (SELECT extowner::regrole FROM pg_extension WHERE extname = 'snowflake'));
END $$;
