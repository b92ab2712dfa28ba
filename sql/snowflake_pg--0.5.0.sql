-- What CREATE EXTENSION snowflake runs, of snowflake_pg. make schema writes this file, of src/ and of the files beside it.
\echo Use "CREATE EXTENSION snowflake" to load this file. \quit

CREATE TYPE snowflake_parts AS (
    id bigint,
    "timestamp" timestamptz,
    datacenter_id integer,
    worker_id integer,
    sequence integer
);

-- The extension's tables are in a schema of their own, so that GRANT ... ON ALL TABLES, or a
-- program that changes all tables of a user's schema, leaves them alone. Nobody else can have
-- created objects in it, so CREATE SCHEMA has no IF NOT EXISTS.
CREATE SCHEMA snowflake_internal;

CREATE FUNCTION snowflake_nextval() RETURNS bigint
    LANGUAGE c VOLATILE STRICT PARALLEL RESTRICTED
    AS 'MODULE_PATHNAME', 'snowflake_nextval';

CREATE FUNCTION snowflake_internal.snowflake_nextval_support(internal) RETURNS internal
    LANGUAGE c STRICT AS 'MODULE_PATHNAME', 'snowflake_nextval_support';
CREATE FUNCTION snowflake_internal.snowflake_nextval_in_copy() RETURNS bigint
    LANGUAGE c STABLE STRICT PARALLEL RESTRICTED AS 'MODULE_PATHNAME', 'snowflake_nextval_in_copy';
ALTER FUNCTION snowflake_nextval() SUPPORT snowflake_internal.snowflake_nextval_support;

CREATE FUNCTION snowflake_timestamp(id bigint) RETURNS timestamptz
    LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'snowflake_timestamp';

CREATE FUNCTION snowflake_observe(id bigint) RETURNS boolean
    LANGUAGE c VOLATILE STRICT PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'snowflake_observe';

CREATE FUNCTION snowflake_observe_rows() RETURNS trigger
    LANGUAGE c AS 'MODULE_PATHNAME', 'snowflake_observe_rows';

CREATE FUNCTION snowflake_check() RETURNS TABLE (name text, ok bool, detail text, hint text)
    LANGUAGE c VOLATILE STRICT AS 'MODULE_PATHNAME', 'snowflake_check_wrapper';

CREATE FUNCTION snowflake_claim_node(name text, datacenter_id integer DEFAULT NULL,
                                     worker_id integer DEFAULT NULL)
    RETURNS text LANGUAGE c VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'snowflake_claim_node_wrapper';

CREATE FUNCTION snowflake_confirm(what text, force bool DEFAULT false) RETURNS bool
    LANGUAGE c VOLATILE STRICT AS 'MODULE_PATHNAME', 'snowflake_confirm_wrapper';

CREATE FUNCTION snowflake_convert(relation regclass DEFAULT NULL, column_name name DEFAULT NULL,
                                  schema regnamespace DEFAULT NULL, dry_run boolean DEFAULT true)
    RETURNS TABLE (step text, statement text)
    LANGUAGE c VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'snowflake_convert_wrapper';

CREATE FUNCTION "snowflake_currval"() RETURNS bigint
STRICT VOLATILE PARALLEL RESTRICTED
LANGUAGE c
AS 'MODULE_PATHNAME', 'snowflake_currval_wrapper';

CREATE FUNCTION "snowflake_datacenter_id"(
    "id" bigint
) RETURNS INT
IMMUTABLE STRICT PARALLEL SAFE
LANGUAGE c
AS 'MODULE_PATHNAME', 'snowflake_datacenter_id_wrapper';

CREATE FUNCTION "snowflake_floor"() RETURNS timestamp with time zone
STRICT VOLATILE PARALLEL SAFE
LANGUAGE c
AS 'MODULE_PATHNAME', 'snowflake_floor_wrapper';

