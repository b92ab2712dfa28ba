-- From 0.4.0 to 0.5.0 of the extension of snowflake_pg.

-- The leader takes all IDs of a query, in the query's order.
ALTER FUNCTION snowflake_nextval() PARALLEL RESTRICTED;
ALTER FUNCTION snowflake_nextval(pg_catalog.int4) PARALLEL RESTRICTED;
ALTER FUNCTION snowflake_internal.snowflake_nextval_in_copy() PARALLEL RESTRICTED;

-- What the library notes of new claims, where there are claims.
INSERT INTO pg_catalog.pg_shdepend (dbid, classid, objid, objsubid, refclassid, refobjid, deptype)
    SELECT d.oid, 'pg_catalog.pg_class'::pg_catalog.regclass,
           'snowflake_internal.snowflake_node_claims'::pg_catalog.regclass, 0,
           'pg_catalog.pg_database'::pg_catalog.regclass, d.oid, 'a'
    FROM pg_catalog.pg_database AS d
    WHERE d.datname OPERATOR(pg_catalog.=) pg_catalog.current_database()
      AND EXISTS (SELECT FROM snowflake_internal.snowflake_node_claims);

-- These functions print statements. Those that executed them say so.
-- What prints statements for tables that exist. The functions only read the catalog, with the rights of
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

COMMENT ON FUNCTION snowflake_conversion(regclass[], regnamespace)
    IS 'statements that let keys of tables take snowflake IDs';
COMMENT ON FUNCTION snowflake_reversion(regclass[], regnamespace)
    IS 'statements that let them take values of sequences again';
COMMENT ON FUNCTION snowflake_internal.snowflake_printed(text, regclass[], regnamespace, jsonb)
    IS 'for snowflake_conversion()';
COMMENT ON FUNCTION snowflake_convert(regclass, name, regnamespace, boolean)
    IS 'replaced by snowflake_conversion()';
COMMENT ON FUNCTION snowflake_revert(regclass, name, boolean) IS 'replaced by snowflake_reversion()';
