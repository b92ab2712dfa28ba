-- How rows that nobody writes get their shadows. The query goes on from shadows.sql. $15 is the position:
-- the block from which on rows are looked at, and below zero where VACUUM was executed before it.
,
-- a row: how much WAL there is, unless this is a standby, where a report can be made. There is only one row.
now(lsn) AS (
    SELECT CASE WHEN NOT pg_is_in_recovery() THEN pg_current_wal_lsn() END
),

-- a row: a reason to let others catch up. A standby that the role may not see does not count.
lags(reason) AS (
    SELECT format('Replication slot %I retains %s of WAL.', slot_name, pg_size_pretty(lag))
    FROM pg_replication_slots, now,
         LATERAL (SELECT pg_wal_lsn_diff(lsn, restart_lsn)) AS slot (lag),
         LATERAL (SELECT setting::bigint FROM pg_settings WHERE name = 'max_slot_wal_keep_size')
         AS s (megabytes)
    WHERE wal_status <> 'lost'
      AND lag > least(1024, CASE WHEN megabytes >= 0 THEN megabytes / 2 END) * 1048576
    UNION ALL
    SELECT format('Standby %I is %s behind.', application_name, pg_size_pretty(lag))
    FROM pg_stat_replication, now, LATERAL (SELECT pg_wal_lsn_diff(lsn, replay_lsn)) AS s (lag)
    WHERE lag > 1073741824
),

-- a row: a table whose rows do not all have their shadows, as far as is known, with its blocks; the first
-- block to look at; how many hold about 2,000 rows; after how many VACUUM is due, a power of two, so that
-- they stay the same while the table grows; and how many dead rows VACUUM has left.
unfilled(relation, relation_name, blocks, first, step, every, dead, rows) AS (
    SELECT t.relation, t.relation_name, blocks, abs($15::bigint),
           CASE
               WHEN reltuples > 0 AND relpages > 0
                   THEN greatest(1, least(2000, floor(2000 * relpages / reltuples)))::bigint
               ELSE 32
           END,
           (2 ^ greatest(10, floor(log(2, greatest(blocks, 1)::numeric / 8))))::bigint,
           pg_stat_get_dead_tuples(t.relation), reltuples
    FROM widened_tables AS t
    JOIN pg_class AS c ON c.oid = t.relation,
         LATERAL (
             SELECT pg_relation_size(t.relation) / current_setting('block_size')::bigint
         ) AS size (blocks)
    WHERE EXISTS (SELECT FROM shadows AS s WHERE s.relation = t.relation AND NOT s.is_same)
),

-- a row: the next block of such a table, and what is to be done: to copy the rows up to another block, to
-- execute VACUUM, or to show that all rows are copied.
filling(relation, relation_name, blocks, first, until, phase, wait) AS (
    SELECT relation, relation_name, blocks, first, until, phase,
           CASE
               WHEN phase = 'backfill' AND $15 < 0 AND dead > greatest(10000, rows / 5)
                   THEN format(
                       'VACUUM has left %s dead rows of %s, which some transaction might still see.', dead,
                       relation_name)
               WHEN phase = 'backfill'
                   THEN (SELECT string_agg(reason, ' ' ORDER BY reason) FROM lags)
           END
    FROM unfilled,
         LATERAL (
             SELECT CASE
                        WHEN $15 > 0 AND (first % every = 0 OR first >= blocks) THEN 'vacuum'
                        WHEN first < blocks THEN 'backfill'
                        ELSE 'compare'
                    END,
                    least(first + step, (first / every + 1) * every, greatest(blocks, first + 1))
         ) AS next (phase, until)
),

-- a row: such a table, with the statement. It skips rows that are locked, and so never makes another
-- transaction wait for two rows that it holds: whoever has locked them copies them, or a second scan does.
-- The session reports at once how many rows it has changed, since it would otherwise do so after VACUUM has
-- counted those that are left.
fill_steps(relation_name, phase, statement, in_transaction, next_position, done, total, wait) AS (
    SELECT relation_name, phase,
           CASE phase
               WHEN 'vacuum' THEN format('VACUUM (TRUNCATE false) %s;', relation_name)
               WHEN 'compare' THEN format('ALTER TABLE %s %s;', relation_name, validations)
               ELSE format(
                        'UPDATE ONLY %1$s SET %2$s WHERE ctid OPERATOR(pg_catalog.=) ANY (ARRAY('
                        'SELECT ctid FROM ONLY %1$s WHERE ctid OPERATOR(pg_catalog.>=) ''(%3$s,0)'' '
                        'AND ctid OPERATOR(pg_catalog.<) ''(%4$s,0)'' AND (%5$s) '
                        'FOR NO KEY UPDATE SKIP LOCKED)); SELECT pg_catalog.pg_stat_force_next_flush();',
                        relation_name, assignments, first, until, differences)
           END,
           phase <> 'vacuum',
           CASE
               WHEN phase = 'compare' THEN 0
               WHEN phase = 'vacuum' THEN - first
               -- VACUUM again.
               WHEN wait IS NOT NULL THEN first
               ELSE until
           END,
           least(first, blocks), blocks, wait
    FROM filling,
         LATERAL (
             SELECT string_agg(format('%I = %I', shadow_name, name), ', ' ORDER BY number),
                    string_agg(format('%I IS DISTINCT FROM %I', shadow_name, name), ' OR ' ORDER BY number),
                    string_agg(format('VALIDATE CONSTRAINT %I', same), ', ' ORDER BY number)
             FROM shadows AS s
             WHERE s.relation = filling.relation AND NOT is_same
         ) AS of_table (assignments, differences, validations)
)
