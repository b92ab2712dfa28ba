-- The next statement of the backfill. The query goes on from backfill.sql.
SELECT phase, relation_name, NULL, CASE WHEN wait IS NULL THEN statement END, 0, in_transaction,
       next_position,
       done, total, wait
FROM fill_steps
ORDER BY relation_name
LIMIT 1
