-- The columns of a table that a statement has made, as far as they concern the adoption of its
-- schema. $1 is the table, $2 the keys that are converted, 'primary' or 'all', $3 the names of the
-- columns that were added, and $4 those of the columns of foreign keys that were added; both are NULL
-- for a new table.
--
-- It runs with search_path = pg_catalog, pg_temp.
WITH RECURSIVE
-- a row: a column of the table that is its own, and whether the statement has made it, or what it
-- refers to.
columns AS (
    SELECT a.attnum AS number, a.attname AS name, a.atttypid AS type, a.attidentity AS identity,
           CASE WHEN a.attname = ANY ($3::name[]) THEN a.xmin END AS made_by,
           a.attgenerated AS generated, d.oid AS default_oid,
           pg_get_expr(d.adbin, d.adrelid) AS default_expression,
           $3::name[] IS NULL OR a.attname = ANY ($3::name[]) AS is_new,
           $3::name[] IS NULL OR a.attname = ANY ($3::name[] || $4::name[]) AS refers_newly
    FROM pg_attribute AS a
    LEFT JOIN pg_attrdef AS d ON (d.adrelid, d.adnum) = (a.attrelid, a.attnum)
    WHERE a.attrelid = $1::regclass AND a.attnum > 0 AND NOT a.attisdropped AND a.attinhcount = 0
),

-- a row: the table, or one that inherits its columns.
family(relation) AS (
    SELECT $1
    UNION
    SELECT inhrelid FROM family JOIN pg_inherits ON inhparent = relation
),

-- a row: a foreign key's column, and the one that it refers to.
referring(relation, number, other, other_number) AS (
    SELECT conrelid, referencing, confrelid, referenced
    FROM pg_constraint, unnest(conkey, confkey) AS pair (referencing, referenced)
    WHERE contype = 'f' AND (conrelid, referencing) <> (confrelid, referenced)
),

-- a row: a new column that takes values of a sequence, and the sequence.
keys AS (
    SELECT c.number, c.name, c.made_by, s.*
    FROM columns AS c,
         LATERAL (
             SELECT p.sequence, bool_or(p.is_own) AS is_own
             FROM (
                 SELECT objid, true
                 FROM pg_depend
                 WHERE (refclassid, refobjid, refobjsubid, classid)
                     = ('pg_class'::regclass, $1, c.number::integer, 'pg_class'::regclass)
                   AND deptype IN ('a', 'i')
                 UNION ALL
                 SELECT refobjid, false
                 FROM pg_depend
                 WHERE (classid, objid, refclassid)
                     = ('pg_attrdef'::regclass, c.default_oid, 'pg_class'::regclass)
             ) AS p (sequence, is_own)
             JOIN pg_class AS sequence ON sequence.oid = p.sequence AND sequence.relkind = 'S'
             GROUP BY p.sequence
         ) AS s
    WHERE c.is_new
      AND c.type IN ('smallint'::regtype, 'integer'::regtype, 'bigint'::regtype)
      AND c.generated = ''
      AND (c.identity <> '' OR c.default_expression LIKE 'nextval(%')
      AND ($2::text = 'all'
           OR EXISTS (
               SELECT FROM pg_index WHERE indrelid = $1 AND indisprimary AND c.number = ANY (indkey)
           ))
      AND ($1, c.number) NOT IN (SELECT relation, number FROM referring)
),

-- a row: an integer column that refers to another table, and a column whose values it takes, directly
-- or not.
references_to(number, name, made_by, relation, other_number) AS (
    SELECT c.number, c.name, CASE WHEN c.name <> ALL ($4::name[]) THEN c.made_by END, r.other,
           r.other_number
    FROM columns AS c
    JOIN referring AS r ON (r.relation, r.number) = ($1, c.number)
    WHERE c.refers_newly AND c.type IN ('smallint'::regtype, 'integer'::regtype)
    UNION
    SELECT t.number, t.name, t.made_by, r.other, r.other_number
    FROM references_to AS t
    JOIN referring AS r ON (r.relation, r.number) = (t.relation, t.other_number)
)

SELECT 'key', name, NULL, NULL,
       CASE
           WHEN NOT is_own THEN 'its default takes values of a sequence that it does not own'
           WHEN EXISTS (
               SELECT
               FROM pg_depend AS p
               WHERE (p.refclassid, p.refobjid) = ('pg_class'::regclass, sequence)
                 AND p.deptype <> 'i'
                 AND NOT (p.classid = 'pg_attrdef'::regclass
                          AND p.objid IN (
                              SELECT d.oid
                              FROM family
                              JOIN pg_attribute AS a ON (a.attrelid, a.attname) = (family.relation, keys.name)
                              JOIN pg_attrdef AS d ON (d.adrelid, d.adnum) = (a.attrelid, a.attnum)
                          ))
           ) THEN 'other objects use its sequence'
           WHEN (seqstart, seqincrement, seqmin, seqmax, seqcache, seqcycle)
               <> (1, 1, 1,
                   CASE seqtypid
                       WHEN 'smallint'::regtype THEN 32767
                       WHEN 'integer'::regtype THEN 2147483647
                       ELSE 9223372036854775807
                   END,
                   1, false) THEN 'its sequence has options of its own'
           WHEN EXISTS (
               SELECT
               FROM pg_partitioned_table
               -- The columns of a partition key, and of the expressions in it, depend on the table.
               JOIN pg_depend AS p
                   ON (p.classid, p.objid, p.objsubid) = ('pg_class'::regclass, partrelid, keys.number)
                  AND (p.refclassid, p.refobjid, p.refobjsubid, p.deptype) = (p.classid, p.objid, 0, 'i')
               WHERE partrelid = $1 AND partstrat <> 'h'
           ) THEN 'the table is partitioned by it'
           WHEN EXISTS (
               SELECT
               FROM columns AS c
               JOIN pg_depend AS p ON (p.classid, p.objid) = ('pg_attrdef'::regclass, c.default_oid)
               WHERE c.generated <> ''
                 AND (p.refclassid, p.refobjid, p.refobjsubid) = ('pg_class'::regclass, $1, keys.number)
           ) THEN 'a generated column is computed from it'
           WHEN EXISTS (
               SELECT
               FROM pg_index
               WHERE indrelid = $1
                 AND concat(indexprs, indpred) ~ format(':varattno %s\M', keys.number)
           ) THEN 'an index computes with it'
       END,
       made_by, number
FROM keys
JOIN pg_sequence ON seqrelid = sequence
UNION ALL
SELECT DISTINCT ON (number) 'reference', t.name, t.relation::regclass::text, a.attname, NULL, t.made_by,
                            t.number
FROM references_to AS t
JOIN pg_attribute AS a ON (a.attrelid, a.attnum) = (t.relation, t.other_number)
JOIN pg_attrdef AS d ON (d.adrelid, d.adnum) = (t.relation, t.other_number)
JOIN pg_depend AS p
    ON (p.classid, p.objid, p.refclassid) = ('pg_attrdef'::regclass, d.oid, 'pg_proc'::regclass)
JOIN pg_depend AS e
    ON (e.classid, e.objid, e.refclassid, e.deptype)
        = ('pg_proc'::regclass, p.refobjid, 'pg_extension'::regclass, 'e')
JOIN pg_extension ON pg_extension.oid = e.refobjid AND extname = 'snowflake'
JOIN pg_proc ON pg_proc.oid = p.refobjid AND proname = 'snowflake_nextval'
ORDER BY 1, 7
