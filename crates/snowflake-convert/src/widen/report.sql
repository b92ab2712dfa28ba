-- What widening changes, locks and needs, and what applications might run into. The query goes on from
-- constraints.sql and objects.sql.
,
-- a row: a table with columns to be widened, its size, that of its other indexes, and its rows.
sizes AS (
    SELECT t.relation, relation_name, column_names, heap, rows,
           coalesce(
               (SELECT sum(pg_relation_size(indexrelid)) FROM wide_indexes WHERE indrelid = t.relation),
               0)::bigint
               AS new_indexes
    FROM widened_tables AS t
    JOIN pg_class AS c ON c.oid = t.relation,
         LATERAL (
             SELECT string_agg(quote_ident(name), ', ' ORDER BY number)
             FROM shadows AS s
             WHERE s.relation = t.relation
         ) AS of_table (column_names),
         LATERAL (SELECT pg_relation_size(t.relation), nullif(reltuples, -1)::bigint) AS size (heap, rows)
),

-- a row: a row of the report, with its rank.
findings(rank, kind, object, reason, remedy, bytes, lock) AS (
    SELECT 1, 'risk', relation_name,
           format(
               'These columns move to the end of the table: %s. An INSERT without a list of columns then '
               'puts values into others than before, and so does COPY; SELECT * returns another order.',
               column_names),
           'Before the swap, let statements name their columns.', NULL::bigint, NULL
    FROM sizes
    UNION ALL
    SELECT 2, 'risk', relation_name,
           'Where a prepared statement returns all columns, it fails once with "cached plan must not '
           'change result type" after the shadows came, and once after the swap.',
           'Let the application repeat such a statement, as many drivers do, or name the columns that it '
           'returns.',
           NULL, NULL
    FROM sizes
    UNION ALL
    SELECT 2, 'risk', min(relation_name),
           'In sessions that go on, a PL/pgSQL function that uses a row or a record with one of the columns '
           'can fail after the swap with "type of parameter 3 (bigint) does not match that when preparing '
           'the plan (integer)", as after ALTER TABLE ... TYPE. Functions of triggers do not.',
           'Let the application connect again after the swap, or execute ALTER FUNCTION for such functions, '
           'which makes all sessions compile them again.',
           NULL, NULL
    FROM sizes
    HAVING count(*) > 0
    UNION ALL
    SELECT 3, 'risk', min(relation_name),
           'Some drivers return a bigint as a string, such as that of Node.js, or need another type for it.',
           'Release an application that takes both before the swap.', NULL, NULL
    FROM sizes
    HAVING count(*) > 0
    UNION ALL
    SELECT 4, 'risk', min(relation_name),
           'Functions, casts and columns without a foreign key might have place for an integer only.',
           format(
               'Read the risks of SELECT * FROM snowflake_convert_report(%L). Name columns that hold the key '
               'without a foreign key in the argument also.',
               $1::text),
           NULL, NULL
    FROM sizes
    HAVING count(*) > 0
    UNION ALL
    SELECT 5, 'risk', current_user,
           'It does not see how far standbys are behind, and so nothing waits for them.',
           format('GRANT pg_monitor TO %I;', current_user), NULL, NULL
    FROM pg_stat_replication
    WHERE state IS NULL
    HAVING count(*) > 0
    UNION ALL
    SELECT 10, 'change', relation_name,
           format(
               'It gets a shadow of type bigint for each of these columns, a check that the two are the '
               'same, and a trigger: %s.',
               column_names),
           NULL, NULL, 'ACCESS EXCLUSIVE'
    FROM sizes
    UNION ALL
    SELECT 11, 'change', relation_name,
           format(
               'Each of its %srows is updated once, in transactions of about 2,000, with VACUUM between. '
               'The table grows by about this size, and the updates write about %s of WAL.%s',
               rows || ' ', pg_size_pretty(6 * heap),
               ' At 30,000 rows a second, which was measured with three indexes in memory, they take '
               || to_char(make_interval(secs => ceil(rows / 30000.0)), 'HH24:MI:SS.')),
           CASE WHEN rows IS NULL THEN 'Execute ANALYZE, and the report says how long they take.' END,
           heap / 8 + 8 * coalesce(rows, 0), 'ROW EXCLUSIVE'
    FROM sizes
    UNION ALL
    SELECT 12, 'change', index_name,
           'Another index is created concurrently, and takes its place in the swap.', NULL,
           pg_relation_size(indexrelid), 'SHARE UPDATE EXCLUSIVE'
    FROM wide_indexes
    UNION ALL
    SELECT 13, 'change', format('%s.%I', relation_name, conname),
           'Another foreign key is added and validated, and takes its place in the swap.', NULL, NULL,
           'SHARE ROW EXCLUSIVE'
    FROM wide_keys
    UNION ALL
    SELECT 13, 'change', format('%s.%I', relation_name, conname),
           'Another check is added and validated, and takes its place in the swap.', NULL, NULL,
           'ACCESS EXCLUSIVE'
    FROM wide_checks
    UNION ALL
    SELECT 14, 'change', pg_describe_object(class, object, 0),
           'It is dropped and created again in the swap.', NULL,
           NULL, CASE WHEN class = 'pg_class'::regclass THEN 'ACCESS EXCLUSIVE' END
    FROM objects
    UNION ALL
    SELECT 15, 'change', string_agg(relation_name, ', ' ORDER BY relation_name),
           'The swap locks these tables for some milliseconds. Until then, everything can be abandoned.',
           NULL,
           NULL, 'ACCESS EXCLUSIVE'
    FROM (
        SELECT relation_name FROM sizes
        UNION SELECT relation_name FROM wide_keys
        UNION SELECT parent_name FROM wide_keys
    ) AS locked
    HAVING count(*) > 0
)

SELECT kind, object, reason, remedy, bytes, lock FROM findings ORDER BY rank, object, reason