CREATE FUNCTION snowflake_from_base62(id text) RETURNS bigint
    LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'snowflake_from_base62_wrapper';

CREATE FUNCTION snowflake_from_public(public text, prefix text DEFAULT '') RETURNS bigint
    LANGUAGE c STABLE PARALLEL SAFE AS 'MODULE_PATHNAME', 'snowflake_from_public_wrapper';

CREATE FUNCTION snowflake_internal.snowflake_guard_claims() RETURNS trigger
    LANGUAGE c AS 'MODULE_PATHNAME', 'snowflake_guard_claims_wrapper';

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

CREATE FUNCTION snowflake_internal.snowflake_guard_layout() RETURNS trigger
    LANGUAGE c AS 'MODULE_PATHNAME', 'snowflake_guard_layout_wrapper';

CREATE FUNCTION "snowflake_horizon"() RETURNS bigint
STRICT STABLE PARALLEL RESTRICTED
LANGUAGE c
AS 'MODULE_PATHNAME', 'snowflake_horizon_wrapper';

CREATE FUNCTION snowflake_internal.snowflake_horizon_held()
    RETURNS TABLE (pid integer, xid bigint, has_id boolean, since timestamptz, first_id bigint)
    LANGUAGE c VOLATILE STRICT PARALLEL RESTRICTED
    AS 'MODULE_PATHNAME', 'snowflake_horizon_held_wrapper';

CREATE FUNCTION "snowflake_json"(
    "id" bigint
) RETURNS jsonb
IMMUTABLE STRICT PARALLEL SAFE
LANGUAGE c
AS 'MODULE_PATHNAME', 'snowflake_json_wrapper';

CREATE FUNCTION "snowflake_make"(
    "ts" timestamp with time zone,
    "datacenter_id" INT,
    "worker_id" INT,
    "sequence" INT
) RETURNS bigint
IMMUTABLE STRICT PARALLEL SAFE
LANGUAGE c
AS 'MODULE_PATHNAME', 'snowflake_make_wrapper';

CREATE FUNCTION "snowflake_make"(
    "ts" timestamp with time zone,
    "datacenter_id" INT,
    "worker_id" INT,
    "sequence" INT,
    "epoch" timestamp with time zone,
    "datacenter_bits" INT DEFAULT 5,
    "worker_bits" INT DEFAULT 5,
    "sequence_bits" INT DEFAULT 12
) RETURNS bigint
IMMUTABLE STRICT PARALLEL SAFE
LANGUAGE c
AS 'MODULE_PATHNAME', 'snowflake_make_under_wrapper';

CREATE FUNCTION "snowflake_max"(
    "ts" timestamp with time zone
) RETURNS bigint
IMMUTABLE STRICT PARALLEL SAFE
LANGUAGE c
AS 'MODULE_PATHNAME', 'snowflake_max_wrapper';

CREATE FUNCTION "snowflake_max"(
    "ts" timestamp with time zone,
    "epoch" timestamp with time zone,
    "datacenter_bits" INT DEFAULT 5,
    "worker_bits" INT DEFAULT 5,
    "sequence_bits" INT DEFAULT 12
) RETURNS bigint
IMMUTABLE STRICT PARALLEL SAFE
LANGUAGE c
AS 'MODULE_PATHNAME', 'snowflake_max_under_wrapper';

CREATE FUNCTION "snowflake_min"(
    "ts" timestamp with time zone
) RETURNS bigint
IMMUTABLE STRICT PARALLEL SAFE
LANGUAGE c
AS 'MODULE_PATHNAME', 'snowflake_min_wrapper';

CREATE FUNCTION "snowflake_min"(
    "ts" timestamp with time zone,
    "epoch" timestamp with time zone,
    "datacenter_bits" INT DEFAULT 5,
    "worker_bits" INT DEFAULT 5,
    "sequence_bits" INT DEFAULT 12
) RETURNS bigint
IMMUTABLE STRICT PARALLEL SAFE
LANGUAGE c
AS 'MODULE_PATHNAME', 'snowflake_min_under_wrapper';

