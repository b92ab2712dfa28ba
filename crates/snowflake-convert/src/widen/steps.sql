-- The next statement. The query goes on from shadows.sql.
,
-- a row: something that has to be there, with a statement that makes it, and whether it is there.
steps(rank, place, phase, object, locks, statement, lock_timeout, in_transaction, is_done) AS (
    SELECT 1, relation_name, 'shadow columns', relation_name,
           format('LOCK TABLE %s IN ACCESS EXCLUSIVE MODE;', relation_name), statement, 100, true, is_done
    FROM shadow_steps
)

SELECT phase, object, locks, statement, lock_timeout, in_transaction, 0, done, total, NULL
FROM (
    SELECT *, count(*) FILTER (WHERE is_done) OVER of_phase AS done, count(*) OVER of_phase AS total
    FROM steps
    WINDOW of_phase AS (PARTITION BY phase)
) AS counted
WHERE NOT is_done
ORDER BY rank, place
LIMIT 1
