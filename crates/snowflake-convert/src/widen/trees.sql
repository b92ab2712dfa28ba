-- Expressions that read columns to be widened. The query goes on from shadows.sql.
,
-- a row: the expressions of an index, as a list, or one of a predicate or of a check, as trees of nodes in
-- which columns have numbers.
trees(key, relation, tree) AS (
    SELECT keys.key, relation, tree::text
    FROM (SELECT DISTINCT relation FROM shadows) AS t,
         LATERAL (SELECT * FROM pg_index WHERE indrelid = relation OFFSET 0) AS i,
         LATERAL (
             VALUES (format('index:%s', indexrelid), indexprs), (format('predicate:%s', indexrelid), indpred)
         ) AS keys (key, tree)
    WHERE tree IS NOT NULL
    UNION ALL
    SELECT format('check:%s', k.oid), relation, conbin::text
    FROM (SELECT DISTINCT relation FROM shadows) AS t,
         LATERAL (SELECT * FROM pg_constraint WHERE conrelid = relation AND contype = 'c' OFFSET 0) AS k
)

SELECT key, relation, tree, numbers, of_shadows
FROM trees
JOIN (
    SELECT relation, string_agg(number::text, ' ' ORDER BY number),
           string_agg(shadow::text, ' ' ORDER BY number)
    FROM shadows
    WHERE shadow IS NOT NULL
    GROUP BY relation
) AS of_table (relation, numbers, of_shadows) USING (relation)