CREATE FUNCTION "snowflake_nextval"(
    "count" INT
) RETURNS SETOF bigint
STRICT VOLATILE PARALLEL RESTRICTED
LANGUAGE c
AS 'MODULE_PATHNAME', 'snowflake_nextval_count_wrapper';

CREATE FUNCTION "snowflake_parse"(
    "id" bigint
) RETURNS snowflake_parts
IMMUTABLE STRICT PARALLEL SAFE
LANGUAGE c
AS 'MODULE_PATHNAME', 'snowflake_parse_wrapper';

CREATE FUNCTION "snowflake_parse"(
    "id" bigint,
    "epoch" timestamp with time zone,
    "datacenter_bits" INT DEFAULT 5,
    "worker_bits" INT DEFAULT 5,
    "sequence_bits" INT DEFAULT 12
) RETURNS snowflake_parts
IMMUTABLE STRICT PARALLEL SAFE
LANGUAGE c
AS 'MODULE_PATHNAME', 'snowflake_parse_under_wrapper';

CREATE FUNCTION snowflake_release_node(name text, floor timestamptz DEFAULT NULL,
                                       issued_until timestamptz DEFAULT NULL,
                                       fenced boolean DEFAULT false)
    RETURNS timestamptz LANGUAGE c VOLATILE PARALLEL UNSAFE
    AS 'MODULE_PATHNAME', 'snowflake_release_node_wrapper';

CREATE FUNCTION snowflake_revert(relation regclass, column_name name, dry_run boolean DEFAULT true)
    RETURNS TABLE (step text, statement text)
    LANGUAGE c VOLATILE STRICT PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'snowflake_revert_wrapper';

CREATE FUNCTION "snowflake_sequence"(
    "id" bigint
) RETURNS INT
IMMUTABLE STRICT PARALLEL SAFE
LANGUAGE c
AS 'MODULE_PATHNAME', 'snowflake_sequence_wrapper';

CREATE FUNCTION "snowflake_set_floor"(
    "ts" timestamp with time zone,
    "force" bool DEFAULT false
) RETURNS timestamp with time zone
STRICT VOLATILE
LANGUAGE c
AS 'MODULE_PATHNAME', 'snowflake_set_floor_wrapper';

CREATE FUNCTION snowflake_internal.snowflake_stat()
    RETURNS TABLE (issued bigint, sequence_overflows bigint, waits bigint, wait_time double precision,
                   steps_held bigint, steps_refused bigint, largest_step_back bigint, lead bigint,
                   max_lead bigint, reservations bigint, stats_reset timestamptz, twins bigint,
                   steps_reused bigint)
    LANGUAGE c VOLATILE STRICT PARALLEL SAFE
    AS 'MODULE_PATHNAME', 'snowflake_stat_wrapper';

CREATE FUNCTION snowflake_internal.snowflake_stat_observations_refused() RETURNS bigint
    LANGUAGE c VOLATILE STRICT PARALLEL SAFE
    AS 'MODULE_PATHNAME', 'snowflake_stat_observations_refused_wrapper';

CREATE FUNCTION "snowflake_stat_reset"() RETURNS void
STRICT VOLATILE PARALLEL SAFE
LANGUAGE c
AS 'MODULE_PATHNAME', 'snowflake_stat_reset_wrapper';

CREATE FUNCTION snowflake_internal.snowflake_status()
    RETURNS TABLE (datacenter_id integer, worker_id integer, epoch timestamptz, datacenter_bits integer,
                   worker_bits integer, sequence_bits integer, ends timestamptz, last_id bigint,
                   last_timestamp timestamptz, floor timestamptz, lead bigint, preloaded boolean,
                   in_recovery boolean)
    LANGUAGE c VOLATILE STRICT PARALLEL SAFE
    AS 'MODULE_PATHNAME', 'snowflake_status_wrapper';

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

