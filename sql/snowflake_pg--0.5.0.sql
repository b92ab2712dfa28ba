-- Statements of CREATE EXTENSION snowflake, of snowflake_pg. make schema writes this file, of src/ and of the files beside it.
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

-- Takes back what ALTER DEFAULT PRIVILEGES has given to anybody, so that the privileges are those
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

-- Functions that print statements for tables that exist. They only read the catalog, with the rights of
-- their caller. Their text is executed elsewhere: every name is qualified, whatever search_path is, and no
-- name ends a comment or a block.

-- A script, from its lines and the tables that each owner's locks. It begins with the locks, and asks by a
-- digest whether the same is still printed. Tables are locked in the order of an INSERT, what refers before
-- what it refers to: by the longest chain of references that ends with a table, and then by the longest that
-- begins with it. A circle has all lengths, up to a limit.
CREATE FUNCTION snowflake_internal.snowflake_printed(
    function text, tables regclass[], schema regnamespace, lines jsonb) RETURNS SETOF text
    LANGUAGE sql STABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp SET jit = off AS $sql$
WITH RECURSIVE raw AS MATERIALIZED (
    SELECT * FROM jsonb_to_recordset(lines) l (owner oid, step int, name text, kind text, text text, rel oid)
),
-- a row: a table that a statement or its plan looks at
below (owner, rel) AS (
    SELECT owner, rel FROM raw WHERE rel IS NOT NULL
    UNION SELECT owner, inhrelid FROM below JOIN pg_inherits ON inhparent = rel
),
-- a row: an owner of tables on which code of users can run: a change of types calls that of constraints, and
-- the plan of a query that of indexes and statistics, too
calling AS (
    SELECT owner FROM raw WHERE kind = 'code'
    UNION SELECT owner FROM below, LATERAL (
        SELECT 'pg_class'::regclass, rel
        UNION ALL SELECT 'pg_class'::regclass, indexrelid FROM pg_index WHERE indrelid = rel
        UNION ALL SELECT 'pg_constraint'::regclass, c.oid FROM pg_constraint c WHERE conrelid = rel
        UNION ALL SELECT 'pg_statistic_ext'::regclass, s.oid FROM pg_statistic_ext s WHERE stxrelid = rel
    ) o (class, oid) JOIN pg_depend ON (classid, objid, objsubid) = (class, o.oid, 0), LATERAL (
        SELECT proowner FROM pg_proc WHERE (refclassid, refobjid) = ('pg_proc'::regclass, oid)
        UNION ALL SELECT oprowner FROM pg_operator
            WHERE (refclassid, refobjid) = ('pg_operator'::regclass, oid)
        UNION ALL SELECT typowner FROM pg_type WHERE (refclassid, refobjid) = ('pg_type'::regclass, oid)
    ) c (role) WHERE role NOT IN (SELECT oid FROM pg_roles WHERE rolsuper)
),
given AS MATERIALIZED (
    SELECT * FROM raw WHERE kind <> 'code'
    UNION ALL SELECT owner, 2, '', 'DO', format($$IF session_user OPERATOR(pg_catalog.<>) %L THEN
        RAISE insufficient_privilege USING MESSAGE = %L,
            HINT = 'Connect as this role; or, if you trust its functions, take this block out.';
    END IF;$$, pg_get_userbyid(owner),
        format('these statements can run code of %s with your rights', owner::regrole)), NULL FROM calling
),
locked AS (SELECT DISTINCT owner, rel FROM given WHERE rel IS NOT NULL),
link AS MATERIALIZED (
    SELECT DISTINCT v.* FROM pg_constraint, LATERAL (
        VALUES (conrelid, confrelid, true), (confrelid, conrelid, false)) v (rel, next, is_up)
    WHERE contype = 'f' AND conrelid <> confrelid AND conrelid = ANY (ARRAY(SELECT rel FROM locked))
        AND confrelid = ANY (ARRAY(SELECT rel FROM locked))
),
chain (rel, is_up, length) AS (
    SELECT DISTINCT rel, is_up, 0 FROM locked, (VALUES (true), (false)) v (is_up)
    UNION SELECT next, is_up, length + 1 FROM chain JOIN link USING (rel, is_up) WHERE length < 40
),
longest AS (
    SELECT rel, max(length) FILTER (WHERE is_up) AS up, max(length) FILTER (WHERE NOT is_up) AS down
    FROM chain GROUP BY rel
),
ordered AS (
    SELECT owner, concat(CASE WHEN relkind = 'r' AND relhassubclass THEN 'ONLY ' END, rel::regclass) AS name,
        relrowsecurity, least(up, down) = 40 AS in_circle,
        row_number() OVER (ORDER BY up, down DESC, rel::regclass::text) AS place
    FROM locked JOIN longest USING (rel) JOIN pg_class ON pg_class.oid = rel
),
head AS (
    SELECT owner, string_agg(name, ', ' ORDER BY place) AS names, bool_or(relrowsecurity) AS has_policies,
        string_agg(name, ', ' ORDER BY place) FILTER (WHERE in_circle) AS circle,
        (SELECT md5(string_agg(concat(rel, text), E'\n' ORDER BY step, g.name, text, rel))
            FROM given g WHERE g.owner = o.owner AND kind <> '--') AS digest,
        (SELECT least(500, setting::int / 2) FROM pg_settings s WHERE s.name = 'deadlock_timeout') AS ms
    FROM ordered o GROUP BY owner
),
line AS (
    SELECT owner, step, name, kind, text FROM given
    UNION ALL SELECT owner, step, '', kind, text FROM head, LATERAL (VALUES
        (1, '--', format('tables of %s, in one transaction', owner::regrole)),
        (3, '', format('SET LOCAL lock_timeout = %s', ms)),
        (4, '', CASE WHEN has_policies THEN 'SET LOCAL row_security = off' END),
        (5, '--', 'these refer to each other, and are locked in any order: ' || circle),
        (6, '', format('LOCK TABLE %s IN ACCESS EXCLUSIVE MODE', names)),
        (7, 'DO', format($$IF pg_catalog.current_setting('transaction_isolation')
                OPERATOR(pg_catalog.<>) 'read committed'
            OR NOT EXISTS (SELECT FROM @extschema@.%I(%s, %s) AS line
                           WHERE pg_catalog.strpos(line, '%s') OPERATOR(pg_catalog.>) 0) THEN
        RAISE object_not_in_prerequisite_state USING
            MESSAGE = 'the tables have changed since these statements were printed',
            HINT = 'Print them again, and execute them in a READ COMMITTED transaction.';
    END IF;$$, function, coalesce(quote_literal(tables) || '::pg_catalog.regclass[]', 'NULL'),
            coalesce(quote_literal(schema) || '::pg_catalog.regnamespace', 'NULL'), digest))
    ) v (step, kind, text)
)
SELECT CASE WHEN kind = '--' THEN '-- ' || regexp_replace(text, E'[\n\r]+', ' ', 'g')
    WHEN kind = '' THEN text || ';'
    WHEN strpos(text, '$do$') = 0 THEN format(E'DO $do$ BEGIN\n    %s\nEND $do$;', text)
    ELSE format('DO %L;', format('BEGIN %s END', text)) END
