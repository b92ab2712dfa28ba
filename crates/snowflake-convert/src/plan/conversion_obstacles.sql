-- What stands in the way of a conversion only. The query goes on from takers.sql, obstacles.sql,
-- inheritance.sql and type_obstacles.sql.
,
-- a row: how many locks the transaction takes, and how many the lock table has room for. There is
-- only one row.
locks(wanted, slots, room) AS (
    SELECT (SELECT count(*) FROM retyped)::bigint
           -- Relations that are rewritten are locked with their old files and their new ones.
           + (
               SELECT coalesce(sum(of_table + 3 * of_indexes), 0)
               FROM (SELECT DISTINCT relation FROM retyped) AS r,
                    LATERAL (
                        SELECT CASE WHEN reltoastrelid = 0 THEN 8 ELSE 14 END,
                               (SELECT count(*) FROM pg_index WHERE indrelid = relation)
                        FROM pg_class
                        WHERE oid = relation
                        OFFSET 0
                    ) AS l (of_table, of_indexes)
           )
           + 6 * (SELECT count(*) FROM foreign_keys)
           + 2 * (SELECT count(*) FROM widened)
           + 7 * (SELECT count(DISTINCT (class, object)) FROM dependents WHERE $7)
           + 6 * (SELECT count(*) FROM family),
           slots, slots * connections
    FROM (
        SELECT current_setting('max_locks_per_transaction')::bigint AS slots,
               current_setting('max_connections')::bigint
               + current_setting('max_prepared_transactions')::bigint
               + current_setting('max_worker_processes')::bigint
               + current_setting('max_wal_senders')::bigint
               + coalesce(
                   current_setting('autovacuum_worker_slots', true),
                   current_setting('autovacuum_max_workers'))::bigint
               + 1 AS connections
    ) AS settings
),

-- a row: a trigger of a foreign key that does not fire as usual.
disabled AS (
    SELECT k.oid, k.conname, k.conrelid, k.relation_name, t.tgrelid, t.tgfoid,
           format('%I.%I', n.nspname, c.relname) AS triggered_name,
           CASE t.tgenabled
               WHEN 'D' THEN 'DISABLE'
               WHEN 'R' THEN 'ENABLE REPLICA'
               ELSE 'ENABLE ALWAYS'
           END AS state
    FROM foreign_keys AS k,
         LATERAL (SELECT * FROM pg_trigger WHERE tgconstraint = k.oid AND tgenabled <> 'O' OFFSET 0) AS t,
         LATERAL (SELECT * FROM pg_class WHERE oid = t.tgrelid OFFSET 0) AS c
    JOIN pg_namespace AS n ON n.oid = c.relnamespace
),

-- a row: a partition where such a trigger does not fire as in the table.
disabled_in_partitions AS (
    SELECT DISTINCT k.conname, k.relation_name, t.tgrelid::regclass AS partition
    FROM foreign_keys AS k,
         LATERAL (
             SELECT t.tgrelid
             FROM pg_trigger AS top,
                  LATERAL (
                      SELECT objid
                      FROM pg_depend
                      WHERE (refclassid, refobjid, classid) = ('pg_trigger'::regclass, top.oid, refclassid)
                      OFFSET 0
                  ) AS of_top,
                  LATERAL (SELECT * FROM pg_trigger WHERE oid = objid AND tgparentid = top.oid OFFSET 0) AS t
             WHERE top.tgconstraint = k.oid AND t.tgenabled <> top.tgenabled
             OFFSET 0
         ) AS t
),