-- What ALTER DEFAULT PRIVILEGES has given to anybody is taken back, so that the privileges are those
-- of the list below. All names are qualified: the search_path of this script has the schema of the
-- extension, in which others might have operators and functions.
DO LANGUAGE plpgsql $$
DECLARE
    revocation text;
BEGIN
    FOR revocation IN
        SELECT DISTINCT pg_catalog.format(
            'REVOKE ALL ON TABLE %I.%I FROM %s', n.nspname, c.relname, g.name)
        FROM pg_catalog.pg_class AS c
        JOIN pg_catalog.pg_namespace AS n ON n.oid OPERATOR(pg_catalog.=) c.relnamespace,
        pg_catalog.aclexplode(c.relacl) AS a,
        LATERAL (
            SELECT CASE
                       WHEN a.grantee OPERATOR(pg_catalog.=) 0::pg_catalog.oid THEN 'PUBLIC'
                       ELSE pg_catalog.format('%I', pg_catalog.pg_get_userbyid(a.grantee))
                   END
        ) AS g (name)
        WHERE n.nspname OPERATOR(pg_catalog.=) 'snowflake_internal'::pg_catalog.name
          AND c.relkind OPERATOR(pg_catalog.=) 'r'::pg_catalog."char"
          AND a.grantee OPERATOR(pg_catalog.<>) c.relowner
        UNION ALL
        SELECT DISTINCT pg_catalog.format('REVOKE ALL ON SCHEMA %I FROM %s', n.nspname, g.name)
        FROM pg_catalog.pg_namespace AS n,
        pg_catalog.aclexplode(n.nspacl) AS a,
        LATERAL (
            SELECT CASE
                       WHEN a.grantee OPERATOR(pg_catalog.=) 0::pg_catalog.oid THEN 'PUBLIC'
                       ELSE pg_catalog.format('%I', pg_catalog.pg_get_userbyid(a.grantee))
                   END
        ) AS g (name)
        WHERE n.nspname OPERATOR(pg_catalog.=) 'snowflake_internal'::pg_catalog.name
          AND a.grantee OPERATOR(pg_catalog.<>) n.nspowner
    LOOP
        EXECUTE revocation;
    END LOOP;
END $$;

-- All roles may read, because pg_dump reads all tables. The owner of the database may insert, because
-- a restore does.
GRANT USAGE ON SCHEMA snowflake_internal TO PUBLIC;
GRANT SELECT ON snowflake_internal.snowflake_node_claims, snowflake_internal.snowflake_layout TO PUBLIC;
GRANT INSERT ON snowflake_internal.snowflake_node_claims, snowflake_internal.snowflake_layout
    TO pg_database_owner;

-- A role with CREATE on a database of another role may create the extension, and then has to restore
-- the rows too. No other role is named here: before PostgreSQL 17, if a role is dropped, a dump
-- revokes its privileges by its OID, and cannot be restored.
DO LANGUAGE plpgsql $$
DECLARE
    creator pg_catalog.name;
BEGIN
    FOR creator IN
        SELECT pg_catalog.pg_get_userbyid(extowner) FROM pg_catalog.pg_extension
        WHERE extname OPERATOR(pg_catalog.=) 'snowflake'::pg_catalog.name
          AND NOT pg_catalog.pg_has_role(extowner, 'pg_database_owner', 'USAGE')
    LOOP
        EXECUTE pg_catalog.format(
            'GRANT INSERT ON snowflake_internal.snowflake_node_claims, snowflake_internal.snowflake_layout '
            'TO %I',
            creator
        );
    END LOOP;
END $$;

GRANT SELECT ON snowflake_nodes TO PUBLIC;
REVOKE EXECUTE ON FUNCTION snowflake_internal.snowflake_guard_claims(),
    snowflake_internal.snowflake_guard_layout() FROM PUBLIC;

