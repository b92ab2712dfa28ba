-- Columns of a primary key that take values of a sequence, and why they stay as they are. $1 is the
-- table, and $2 an array with the numbers of the columns.
--
-- It runs with search_path = pg_catalog, pg_temp, and reads only rows of this table, by index. OFFSET 0
-- and IS NOT DISTINCT FROM keep the planner from other indexes.
WITH
-- a row: such a column, and the sequence.
keys AS (
    SELECT a.*, d.oid AS default_oid, c.relowner,
           coalesce(
               (SELECT refobjid
                FROM pg_depend
                WHERE (classid, objid, refclassid) = ('pg_attrdef'::regclass, d.oid, 'pg_class'::regclass)
                  AND refobjid <> $1
                LIMIT 1),
               (SELECT objid
                FROM pg_depend
                WHERE (refclassid, refobjid, refobjsubid, classid, deptype)
                    = ('pg_class'::regclass, $1, a.attnum, 'pg_class'::regclass, 'i'))) AS sequence
    FROM pg_attribute AS a
    JOIN pg_class AS c ON c.oid = a.attrelid
    LEFT JOIN pg_attrdef AS d ON (d.adrelid, d.adnum) = (a.attrelid, a.attnum)
    WHERE a.attrelid = $1
      AND a.attnum = ANY ($2::text::smallint[])
      AND a.attinhcount = 0
      AND a.atttypid IN ('smallint'::regtype, 'integer'::regtype, 'bigint'::regtype)
      AND a.attgenerated = ''
      AND (a.attidentity <> '' OR pg_get_expr(d.adbin, d.adrelid) LIKE 'nextval(%')
      -- What refers to another table takes its values from there.
      AND NOT EXISTS (
          SELECT FROM pg_constraint WHERE conrelid = $1 AND contype = 'f' AND a.attnum = ANY (conkey)
      )
)

SELECT attrelid::regclass, quote_ident(attname), attnum,
       CASE
           WHEN atttypid <> 'bigint'::regtype THEN format('it is of type %s', format_type(atttypid, NULL))
           WHEN attidentity = ''
                AND NOT EXISTS (
                    SELECT
                    FROM pg_depend
                    WHERE (classid, objid, refclassid, refobjid, refobjsubid, deptype)
                        = ('pg_class'::regclass, sequence, 'pg_class'::regclass, $1, attnum, 'a')
                ) THEN 'its default takes values of a sequence that it does not own'
           WHEN (SELECT (seqstart, seqincrement, seqmin, seqmax, seqcache, seqcycle)
                     <> (1, 1, 1, 9223372036854775807, 1, false)
                 FROM pg_sequence
                 WHERE seqrelid = sequence) THEN 'its sequence has options of its own'
           WHEN EXISTS (
               SELECT
               FROM pg_attrdef AS d
               CROSS JOIN LATERAL (
                   SELECT
                   FROM pg_depend
                   WHERE (classid, objid) = ('pg_attrdef'::regclass, d.oid)
                     AND (refclassid, refobjid) IS NOT DISTINCT FROM ('pg_class'::regclass, sequence)
                   OFFSET 0
               ) AS uses
               WHERE d.adrelid = $1 AND d.oid <> default_oid
           ) THEN 'another column uses its sequence'
           -- The columns of a partition key, and of the expressions in it, depend on the table.
           WHEN EXISTS (
               SELECT
               FROM pg_partitioned_table
               JOIN pg_depend
                   ON (classid, objid, objsubid, refclassid, refobjid, refobjsubid, deptype)
                       = ('pg_class'::regclass, $1, attnum, 'pg_class'::regclass, $1, 0, 'i')
               WHERE partrelid = $1 AND partstrat <> 'h'
           ) THEN 'the table is partitioned by it'
           -- A generated column, an index, or a check constraint. A check that only says that the key
           -- is above a small number holds for snowflake IDs.
           WHEN EXISTS (
               SELECT
               FROM pg_depend AS p
               LEFT JOIN pg_constraint AS k ON p.classid = 'pg_constraint'::regclass AND k.oid = p.objid
               LEFT JOIN pg_index AS i ON p.classid = 'pg_class'::regclass AND i.indexrelid = p.objid
               WHERE (p.refclassid, p.refobjid, p.refobjsubid) = ('pg_class'::regclass, $1, attnum)
                 AND (p.classid = 'pg_attrdef'::regclass AND p.objid IS DISTINCT FROM default_oid
                      OR k.contype = 'c'
                         AND k.conkey = ARRAY[attnum]
                         AND pg_get_expr(k.conbin, $1)
                             !~ '^\(\S+ (>|>=|<>) [(]?''?-?\d{1,9}''?[)]?(::\w+)?\)$'
                      OR concat(i.indexprs, i.indpred) ~ format(':varattno %s\M', attnum))
           ) THEN 'something computes with it'
           WHEN attidentity <> '' AND pg_get_userbyid(relowner) <> current_user
               THEN 'it is an identity column, and the table belongs to another role'
       END,
       CASE WHEN attidentity <> '' THEN sequence::regclass END
FROM keys
WHERE sequence IS NOT NULL
ORDER BY attnum
