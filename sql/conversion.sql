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