CREATE FUNCTION "snowflake_timestamp"(
    "id" bigint,
    "epoch" timestamp with time zone,
    "datacenter_bits" INT DEFAULT 5,
    "worker_bits" INT DEFAULT 5,
    "sequence_bits" INT DEFAULT 12
) RETURNS timestamp with time zone
IMMUTABLE STRICT PARALLEL SAFE
LANGUAGE c
AS 'MODULE_PATHNAME', 'snowflake_timestamp_under_wrapper';

CREATE FUNCTION "snowflake_to_base62"(
    "id" bigint
) RETURNS TEXT
IMMUTABLE STRICT PARALLEL SAFE
LANGUAGE c
AS 'MODULE_PATHNAME', 'snowflake_to_base62_wrapper';

CREATE FUNCTION snowflake_to_public(id bigint, prefix text DEFAULT '') RETURNS text
    LANGUAGE c STABLE PARALLEL SAFE AS 'MODULE_PATHNAME', 'snowflake_to_public_wrapper';

CREATE FUNCTION snowflake_watch_twins() RETURNS trigger
    LANGUAGE c AS 'MODULE_PATHNAME', 'snowflake_watch_twins_wrapper';

CREATE FUNCTION snowflake_internal.snowflake_within_max(since timestamptz, before timestamptz)
    RETURNS bigint LANGUAGE c IMMUTABLE PARALLEL SAFE
    AS 'MODULE_PATHNAME', 'snowflake_within_max_wrapper';

CREATE FUNCTION snowflake_internal.snowflake_within_min(since timestamptz) RETURNS bigint
    LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE
    AS 'MODULE_PATHNAME', 'snowflake_within_min_wrapper';

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

CREATE FUNCTION "snowflake_worker_id"(
    "id" bigint
) RETURNS INT
IMMUTABLE STRICT PARALLEL SAFE
LANGUAGE c
AS 'MODULE_PATHNAME', 'snowflake_worker_id_wrapper';

COMMENT ON SCHEMA snowflake_internal IS 'tables and functions for the extension snowflake';
COMMENT ON TYPE snowflake_parts IS 'a snowflake ID and what it is made of';
COMMENT ON FUNCTION snowflake_nextval() IS 'next snowflake ID';
COMMENT ON FUNCTION snowflake_nextval(integer) IS 'next count snowflake IDs, increasing';
COMMENT ON FUNCTION snowflake_currval() IS 'snowflake ID that this session was given last';
COMMENT ON FUNCTION snowflake_parse(bigint) IS 'parts of a snowflake ID';
COMMENT ON FUNCTION snowflake_timestamp(bigint) IS 'time at which a snowflake ID was issued';
COMMENT ON FUNCTION snowflake_datacenter_id(bigint) IS 'datacenter that issued a snowflake ID';
COMMENT ON FUNCTION snowflake_worker_id(bigint) IS 'worker that issued a snowflake ID';
COMMENT ON FUNCTION snowflake_sequence(bigint) IS 'number of a snowflake ID within its millisecond';
COMMENT ON FUNCTION snowflake_make(timestamptz, integer, integer, integer)
    IS 'snowflake ID made of these parts';
COMMENT ON FUNCTION snowflake_parse(bigint, timestamptz, integer, integer, integer)
    IS 'parts of another system''s ID';
COMMENT ON FUNCTION snowflake_timestamp(bigint, timestamptz, integer, integer, integer)
    IS 'time at which another system''s ID was issued';
COMMENT ON FUNCTION snowflake_make(
    timestamptz, integer, integer, integer, timestamptz, integer, integer, integer)
    IS 'ID of another system made of these parts';
