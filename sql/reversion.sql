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
