-- The statements that undo a conversion, which are made with it because the catalog then still has
-- the former defaults. The query goes on from conversion.sql.
,
-- a row: a column with a sequence, and the statement that puts this above the largest key.
raised AS (
    SELECT c.*, seqtypid <> 'bigint'::regtype OR seqmax < 9223372036854775807 AS is_narrow,
           seqincrement > 0 AS is_ascending,
           format(
               'SELECT pg_catalog.setval(%1$L, max(%2$s)) FROM %3$s '
               'HAVING max(%2$s) > (SELECT last_value - (NOT is_called)::integer FROM %1$s);',
               sequence_name, column_name, relation_name) AS raise
    FROM columns AS c,
         LATERAL (SELECT * FROM pg_sequence WHERE seqrelid = sequence OFFSET 0) AS s
),

-- a row: a column whose default or identity was not only inherited.
restored AS (
    SELECT c.*, CASE WHEN is_named THEN '' ELSE 'ONLY ' END AS its_only
    FROM columns AS c
    WHERE is_named
       OR in_family
          AND identity = ''
          AND (c.relation, c.number) IN (
              SELECT own.relation, own.number
              FROM family
              JOIN columns AS own USING (relation, number)
              JOIN columns AS r ON (r.relation, r.number) = (root, root_number)
              WHERE r.default_expression IS DISTINCT FROM own.default_expression
                 OR r.identity <> '' AND own.default_expression IS NOT NULL
          )
       OR (c.relation, c.number) IN (SELECT relation, number FROM identities)
),

-- a row: a statement that goes back to the former keys, as in conversion.
way_back(moment, statement, properties) AS (
    SELECT 'lock',
           format(
               'LOCK TABLE %s IN ACCESS EXCLUSIVE MODE;',
               string_agg(relation_name, ', ' ORDER BY relation_name)),
           NULL
    FROM target
    UNION ALL
    SELECT CASE WHEN is_named THEN 'alter table' ELSE 'alter heirs' END,
           format(
               'ALTER TABLE %s%s ALTER COLUMN %s %s;',
               its_only, relation_name, column_name,
               coalesce('SET DEFAULT ' || default_expression, 'DROP DEFAULT')),
           NULL
    FROM restored
    WHERE identity = '' AND NOT takes_ids
    UNION ALL
    SELECT CASE WHEN is_named THEN 'alter table' ELSE 'alter heirs' END,
           format(
               'ALTER TABLE %s ALTER COLUMN %s DROP DEFAULT, ALTER COLUMN %2$s ADD GENERATED %s AS IDENTITY '
               '(SEQUENCE NAME %s %s %s);',
               relation_name, column_name, CASE identity WHEN 'a' THEN 'ALWAYS' ELSE 'BY DEFAULT' END,
               new_name, steps, others),
           NULL
    FROM identities
    UNION ALL
    SELECT 'copy back',
           format('SELECT pg_catalog.setval(%L, last_value, is_called) FROM %s;', new_name, sequence_name),
           NULL
    FROM identities
    UNION ALL
    SELECT 'drop sequence', format('DROP SEQUENCE %s;', sequence_name), NULL FROM identities
    UNION ALL
    SELECT 'rename sequence', format('ALTER SEQUENCE %s RENAME TO %s;', new_name, short_name),
           format('%s:%s', 'pg_class'::regclass::oid, sequence)
    FROM identities
    UNION ALL
    SELECT 'raise sequence', raise, NULL
    FROM raised
    WHERE is_ascending
      AND (relation, number) IN (SELECT relation, number FROM restored)
      AND (identity <> '' OR default_expression LIKE 'nextval(%')
)