COMMENT ON FUNCTION snowflake_min(timestamptz) IS 'smallest snowflake ID of a millisecond';
COMMENT ON FUNCTION snowflake_max(timestamptz) IS 'largest snowflake ID of a millisecond';
COMMENT ON FUNCTION snowflake_min(timestamptz, timestamptz, integer, integer, integer)
    IS 'smallest ID of a millisecond in another system';
COMMENT ON FUNCTION snowflake_max(timestamptz, timestamptz, integer, integer, integer)
    IS 'largest ID of a millisecond in another system';
COMMENT ON FUNCTION snowflake_within(bigint, timestamptz, timestamptz)
    IS 'whether a snowflake ID was issued since a time and before another';
COMMENT ON FUNCTION snowflake_internal.snowflake_within_min(timestamptz)
    IS 'for snowflake_within()';
COMMENT ON FUNCTION snowflake_internal.snowflake_within_max(timestamptz, timestamptz)
    IS 'for snowflake_within()';
COMMENT ON FUNCTION snowflake_json(bigint) IS 'snowflake ID and its parts as JSON';
COMMENT ON FUNCTION snowflake_to_base62(bigint)
    IS 'snowflake ID as 11 characters, which sort as IDs do with COLLATE "C"';
COMMENT ON FUNCTION snowflake_from_base62(text) IS 'snowflake ID of its 11 characters';
COMMENT ON FUNCTION snowflake_observe(bigint)
    IS 'lets this server issue only IDs that are greater than this one';
COMMENT ON FUNCTION snowflake_observe_rows() IS 'trigger that observes IDs of replicated rows';
COMMENT ON FUNCTION snowflake_internal.snowflake_stat_observations_refused()
    IS 'for pg_stat_snowflake';
COMMENT ON FUNCTION snowflake_to_public(bigint, text)
    IS 'name of a snowflake ID that says nothing about it';
COMMENT ON FUNCTION snowflake_from_public(text, text)
    IS 'snowflake ID of a name that snowflake_to_public() made';
COMMENT ON FUNCTION snowflake_internal.snowflake_stat() IS 'for pg_stat_snowflake';
COMMENT ON FUNCTION snowflake_stat_reset() IS 'sets the counters of pg_stat_snowflake to zero';
COMMENT ON FUNCTION snowflake_internal.snowflake_status() IS 'for the view snowflake_status';
COMMENT ON FUNCTION snowflake_check()
    IS 'whether the server issues snowflake IDs, or would if it were promoted';
COMMENT ON VIEW pg_stat_snowflake
    IS 'what the server''s generator of snowflake IDs has done since the last reset';
COMMENT ON VIEW snowflake_status
    IS 'identity, layout and state of the server''s generator of snowflake IDs';
COMMENT ON FUNCTION snowflake_watch_twins()
    IS 'trigger that looks for replicated rows with this server''s own identity';
COMMENT ON TABLE snowflake_internal.snowflake_node_claims IS 'for snowflake_nodes';
COMMENT ON VIEW snowflake_nodes
    IS 'identities that were given to nodes, and those that were released';
COMMENT ON FUNCTION snowflake_internal.snowflake_guard_claims() IS 'for snowflake_node_claims';
COMMENT ON TABLE snowflake_internal.snowflake_layout
    IS 'epoch and widths that this database is used with, for dumps';
COMMENT ON FUNCTION snowflake_internal.snowflake_guard_layout() IS 'for snowflake_layout';
COMMENT ON FUNCTION snowflake_claim_node(text, integer, integer)
    IS 'gives a node an identity, as lines of postgresql.conf';
COMMENT ON FUNCTION snowflake_release_node(text, timestamptz, timestamptz, boolean)
    IS 'takes the identity back from a node';
COMMENT ON FUNCTION snowflake_convert(regclass, name, regnamespace, boolean)
    IS 'lets keys that take values of a sequence take snowflake IDs';
COMMENT ON FUNCTION snowflake_revert(regclass, name, boolean)
    IS 'lets a key take values of its sequence again';