FROM line WHERE text IS NOT NULL ORDER BY owner NULLS FIRST, step, name, text
$sql$;

-- Statements that let keys of tables that exist take snowflake IDs. What is not a shape that is tested stays,
-- and a comment says why.
CREATE FUNCTION snowflake_conversion(tables regclass[] DEFAULT NULL, schema regnamespace DEFAULT NULL)
    RETURNS SETOF text LANGUAGE sql STABLE PARALLEL SAFE
    SET search_path = pg_catalog, pg_temp SET jit = off AS $sql$
WITH RECURSIVE ours AS (SELECT '@extschema@.snowflake_nextval()'::regprocedure::text AS next_id),
-- a row: a dependency on a relation, or on one of its columns
use AS NOT MATERIALIZED (
    SELECT d.*, refobjid AS of,
        replace(pg_describe_object(classid, objid, objsubid), 'rule _RETURN on ', '') AS by_whom
    FROM pg_depend d WHERE refclassid = 'pg_class'::regclass
),
-- a row: a table, its name in a statement, and what keeps all of its columns as they are
relation AS NOT MATERIALIZED (
    SELECT c.*, oid AS rel,
        concat(CASE WHEN relkind = 'r' AND relhassubclass THEN 'ONLY ' END, oid::regclass) AS name,
        CASE WHEN relkind = 'f' THEN 'is foreign' WHEN relpersistence = 't' THEN 'is temporary'
            WHEN reloftype <> 0 THEN format('is of type %s', reloftype::regtype)
            WHEN EXISTS (SELECT FROM pg_depend
                WHERE (classid, objid, deptype) = ('pg_class'::regclass, c.oid, 'e'))
            THEN 'belongs to an extension' END AS oddity
    FROM pg_class c
),
-- a row: a column that takes values of a sequence, which it owns, or IDs
key AS (
    SELECT c.*, attnum AS col, attname, atttypid AS type, attidentity <> '' AS is_identity, expr,
        coalesce(expr = next_id, false) AS is_ours, s.*
    FROM ours, relation c JOIN pg_attribute ON attrelid = rel AND attnum > 0 AND NOT attisdropped
        LEFT JOIN pg_attrdef ON (adrelid, adnum) = (attrelid, attnum) AND attgenerated = ''
        LEFT JOIN LATERAL pg_get_expr(adbin, adrelid) expr ON true
        LEFT JOIN LATERAL (SELECT s.* FROM use JOIN pg_sequence s ON seqrelid = objid
            WHERE (of, refobjsubid) = (attrelid, attnum) AND (deptype = 'i'
                OR deptype = 'a' AND expr = format('nextval(%L::regclass)', objid::regclass))) s ON true
    WHERE relkind IN ('r', 'p', 'f') AND (attidentity <> '' OR strpos(expr, 'nextval(') > 0)
        AND (rel = ANY (tables) OR NOT relispartition AND (relnamespace = schema
            OR tables IS NULL AND schema IS NULL AND relpersistence <> 't'))
),
-- a row: a function whose text can take values of sequences
body AS MATERIALIZED (
    SELECT oid::regprocedure AS signature, prosrc FROM pg_proc
    WHERE pronamespace <> 'pg_catalog'::regnamespace AND prosrc ~* '(next|set)val'
),
-- a row: such a column, and why it stays, whatever its type
judged AS (
    SELECT key.*, CASE WHEN oddity IS NOT NULL THEN 'the table ' || oddity
        WHEN relispartition THEN format('the table is a partition of %s', pg_partition_root(rel))
        WHEN NOT EXISTS (SELECT FROM pg_index WHERE indrelid = rel AND indisprimary
            AND col = ANY ((indkey::int2[])[0:indnkeyatts - 1])) THEN 'it is not in the primary key'
        WHEN type NOT IN ('int4'::regtype, 'int8'::regtype) THEN concat('it is of type ', type::regtype)
        WHEN is_ours THEN NULL
        WHEN seqrelid IS NULL THEN format('it does not own the sequence of its default, %s', expr)
        WHEN seqincrement < 0 THEN 'its sequence counts down'
        ELSE coalesce((
            SELECT format('it refers to %s', confrelid::regclass) FROM pg_constraint
            WHERE conrelid = rel AND contype = 'f' AND col = ANY (conkey) LIMIT 1
        ), (
            SELECT format('%s uses its sequence', by_whom)
            FROM use LEFT JOIN pg_attrdef d ON classid = 'pg_attrdef'::regclass AND d.oid = objid
            WHERE of = seqrelid AND deptype = 'n' AND NOT coalesce(adrelid = rel OR adrelid IN (
                SELECT inhrelid FROM pg_inherits WHERE inhparent = rel
                UNION SELECT relid FROM pg_partition_tree(rel)), false) LIMIT 1
        ), (
            SELECT format('function %s names its sequence', signature)
            FROM body JOIN pg_class s ON s.oid = seqrelid WHERE strpos(prosrc, s.relname) > 0 LIMIT 1
        ), (
            SELECT format(CASE WHEN partrelid IS NULL THEN 'partition %s has another default'
                ELSE '%s is partitioned by it, or by an expression' END, attrelid::regclass)
            FROM pg_partition_tree(rel) JOIN pg_attribute a ON attrelid = relid AND a.attname = key.attname
                LEFT JOIN pg_partitioned_table ON partrelid = relid AND (attnum = ANY (partattrs)
                    OR 0 = ANY (partattrs))
                LEFT JOIN pg_attrdef ON (adrelid, adnum) = (relid, attnum)
            WHERE partrelid IS NOT NULL
                OR relid <> rel AND adnum > 0 AND pg_get_expr(adbin, relid) IS DISTINCT FROM expr LIMIT 1
        )) END AS reason
    FROM key
),
-- a row: a column that refers to another one by a foreign key
reference AS MATERIALIZED (
    SELECT conrelid AS rel, x.col, confrelid AS to_rel, x.to_col
    FROM pg_constraint, unnest(conkey, confkey) AS x (col, to_col) WHERE contype = 'f' AND conparentid = 0
),
-- a row: a column that has to hold the values of a key: itself, and what refers to it, directly or not
family (key_rel, key_col, rel, col, attname, type) AS (
    SELECT rel, col, rel, col, attname, type FROM judged WHERE reason IS NULL
    UNION SELECT key_rel, key_col, r.rel, r.col, a.attname, a.atttypid
    FROM family f JOIN reference r ON (to_rel, to_col) = (f.rel, f.col)
        JOIN pg_attribute a ON (attrelid, attnum) = (r.rel, r.col)
),
-- a row: one of these that becomes bigint, in a table and in each of its partitions
narrow AS (
    SELECT f.*, member,
        (SELECT attnum FROM pg_attribute a WHERE (attrelid, a.attname) = (member, f.attname)) AS number
    FROM family f, LATERAL (SELECT f.rel UNION SELECT relid FROM pg_partition_tree(f.rel)) t (member)
    WHERE type <> 'int8'::regtype
),
-- a row: a reason to leave its type. Only constraints and plain indexes may depend on such a column.
obstacle (key_rel, key_col, reason) AS (
    SELECT key_rel, key_col, concat(member::regclass, v.reason)
    FROM narrow n JOIN relation c ON c.rel = member JOIN pg_class k ON k.oid = key_rel, LATERAL (VALUES
            (type NOT IN ('int4'::regtype, 'int2'::regtype),
                format('.%I is of type %s', attname, type::regtype)),
            (oddity IS NOT NULL, ' ' || oddity),
            (c.relowner <> k.relowner, format(' belongs to %s', c.relowner::regrole)),
            (c.relispartition AND member = n.rel, ' is a partition'),
            (NOT c.relispartition AND c.relkind = 'r' AND EXISTS (SELECT FROM pg_inherits
                WHERE member IN (inhparent, inhrelid)), ' has a parent or children by INHERITS'),
            (EXISTS (SELECT FROM pg_partitioned_table
                WHERE partrelid = member AND (number = ANY (partattrs) OR 0 = ANY (partattrs))),
                ' is partitioned by it, or by an expression')) v (holds, reason) WHERE holds
    UNION SELECT key_rel, key_col, format('%s uses %s.%I', by_whom, member::regclass, attname)
    FROM narrow JOIN use ON (of, refobjsubid) = (member, number)
        LEFT JOIN pg_constraint c ON classid = 'pg_constraint'::regclass AND c.oid = objid
        LEFT JOIN pg_index ON classid = 'pg_class'::regclass AND indexrelid = objid
        LEFT JOIN pg_attrdef e ON classid = 'pg_attrdef'::regclass AND e.oid = objid
        LEFT JOIN pg_sequence ON classid = 'pg_class'::regclass AND seqrelid = objid
    WHERE NOT coalesce(contype IN ('p', 'u', 'f', 'n') OR (adrelid, adnum) = (member, number) OR seqrelid > 0
        OR indexrelid > 0 AND indexprs IS NULL AND indpred IS NULL, false)
    UNION SELECT key_rel, key_col, concat(pg_describe_object(d.classid, objid, objsubid), ' has its row type')
    FROM narrow JOIN pg_class c ON c.oid = member JOIN pg_type t ON t.oid = reltype
        JOIN pg_depend d ON refclassid = 'pg_type'::regclass AND refobjid IN (t.oid, typarray)
    WHERE deptype = 'n' AND d.classid IN ('pg_class'::regclass, 'pg_type'::regclass)
),
-- a row: a column, and why it stays; NULL if it is converted
decided AS (
    SELECT judged.*, coalesce(reason, reasons) AS stays FROM judged LEFT JOIN (
        SELECT key_rel AS rel, key_col AS col, string_agg(reason, '; ' ORDER BY reason) AS reasons
        FROM obstacle GROUP BY 1, 2) o USING (rel, col)
),
converted AS (SELECT *, rel::regclass::text AS of FROM decided WHERE stays IS NULL),
-- a row: a change of a column
change AS (
    SELECT rel, col, 1 AS number, format('ALTER %I DROP IDENTITY', attname) AS part
    FROM converted WHERE is_identity
    UNION SELECT n.rel, n.col, 2, format('ALTER %I TYPE bigint', n.attname)
    FROM narrow n JOIN converted c ON (c.rel, c.col) = (key_rel, key_col)
    UNION SELECT rel, col, 3, format('ALTER %I SET DEFAULT %s', attname, next_id)
    FROM ours, converted WHERE NOT is_ours
),
-- a row: a table that changes
altered AS (
    SELECT rel, relowner, name, bool_or(number = 2) AS is_retyped,
        string_agg(part, ', ' ORDER BY number = 3, col, number) AS parts
    FROM change JOIN relation USING (rel) GROUP BY 1, 2, 3
),
-- a row: a line, and a table to lock: one that changes, or that a foreign key connects with a type that does
line (owner, step, name, kind, text, rel) AS (
    SELECT NULL::oid, 0, '', '--', format('%s.%I stays: %s', rel::regclass, attname, stays), NULL::oid
    FROM decided WHERE stays IS NOT NULL
    UNION ALL SELECT NULL, 0, '', '--', format('%s has no column that takes values of a sequence', t), NULL
    FROM unnest(tables) t WHERE t NOT IN (SELECT rel FROM key)
    UNION ALL SELECT relowner, 10, rel::regclass::text, '', format('ALTER TABLE %s %s', name, parts), rel
    FROM altered
    UNION ALL SELECT a.relowner, 6, '', '', NULL, v.o FROM reference JOIN pg_class a ON a.oid = rel
        JOIN pg_class b ON (b.oid, b.relowner) = (to_rel, a.relowner), LATERAL (VALUES (rel), (to_rel)) v (o)
    WHERE (rel, col) IN (SELECT rel, col FROM change WHERE number = 2)
        OR (to_rel, to_col) IN (SELECT rel, col FROM change WHERE number = 2)
    UNION ALL SELECT relowner, v.*, NULL FROM (
        SELECT relowner, string_agg(name, ', ' ORDER BY name) AS names
        FROM altered WHERE is_retyped GROUP BY relowner
    ) o, LATERAL (VALUES (2, '', 'code', NULL),
        (14, '', '--', format('after the commit: ANALYZE %s; let clients connect again', names))) v
    UNION ALL SELECT relowner, v.*, NULL FROM ours, converted, LATERAL (VALUES
        (9, of, '--', CASE WHEN is_identity THEN format('%s.%I loses the sequence %s, with its grants and '
            'comment; then INSERT ... OVERRIDING USER VALUE takes the values that it is given',
            of, attname, seqrelid::regclass) END),
        (11, seqrelid::regclass::text, '', CASE WHEN NOT is_identity AND seqmax < 9223372036854775807
            THEN format('ALTER SEQUENCE %s AS bigint NO MAXVALUE', seqrelid::regclass) END),
        (12, of, 'DO', format($$IF (SELECT pg_catalog.max(%I) FROM %s) OPERATOR(pg_catalog.>=) %s THEN
        RAISE object_not_in_prerequisite_state USING MESSAGE = %L,
            HINT = 'Give these rows other keys. Before the first ID, an earlier epoch makes IDs larger.';
    END IF;$$, attname, name, next_id, format('keys of %s are not below the next snowflake ID', of))),
        (13, of, '--', CASE WHEN EXISTS (
                SELECT FROM (SELECT rel UNION SELECT relid FROM pg_partition_tree(rel)) t (oid)
                WHERE pg_relation_size(oid) > 0)
            THEN format('%s.%I has keys that mean no time: those below %s', of, attname,
                snowflake_internal.snowflake_within_min(now())) END)) v WHERE NOT is_ours
)
SELECT snowflake_internal.snowflake_printed('snowflake_conversion', tables, schema, jsonb_agg(l)) FROM line l
$sql$;