-- a row: a reason why keys cannot be converted, as in common_obstacles.
conversion_obstacles AS (
    SELECT 21, '42501', relation_name,
           format(
               'owner %I of table %s lacks USAGE on schema %I',
               pg_get_userbyid(owner), relation_name, $4::text),
           'The statements run as the owner of the table, and name snowflake_nextval() in that schema.', NULL
    FROM target
    WHERE NOT has_schema_privilege(owner, $4::text, 'USAGE')
    UNION ALL
    -- PostgreSQL 18 creates the parent's constraint again first, in the child too, and then fails to
    -- create the child's own.
    SELECT 9, '55000', child.relation_name,
           format('cannot change the type of column %s of table %s', child.column_name, child.relation_name),
           format(
               'The column is inherited from table %s. Its not-null constraint is '
               'named %I there, and %I here.',
               parent.relation_name, inherited.conname, own.conname),
           format(
               'First run %s.',
               CASE
                   WHEN child.is_partition
                       THEN format(
                           'ALTER TABLE %1$s DETACH PARTITION %2$s; '
                           'ALTER TABLE %1$s ATTACH PARTITION %2$s %3$s',
                           parent.relation_name, child.relation_name, pg_get_expr(relpartbound, c.oid))
                   ELSE format(
                       'ALTER TABLE %1$s NO INHERIT %2$s; '
                       'ALTER TABLE %1$s RENAME CONSTRAINT %3$I TO %4$I; '
                       'ALTER TABLE %1$s INHERIT %2$s',
                       child.relation_name, parent.relation_name, own.conname, inherited.conname)
               END)
    FROM inheriting AS i
    JOIN retyped AS child ON (child.relation, child.number) = (i.child, i.child_number)
    JOIN retyped AS parent ON (parent.relation, parent.number) = (i.relation, i.number),
         LATERAL (SELECT oid, relpartbound FROM pg_class WHERE oid = child.relation OFFSET 0) AS c,
         LATERAL (
             SELECT conname
             FROM pg_constraint
             WHERE contype = 'n' AND conrelid = child.relation AND conkey = ARRAY[child.number] AND conislocal
             OFFSET 0
         ) AS own,
         LATERAL (
             SELECT conname
             FROM pg_constraint
             WHERE contype = 'n'
               AND conrelid = parent.relation
               AND conkey = ARRAY[parent.number]
               AND NOT connoinherit
             OFFSET 0
         ) AS inherited
    WHERE own.conname <> inherited.conname
    UNION ALL
    SELECT DISTINCT 9, '42P16', child.relation_name,
           format('cannot change the type of column %s of table %s', child.column_name, child.relation_name),
           format('The table has it from %s, which do not all inherit it from one table.', parents),
           'First run ALTER TABLE ... NO INHERIT for all of them but one.'
    FROM (
        SELECT t.relation, t.number, string_agg(parent.relation_name, ', ' ORDER BY parent.relation_name),
               count(*) FILTER (WHERE (root, parent.relation, parent.number) IN (SELECT * FROM trees)),
               count(*)
        FROM trees AS t
        JOIN inheriting AS i ON (i.child, i.child_number) = (t.relation, t.number)
        JOIN retyped AS parent ON (parent.relation, parent.number) = (i.relation, i.number)
        GROUP BY root, t.relation, t.number
    ) AS inherited (relation, number, parents, of_root, of_all)
    JOIN retyped AS child USING (relation, number)
    WHERE of_root > 0 AND of_root < of_all
    UNION ALL
    SELECT DISTINCT 11, '55000', relation_name,
           format('triggers of foreign key %I of table %s are disabled', conname, relation_name),
           'The foreign key is dropped and added again by the owner of the table, and only a superuser can '
           'disable its triggers then.',
           format('First run ALTER TABLE %s ENABLE TRIGGER ALL as superuser.', disabled.tgrelid::regclass)
    FROM disabled, the_owner
    JOIN pg_roles ON pg_roles.oid = role AND NOT rolsuper
    UNION ALL
    SELECT 11, '55000', relation_name,
           format(
               'triggers of foreign key %I of table %s are disabled in partition %s',
               conname, relation_name, partition),
           'The foreign key is dropped and added again, and its new triggers would be '
           'enabled in all partitions.',
           format('First run ALTER TABLE %s ENABLE TRIGGER ALL as superuser.', partition)
    FROM disabled_in_partitions
    UNION ALL
    SELECT * FROM key_obstacles
    UNION ALL
    SELECT 12, '53400', format('%s locks', wanted), 'the statements need more locks than there may be',
           format(
               'They take about %s locks in one transaction, and the lock table has room for %s.',
               wanted, room),
           format(
               'Set max_locks_per_transaction to %s or more and restart the server, or '
               'convert fewer keys at once.',
               ceil(wanted::numeric * slots / room))
    FROM locks
    WHERE wanted > room
    UNION ALL
    SELECT * FROM type_obstacles
)
