-- The next statement. The query goes on from steps.sql.
,
-- a row: why no lock can be had: an autovacuum that goes on. What others execute is only shown to some
-- roles.
held(reason) AS (
    SELECT string_agg(
               format('Autovacuum freezes rows of table %s, and does not yield.', l.relation::regclass), ' ')
    FROM pg_stat_activity AS a
    JOIN pg_locks AS l USING (pid)
    JOIN widened_tables AS t ON t.relation = l.relation
    WHERE query LIKE 'autovacuum:%(to prevent wraparound)' AND l.mode = 'ShareUpdateExclusiveLock'
)

SELECT phase, object, CASE WHEN waiting IS NULL THEN locks END, CASE WHEN waiting IS NULL THEN statement END,
       lock_timeout, in_transaction, next_position, coalesce(done, phase_done), coalesce(total, phase_total),
       waiting
FROM (
    SELECT *, count(*) FILTER (WHERE is_done) OVER (PARTITION BY phase) AS phase_done,
           count(*) OVER (PARTITION BY phase) AS phase_total
    FROM (
        SELECT * FROM steps
        UNION ALL
        SELECT 99, NULL, CASE WHEN EXISTS (SELECT FROM shadows) THEN 'ready' ELSE 'done' END, NULL, NULL,
               NULL, CASE WHEN EXISTS (SELECT FROM shadows) THEN 100 ELSE 0 END, true, false, 0, 0, 0, NULL
    ) AS steps_and_end
) AS counted,
     LATERAL (
         SELECT coalesce(wait, CASE WHEN lock_timeout > 0 THEN (SELECT reason FROM held) END)
     ) AS of (waiting)
WHERE NOT is_done
ORDER BY rank, place, object
LIMIT 1
