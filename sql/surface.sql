-- Not STRICT, and one expression, so that the planner can inline it. Then it can use an index on
-- id, and prune partitions by id.
CREATE FUNCTION snowflake_within(id bigint, since timestamptz, before timestamptz) RETURNS boolean
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN id >= snowflake_internal.snowflake_within_min(since)
        AND id <= snowflake_internal.snowflake_within_max(since, before);

CREATE VIEW pg_stat_snowflake AS
    SELECT *, snowflake_internal.snowflake_stat_observations_refused() AS observations_refused
    FROM snowflake_internal.snowflake_stat();

CREATE VIEW snowflake_status AS
    SELECT s.datacenter_id, s.worker_id, s.epoch, s.datacenter_bits, s.worker_bits, s.sequence_bits,
           s.ends, s.ends - clock_timestamp() AS remaining,
           s.last_id, s.last_timestamp, s.floor, s.lead, s.preloaded, s.in_recovery
    FROM snowflake_internal.snowflake_status() AS s;

-- A prepared transaction that is not known is from before the start, and might have taken any ID.
CREATE VIEW snowflake_horizon_holders AS
    SELECT h.pid, NULL::text AS prepared, h.since, h.first_id
    FROM snowflake_internal.snowflake_horizon_held() AS h
    WHERE h.pid IS NOT NULL
    UNION ALL
    SELECT NULL::integer, p.gid, h.since, h.first_id
    FROM pg_catalog.pg_prepared_xacts AS p
    LEFT JOIN snowflake_internal.snowflake_horizon_held() AS h
        ON h.xid OPERATOR(pg_catalog.=) (p.transaction::text)::bigint
    WHERE coalesce(h.has_id, true);

-- As PostgreSQL does for the statistics of the whole server.
GRANT SELECT ON pg_stat_snowflake, snowflake_status, snowflake_horizon_holders TO PUBLIC;
REVOKE EXECUTE ON FUNCTION snowflake_stat_reset() FROM PUBLIC;
-- Who may observe an ID can take the server ahead of its clock, by snowflake.max_observed_lead. A
-- trigger can be created by those who may execute its function.
REVOKE EXECUTE ON FUNCTION snowflake_observe(bigint), snowflake_observe_rows() FROM PUBLIC;
