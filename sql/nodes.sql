-- One row for each identity that was ever given out. A trigger lets only those insert who may claim,
-- as in a restore. Times are those that a line of a configuration file can have.
CREATE TABLE snowflake_internal.snowflake_node_claims (
    datacenter_id integer NOT NULL CHECK (datacenter_id >= 0),
    worker_id integer NOT NULL CHECK (worker_id >= 0),
    name text NOT NULL,
    claimed_at timestamptz NOT NULL
        CHECK (claimed_at >= timestamptz '1970-01-01 00:00:00+00'
               AND claimed_at < timestamptz '10000-01-01 00:00:00+00'),
    released_at timestamptz
        CHECK (released_at >= timestamptz '1970-01-01 00:00:00+00'
               AND released_at < timestamptz '10000-01-01 00:00:00+00'),
    start_after timestamptz
        CHECK (start_after >= timestamptz '1970-01-01 00:00:00+00'
               AND start_after < timestamptz '10000-01-01 00:00:00+00'),
    PRIMARY KEY (datacenter_id, worker_id),
    CONSTRAINT released_with_floor CHECK (released_at IS NULL OR start_after IS NOT NULL)
);
CREATE UNIQUE INDEX snowflake_node_claims_name ON snowflake_internal.snowflake_node_claims (name)
    WHERE released_at IS NULL;
CREATE TRIGGER guard BEFORE INSERT ON snowflake_internal.snowflake_node_claims
    FOR EACH ROW EXECUTE FUNCTION snowflake_internal.snowflake_guard_claims();
ALTER TABLE snowflake_internal.snowflake_node_claims ENABLE ALWAYS TRIGGER guard;
SELECT pg_catalog.pg_extension_config_dump('snowflake_internal.snowflake_node_claims', '');

-- GRANT ... ON ALL TABLES in a user's schema also grants privileges on this view. They must not
-- extend to the table: OFFSET 0 keeps the view from being updatable, and security_invoker makes
-- LOCK TABLE and FOR UPDATE check the caller's own privileges on the table.
CREATE VIEW snowflake_nodes WITH (security_invoker) AS
    SELECT name, datacenter_id, worker_id, claimed_at, released_at, start_after
    FROM snowflake_internal.snowflake_node_claims OFFSET 0;