COMMENT ON FUNCTION snowflake_floor() IS 'time up to which snowflake IDs might have been issued';
COMMENT ON FUNCTION snowflake_set_floor(timestamptz, boolean)
    IS 'makes snowflake IDs start after a time';
COMMENT ON FUNCTION snowflake_confirm(text, boolean)
    IS 'confirms a change of layout, system identifier or clock';
COMMENT ON FUNCTION snowflake_internal.snowflake_nextval_support(internal)
    IS 'planner support for snowflake_nextval()';
COMMENT ON FUNCTION snowflake_internal.snowflake_nextval_in_copy()
    IS 'stand-in for snowflake_nextval() in COPY';
COMMENT ON FUNCTION snowflake_horizon() IS 'snowflake ID up to which no row can still appear';
COMMENT ON FUNCTION snowflake_internal.snowflake_horizon_held() IS 'for snowflake_horizon_holders';
COMMENT ON VIEW snowflake_horizon_holders IS 'transactions that hold back snowflake_horizon()';
-- Last, because all functions are there. What ALTER DEFAULT PRIVILEGES has taken from PUBLIC is given back:
-- defaults, views and snowflake_within() call functions as the role that uses them. What it has given to
-- others of the functions that not every role may execute is taken back.
DO LANGUAGE plpgsql $$
DECLARE
    change text;
BEGIN
    FOR change IN
        WITH members AS (
            -- a row: an object of the extension
            SELECT d.classid, d.objid
            FROM pg_catalog.pg_depend AS d
            JOIN pg_catalog.pg_extension AS e ON e.oid OPERATOR(pg_catalog.=) d.refobjid
            WHERE e.extname OPERATOR(pg_catalog.=) 'snowflake'::pg_catalog.name
              AND d.refclassid OPERATOR(pg_catalog.=) 'pg_catalog.pg_extension'::pg_catalog.regclass
              AND d.deptype OPERATOR(pg_catalog.=) 'e'::pg_catalog."char"
        ), functions AS (
            -- a row: a function of the extension with privileges that are not those of every new function
            SELECT p.oid, p.proowner, p.proacl, p.proname OPERATOR(pg_catalog.=) ANY (ARRAY[
                'snowflake_stat_reset', 'snowflake_observe', 'snowflake_observe_rows', 'snowflake_guard_claims',
                'snowflake_guard_layout']::pg_catalog.name[]) AS is_restricted
            FROM pg_catalog.pg_proc AS p
            JOIN members AS m ON m.objid OPERATOR(pg_catalog.=) p.oid
             AND m.classid OPERATOR(pg_catalog.=) 'pg_catalog.pg_proc'::pg_catalog.regclass
            WHERE p.proacl IS NOT NULL
        )
        SELECT pg_catalog.format('GRANT EXECUTE ON FUNCTION %s TO PUBLIC', f.oid::pg_catalog.regprocedure)
        FROM functions AS f WHERE NOT f.is_restricted
        UNION ALL
        SELECT pg_catalog.format('REVOKE ALL ON FUNCTION %s FROM %I CASCADE', f.oid::pg_catalog.regprocedure,
            pg_catalog.pg_get_userbyid(a.grantee))
        FROM functions AS f, pg_catalog.aclexplode(f.proacl) AS a
        WHERE f.is_restricted AND a.grantee OPERATOR(pg_catalog.<>) f.proowner
        UNION ALL
        SELECT pg_catalog.format('GRANT USAGE ON TYPE %s TO PUBLIC', t.oid::pg_catalog.regtype)
        FROM pg_catalog.pg_type AS t
        JOIN members AS m ON m.objid OPERATOR(pg_catalog.=) t.oid
         AND m.classid OPERATOR(pg_catalog.=) 'pg_catalog.pg_type'::pg_catalog.regclass
        WHERE t.typacl IS NOT NULL
    LOOP
        EXECUTE change;
    END LOOP;
END $$;
