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
