-- What a swap needs, in this order. The query goes on from constraints.sql and backfill.sql.
,
-- a row: something that has to be there, with a statement that makes it, and whether it is there.
steps(
    rank, place, phase, object, locks, statement, lock_timeout, in_transaction, is_done, next_position, done,
    total, wait) AS (
    SELECT 1, relation_name, 'shadow columns', relation_name,
           format('LOCK TABLE %s IN ACCESS EXCLUSIVE MODE;', relation_name), statement, 100, true, is_done, 0,
           NULL::bigint, NULL::bigint, NULL
    FROM shadow_steps
    UNION ALL
    SELECT 2, relation_name, 'leftovers', relation_name,
           format('LOCK TABLE %s IN ACCESS EXCLUSIVE MODE;', locked), statement, 100, true, false, 0, NULL,
           NULL, NULL
    FROM leftovers
    UNION ALL
    SELECT 3, relation_name, phase, relation_name, NULL, statement, 0, in_transaction, false, next_position,
           done, total, wait
    FROM fill_steps
    UNION ALL
    SELECT 4, relation_name, 'properties', relation_name, NULL, statement, 0, true, is_done, 0, NULL, NULL,
           NULL
    FROM of_shadows JOIN shadows USING (relation, number)
    UNION ALL
    SELECT 5, relation_name, 'not null', relation_name,
           format('LOCK TABLE %s IN ACCESS EXCLUSIVE MODE;', relation_name),
           format(
               'ALTER TABLE %s %s;', relation_name,
               string_agg(format('ALTER COLUMN %I SET NOT NULL', shadow_name), ', ' ORDER BY number)),
           100, true, bool_and(attnotnull), 0, NULL, NULL, NULL
    FROM shadows
    JOIN pg_attribute ON (attrelid, attnum) = (relation, shadow)
    WHERE not_null
    GROUP BY relation_name
    UNION ALL
    SELECT 6, relation_name, 'checks', format('%s.%I', relation_name, conname),
           format('LOCK TABLE %s IN ACCESS EXCLUSIVE MODE;', relation_name), statement, 100, true, is_there,
           0, NULL, NULL, NULL
    FROM wide_checks
    UNION ALL
    SELECT 7, relation_name, 'validate', format('%s.%I', relation_name, conname), NULL,
           format('ALTER TABLE %s VALIDATE CONSTRAINT %I;', relation_name, other_name), 0, true,
           coalesce(is_validated, false) OR NOT convalidated, 0, NULL, NULL, NULL
    FROM wide_checks
    UNION ALL
    SELECT 8, index_name, 'drop index', index_name, NULL, format('DROP INDEX CONCURRENTLY %s;', index_name),
           0, false, false, 0, NULL, NULL,
           CASE WHEN is_created THEN format('Another session creates index %s.', index_name) END
    FROM useless_indexes
    UNION ALL
    SELECT 9, index_name, 'indexes', index_name, NULL, statement, 0, false, other_oid IS NOT NULL, 0, NULL,
           NULL, NULL
    FROM wide_indexes JOIN index_creations USING (indexrelid)
    UNION ALL
    SELECT 10, relation_name, 'foreign keys', format('%s.%I', relation_name, conname),
           format(
               'LOCK TABLE %s IN SHARE ROW EXCLUSIVE MODE;',
               concat_ws(', ', parent_name, nullif(relation_name, parent_name))),
           statement, 100, true, is_there, 0, NULL, NULL, NULL
    FROM wide_keys
    UNION ALL
    SELECT 11, relation_name, 'validate', format('%s.%I', relation_name, conname), NULL,
           format('ALTER TABLE %s VALIDATE CONSTRAINT %I;', relation_name, other_name), 0, true,
           coalesce(is_validated, false) OR NOT convalidated, 0, NULL, NULL, NULL
    FROM wide_keys
    UNION ALL
    SELECT 12, relation_name, 'statistics', format('%I.%I', nspname, stxname), NULL, statement, 0, true,
           is_there, 0, NULL, NULL, NULL
    FROM wide_statistics
    UNION ALL
    SELECT 12, index_name, 'statistics', index_name, NULL,
           format('ALTER INDEX %s ALTER COLUMN %s SET STATISTICS %s;', other, a.attnum, a.attstattarget), 0,
           true, coalesce(o.attstattarget, -1) = a.attstattarget, 0, NULL, NULL, NULL
    FROM wide_indexes
    JOIN pg_attribute AS a ON a.attrelid = indexrelid AND a.attstattarget >= 0
    JOIN pg_attribute AS o ON (o.attrelid, o.attnum) = (other_oid, a.attnum)
)