-- The other way, by the catalog as it is now. One block sets a sequence and the default, under a lock of its
-- own, so that no value comes twice where somebody forgets the transaction.
CREATE FUNCTION snowflake_reversion(tables regclass[] DEFAULT NULL, schema regnamespace DEFAULT NULL)
    RETURNS SETOF text LANGUAGE sql STABLE PARALLEL SAFE
    SET search_path = pg_catalog, pg_temp SET jit = off AS $sql$
WITH RECURSIVE ours AS (SELECT '@extschema@.snowflake_nextval()'::regprocedure AS next_id),
-- a row: the function, or one in SQL that calls it
caller AS (
    SELECT next_id::oid AS f FROM ours UNION SELECT objid FROM ours JOIN pg_depend
        ON (classid, refclassid, refobjid) = ('pg_proc'::regclass, 'pg_proc'::regclass, next_id)
),
-- a row: a column whose default needs one of these, with a sequence that it owns
key AS (
    SELECT c.*, c.oid AS rel, attnum AS col, attname, expr, expr = next_id::text AS is_plain, (
            SELECT seqrelid FROM pg_depend s JOIN pg_sequence ON seqrelid = s.objid AND seqincrement > 0
            WHERE (s.classid, s.refclassid, s.refobjid, s.refobjsubid, s.deptype)
                = ('pg_class'::regclass, 'pg_class'::regclass, adrelid, adnum, 'a')
            ORDER BY 1 LIMIT 1) AS owned
    FROM ours, pg_attrdef e JOIN pg_class c ON c.oid = adrelid
        JOIN pg_attribute ON (attrelid, attnum) = (adrelid, adnum), pg_get_expr(adbin, adrelid) expr
    WHERE e.oid IN (SELECT objid FROM caller JOIN pg_depend
            ON (classid, refclassid, refobjid) = ('pg_attrdef'::regclass, 'pg_proc'::regclass, f))
        AND (adrelid = ANY (tables) OR relnamespace = schema
            OR tables IS NULL AND schema IS NULL AND relpersistence <> 't')
),
-- a row: such a column, and one from which it is inherited, directly or not, unless it owns a sequence
above (rel, attname, is_shared, top, height) AS (
    SELECT rel, attname, owned IS NULL OR relispartition, rel, 0
    FROM key WHERE is_plain AND relkind IN ('r', 'p')
    UNION SELECT a.rel, a.attname, k.owned IS NULL OR k.relispartition, inhparent, height + 1
    FROM above a JOIN pg_inherits ON inhrelid = top
        JOIN key k ON (k.rel, k.attname, is_plain) = (inhparent, a.attname, true) WHERE is_shared
),
-- a row: a column with the topmost one, whose sequence it shares; partitions change with their table
member AS (
    SELECT DISTINCT ON (rel, attname) key.*, top FROM above JOIN key USING (rel, attname)
    WHERE NOT relispartition ORDER BY rel, attname, height DESC, top
),
-- a row: a topmost column, with the sequence that it owns, or the name of a new one: one that is free
sequence AS (
    SELECT m.*, owned IS NULL AS is_new, CASE WHEN owned > 0 THEN owned::regclass::text
        ELSE format('%s.%I', relnamespace::regnamespace, CASE WHEN octet_length(usual) < 64
            AND row_number() OVER (PARTITION BY relnamespace, usual) = 1 AND NOT EXISTS (
                SELECT FROM pg_class c WHERE (c.relname, c.relnamespace) = (usual, m.relnamespace))
            THEN usual ELSE format('snowflake_%s_%s_seq', rel, col) END) END AS seq
    FROM member m, concat(relname, '_', attname, '_seq') usual WHERE top = rel
),
-- a row: a line, and a table to lock
line (owner, step, name, kind, text, rel) AS (
    SELECT NULL::oid, 0, '', '--', format('%s.%I stays: %s', rel::regclass, attname, CASE
        WHEN NOT is_plain THEN format('its default is %s, not %s', expr, next_id)
        WHEN relispartition THEN format('%s, of which it is a partition, has another default',
            pg_partition_root(rel))
        ELSE 'it is a column of a view or of a foreign table' END), NULL::oid FROM ours, key
    WHERE NOT is_plain OR relkind NOT IN ('r', 'p') OR relispartition AND NOT EXISTS (
        SELECT FROM above a WHERE (a.rel, a.attname) = (key.rel, key.attname) AND top <> a.rel)
    UNION ALL SELECT NULL, 0, '', '--', format('%s has no column that takes snowflake IDs', t), NULL
    FROM unnest(tables) t WHERE t NOT IN (SELECT rel FROM key)
    UNION ALL SELECT s.relowner, 14, seq, 'DO', format($$LOCK TABLE %1$s IN ACCESS EXCLUSIVE MODE;
    PERFORM pg_catalog.setval(%2$L, pg_catalog.max(%3$I)) FROM %1$s
        HAVING pg_catalog.max(%3$I) OPERATOR(pg_catalog.>=) (SELECT last_value FROM %4$s);$$,
        s.rel::regclass, seq, s.attname, seq) || string_agg(format(
            E'\n    ALTER TABLE %s%s ALTER %I SET DEFAULT pg_catalog.nextval(%L);', CASE WHEN m.relkind = 'r'
            AND m.relhassubclass THEN 'ONLY ' END, m.rel::regclass, m.attname, seq), ''
            ORDER BY m.rel::regclass::text), NULL
    FROM sequence s JOIN member m ON (m.top, m.attname) = (s.rel, s.attname)
    GROUP BY s.relowner, s.rel, s.attname, seq
    UNION ALL SELECT s.relowner, 6, '', '', NULL, m.rel
    FROM sequence s JOIN member m ON (m.top, m.attname) = (s.rel, s.attname)
    UNION ALL SELECT s.relowner, 15, seq, '', format('GRANT USAGE ON SEQUENCE %s TO %s', seq, string_agg(
        DISTINCT CASE grantee WHEN 0 THEN 'PUBLIC' ELSE grantee::regrole::text END, ', ')), NULL
    FROM sequence s JOIN member m ON (m.top, m.attname) = (s.rel, s.attname),
        LATERAL (SELECT m.rel UNION SELECT relid FROM pg_partition_tree(m.rel)) t (oid)
        JOIN pg_class c ON c.oid = t.oid, LATERAL (SELECT c.relacl UNION ALL
            SELECT attacl FROM pg_attribute WHERE attrelid = c.oid) a (acl), aclexplode(acl)
    WHERE privilege_type = 'INSERT' AND grantee <> s.relowner GROUP BY s.relowner, seq
    UNION ALL SELECT relowner, v.step, seq, '', text, NULL
    FROM sequence LEFT JOIN pg_sequence ON seqrelid = owned, LATERAL (VALUES
        (10, CASE WHEN is_new THEN format('CREATE SEQUENCE %s', seq) END),
        (11, CASE WHEN is_new THEN format('ALTER SEQUENCE %s OWNER TO %s', seq, relowner::regrole) END),
        (12, CASE WHEN is_new
            THEN format('ALTER SEQUENCE %s OWNED BY %s.%I', seq, rel::regclass, attname) END),
        (13, CASE WHEN seqmax < 9223372036854775807
            THEN format('ALTER SEQUENCE %s AS bigint NO MAXVALUE', seq) END)) v (step, text)
)
SELECT snowflake_internal.snowflake_printed('snowflake_reversion', tables, schema, jsonb_agg(l)) FROM line l
$sql$;

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
COMMENT ON FUNCTION snowflake_conversion(regclass[], regnamespace)
    IS 'statements that let keys of tables take snowflake IDs';
COMMENT ON FUNCTION snowflake_reversion(regclass[], regnamespace)
    IS 'statements that let them take values of sequences again';
COMMENT ON FUNCTION snowflake_internal.snowflake_printed(text, regclass[], regnamespace, jsonb)
    IS 'for snowflake_conversion()';
COMMENT ON FUNCTION snowflake_convert(regclass, name, regnamespace, boolean)
    IS 'replaced by snowflake_conversion()';
COMMENT ON FUNCTION snowflake_revert(regclass, name, boolean) IS 'replaced by snowflake_reversion()';
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
                'snowflake_stat_reset', 'snowflake_observe', 'snowflake_observe_rows',
                'snowflake_guard_claims', 'snowflake_guard_layout']::pg_catalog.name[]) AS is_restricted
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
