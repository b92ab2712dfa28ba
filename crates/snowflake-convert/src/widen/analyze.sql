-- Tables whose shadows the planner knows nothing of. The query goes on from indexes.sql.
,
-- a row: a column of a table or of an index, and the one that is to take its place.
analyzed(relation_name, schema, name, column_name, other, other_column) AS (
    SELECT relation_name, nspname, relname, s.name, relname, shadow_name
    FROM shadows AS s
    JOIN pg_class AS c ON c.oid = relation
    JOIN pg_namespace AS n ON n.oid = relnamespace
    UNION ALL
    SELECT relation_name, nspname, i.name, a.attname, other_name, o.attname
    FROM wide_indexes AS i
    JOIN pg_attribute AS a ON a.attrelid = indexrelid
    JOIN pg_attribute AS o ON (o.attrelid, o.attnum) = (other_oid, a.attnum)
)

SELECT 'analyze', relation_name, NULL, format('ANALYZE %s;', relation_name), 0, true, 0, 0, 1, NULL
FROM analyzed
WHERE (schema, name, column_name) IN (SELECT schemaname, tablename, attname FROM pg_stats)
  AND (schema, other, other_column) NOT IN (SELECT schemaname, tablename, attname FROM pg_stats)
ORDER BY relation_name
LIMIT 1
