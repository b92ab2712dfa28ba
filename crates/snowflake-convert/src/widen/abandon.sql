-- What is left of widening a key. The query goes on from keys.sql.
,
-- a row: a table with a column of the key's values, and what a foreign key of ours connects with it.
abandoned(relation) AS (
    SELECT relation FROM connected
    UNION
    SELECT oid FROM pg_class WHERE oid = $1 AND relkind = 'r'
    UNION
    SELECT other
    FROM abandoned,
         LATERAL (
             SELECT CASE relation WHEN conrelid THEN confrelid ELSE conrelid END
             FROM pg_depend,
                  LATERAL (SELECT * FROM pg_constraint WHERE oid = objid OFFSET 0) AS k
             WHERE (classid, refclassid, refobjid)
                   = ('pg_constraint'::regclass, 'pg_class'::regclass, relation)
               AND conname ~ '^snowflake_widen_[0-9a-f]{16}$'
               AND contype = 'f'
         ) AS keys (other)
    -- So that the planner expects few rows of the recursion.
    WHERE relation = relation::bigint::oid
),

-- a row: such a table, with its name.
named_tables(relation, relation_name) AS (
    SELECT c.oid, format('%I.%I', nspname, relname)
    FROM abandoned
    JOIN pg_class AS c ON c.oid = relation
    JOIN pg_namespace AS n ON n.oid = relnamespace
),

-- a row: a table with what goes: its trigger, and its shadows with all that was made for them.
parts(relation_name, part) AS (
    SELECT relation_name, format('DROP TRIGGER %I ON %s;', tgname, relation_name)
    FROM named_tables
    JOIN pg_trigger ON tgrelid = relation AND tgname = '~snowflake_widen'
    UNION ALL
    SELECT relation_name,
           format(
               'ALTER TABLE %s %s;', relation_name,
               string_agg(format('DROP COLUMN %I', attname), ', ' ORDER BY attnum))
    FROM named_tables AS t
    JOIN pg_attribute AS a ON attrelid = relation AND atttypid = 'bigint'::regtype AND NOT attisdropped
    WHERE EXISTS (
        SELECT FROM pg_constraint
        WHERE conrelid = relation
          AND contype = 'c'
          AND conname LIKE 'snowflake\_widen\_same\_%'
          AND attnum = ANY (conkey)
    )
    GROUP BY relation_name
),

-- a row: a statement, in the order of rank.
steps(rank, object, locks, statement) AS (
    SELECT 1, format('%s.%I', child.relation_name, conname),
           format(
               'LOCK TABLE %s IN ACCESS EXCLUSIVE MODE;',
               concat_ws(', ', parent.relation_name, nullif(child.relation_name, parent.relation_name))),
           format('ALTER TABLE %s DROP CONSTRAINT %I;', child.relation_name, conname)
    FROM named_tables AS child
    JOIN pg_constraint ON conrelid = child.relation AND contype = 'f'
    JOIN named_tables AS parent ON parent.relation = confrelid
    WHERE conname ~ '^snowflake_widen_[0-9a-f]{16}$'
    UNION ALL
    SELECT 2, relation_name, format('LOCK TABLE %s IN ACCESS EXCLUSIVE MODE;', relation_name),
           string_agg(part, ' ' ORDER BY part DESC)
    FROM parts
    GROUP BY relation_name
)

SELECT CASE WHEN statement IS NULL THEN 'nothing' ELSE 'abandon' END, object, locks, statement, 100, true,
       0, 0, count(statement) OVER (), NULL
FROM (
    SELECT * FROM steps
    UNION ALL SELECT 99, NULL, NULL, NULL
) AS rows
ORDER BY rank, object
LIMIT 1
