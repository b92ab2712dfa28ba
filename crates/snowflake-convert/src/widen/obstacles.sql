-- What stands in the way of widening. The query goes on from type_obstacles.sql,
-- key_indexes.sql and shadows.sql. $13 are the publications and $14 the triggers that the caller accepts.
,
-- a row: a trigger of a table, with a name that says of which, its function's source, and its condition in
-- terms that are joined by OR and, within these, by AND.
triggers AS (
    SELECT t.relation, t.relation_name, tgname, tgtype, tgenabled, prosrc,
           cardinality(tgattr::int2[]) > 0 AS of_columns,
           format('trigger %I of table %s', tgname, t.relation_name) AS description,
           tgname = ANY ($14::text[])
           OR format('%I.%I', relname, tgname) = ANY ($14)
           OR format('%s.%I', t.relation_name, tgname) = ANY ($14) AS is_accepted,
           -- Where old and new rows are the same but for the shadows, one term of each conjunction is false.
           (
               SELECT bool_and(
                          (
                              SELECT bool_or(
                                         btrim(part, '() ')
                                         ~ '^old\.("[^"]+"|[^\s*]+) (IS DISTINCT FROM|<>) new\.\1$')
                              FROM string_to_table(term, ' AND ') AS part
                          ))
               FROM substring(pg_get_triggerdef(g.oid) FROM ' WHEN \((.*)\) EXECUTE ') AS condition,
                    string_to_table(condition, ' OR ') AS term
           ) AS is_passed
    FROM widened_tables AS t,
         LATERAL (SELECT * FROM pg_trigger WHERE tgrelid = relation AND NOT tgisinternal OFFSET 0) AS g
    JOIN pg_proc AS p ON p.oid = tgfoid
    JOIN pg_class AS c ON c.oid = tgrelid
    WHERE tgname <> '~snowflake_widen' AND tgenabled <> 'D'
),

-- a row: a reason why a key cannot be widened, as in common_obstacles.
widening_obstacles(rank, sqlstate, object, message, detail, hint) AS (
    SELECT 8, '42809', relation_name,
           format('cannot widen column %s of table %s', column_name, relation_name),
           CASE
               WHEN kind = 'p' OR is_partition
                   THEN 'The table is partitioned, or a partition, and indexes of partitioned tables '
                        'cannot be created concurrently.'
               WHEN is_temporary THEN 'The table is temporary.'
               ELSE 'The table inherits another one, or is inherited.'
           END,
           CASE
               WHEN kind = 'p' OR is_partition
                   THEN format(
                            'ALTER TABLE ... ALTER COLUMN %s TYPE bigint, on the partitioned table, rewrites '
                            'all partitions in one statement, during which nobody can read them.',
                            column_name)
           END
    FROM retyped
    WHERE kind <> 'r'
       OR is_partition
       OR is_temporary
       OR EXISTS (SELECT FROM pg_inherits WHERE inhrelid = relation)
       OR EXISTS (SELECT FROM pg_inherits WHERE inhparent = relation)
    UNION ALL
    SELECT 11, '55000', i.relation_name, format('cannot widen a column of index %s', i.index_name),
           CASE
               WHEN i.indisexclusion
                   THEN 'It is that of an exclusion constraint, which cannot be created concurrently.'
               WHEN NOT i.indisvalid THEN 'The index is not valid.'
               ELSE 'It is that of a deferrable constraint, to which no foreign key can refer meanwhile.'
           END,
           CASE
               WHEN i.indisvalid
                   THEN format('First run ALTER TABLE %s DROP CONSTRAINT %I.', i.relation_name, i.name)
               ELSE format('First run DROP INDEX CONCURRENTLY %s.', i.index_name)
           END
    FROM key_indexes AS i
    WHERE i.indisexclusion OR NOT i.indimmediate OR NOT i.indisvalid
    UNION ALL
    SELECT DISTINCT 11, '55000', relation_name,
           format('cannot widen column %s of table %s', column_name, relation_name),
           format('An expression of statistics object %I.%I reads it.', nspname, stxname),
           format('First run DROP STATISTICS %I.%I.', nspname, stxname)
    FROM retyped AS r
    JOIN pg_statistic_ext AS s ON stxrelid = relation AND stxexprs IS NOT NULL
    JOIN pg_namespace AS n ON n.oid = stxnamespace
    JOIN pg_depend
        ON (classid, objid, refclassid, refobjid, refobjsubid)
            = ('pg_statistic_ext'::regclass, s.oid, 'pg_class'::regclass, relation, number::integer)
    UNION ALL
    SELECT 11, '55000', f.relation_name,
           format('cannot widen foreign key %I of table %s', f.conname, f.relation_name),
           CASE
               WHEN to_jsonb(k) ->> 'conperiod' = 'true' THEN 'It refers to periods.'
               ELSE 'Its triggers are disabled, and those of another foreign key would not be.'
           END,
           NULL
    FROM foreign_keys AS f
    JOIN pg_constraint AS k ON k.oid = f.oid
    WHERE to_jsonb(k) ->> 'conperiod' = 'true'
       OR EXISTS (SELECT FROM pg_trigger WHERE tgconstraint = f.oid AND tgenabled <> 'O')
    UNION ALL
    SELECT 11, '2BP01', identity, format('cannot widen what %s %s reads', type, identity),
           'It would be refreshed while all tables are locked.',
           'Drop it, and create it again after the swap.'
    FROM objects
    JOIN pg_class AS c ON class = 'pg_class'::regclass AND c.oid = object AND relkind = 'm' AND relispopulated
    UNION ALL
    SELECT 11, '42501', relation_name,
           format(
               'owner %I of table %s is subject to its row-level security',
               pg_get_userbyid(relowner), relation_name),
           'Rows that the owner cannot see would be left out.',
           format('First run ALTER TABLE %s NO FORCE ROW LEVEL SECURITY.', relation_name)
    FROM widened_tables
    JOIN pg_class AS c ON c.oid = relation
    JOIN pg_roles AS r ON r.oid = relowner
    WHERE relrowsecurity AND relforcerowsecurity AND NOT rolsuper AND NOT rolbypassrls
    UNION ALL
    SELECT 11, '55000', relation_name, format('table %s is in publication %I', relation_name, pubname),
           'A subscriber stops at a column that it does not have.',
           'Give the subscribers the new columns first. Then name the publication, in the argument '
           'publications or with --publication, each time.'
    FROM widened_tables
    JOIN pg_class AS c ON c.oid = relation,
         pg_publication AS p
    WHERE (puballtables
           OR EXISTS (SELECT FROM pg_publication_rel WHERE prpubid = p.oid AND prrelid = relation)
           OR EXISTS (SELECT FROM pg_publication_namespace WHERE pnpubid = p.oid AND pnnspid = relnamespace))
      AND pubname <> ALL ($13::name[])
    UNION ALL
    SELECT 11, '55000', relation_name, format('%s writes whole rows', description),
           'Its function uses OLD.* or NEW.*, which has more columns from now on, and fails where it writes '
           'them to a table that has not.',
           'Let it name columns; or if it does no harm, name the trigger, in the argument harmless_triggers '
           'or with --harmless-trigger, each time.'
    FROM triggers
    WHERE NOT is_accepted
      AND regexp_replace(
              prosrc, '\m(old|new)\s*\.\s*\*\s+IS\s+(NOT\s+)?DISTINCT\s+FROM\s+(old|new)\s*\.\s*\*', '', 'gi')
          ~* '\m(old|new)\s*\.\s*\*'
    UNION ALL
    SELECT 11, '55000', relation_name, format('the backfill would fire %s', description),
           'Each row is updated once without a change of any column that the application knows.',
           'Give the trigger a condition, such as WHEN (OLD.x IS DISTINCT FROM NEW.x); or if it does no '
           'harm, name it, in the argument harmless_triggers or with --harmless-trigger, each time.'
    FROM triggers
    WHERE tgtype & 16 <> 0 AND tgenabled <> 'R' AND NOT of_columns AND is_passed IS NOT TRUE
      AND NOT is_accepted
    UNION ALL
    SELECT 11, '55000', relation_name,
           format('%s fires after that of widening', description),
           'It might change a row after its key was copied, and then the row is refused.',
           format(
               'First run ALTER TRIGGER %I ON %s RENAME TO ..., with a name that comes before "~".',
               tgname, relation_name)
    FROM triggers
    -- BEFORE, FOR EACH ROW, on INSERT or UPDATE.
    WHERE tgtype & 3 = 3 AND tgtype & 20 <> 0 AND tgname > '~snowflake_widen' COLLATE "C"
    UNION ALL
    SELECT 11, '55000', relation_name,
           format('rule %I of table %s would rewrite the backfill', rulename, relation_name),
           'It is a rule for UPDATE.', 'Drop it, or make a trigger of it.'
    FROM widened_tables
    JOIN pg_rewrite ON ev_class = relation AND ev_type = '2' AND ev_enabled <> 'D'
    UNION ALL
    SELECT 11, '2BP01', relation_name,
           format(
               'privileges on column %I of table %s were granted by others than its owner',
               name, relation_name),
           'Nobody but a grantor can grant in his own name, and so the owner cannot give them to the shadow.',
           'First let the owner grant them, and revoke those of the others.'
    FROM shadows AS s
    JOIN pg_class AS c ON c.oid = relation
    JOIN pg_attribute ON (attrelid, attnum) = (relation, number)
    WHERE EXISTS (SELECT FROM aclexplode(attacl) WHERE grantor <> relowner)
    UNION ALL
    SELECT 11, '55000', relation_name,
           format('column %I of table %s has a security label', name, relation_name),
           'Labels are not given to shadows.', NULL
    FROM shadows AS s
    WHERE EXISTS (
        SELECT FROM pg_seclabel
        WHERE (classoid, objoid, objsubid) = ('pg_class'::regclass, relation, number::integer)
    )
    UNION ALL
    -- That of widening itself is not valid at first, too. One that is not enforced refuses nothing.
    SELECT 11, '55000', relation_name,
           format('constraint %I of table %s is not valid', conname, relation_name),
           'A row that does not satisfy it cannot be updated, and so gets no shadow.',
           format('First run ALTER TABLE %s VALIDATE CONSTRAINT %I.', relation_name, conname)
    FROM widened_tables
    JOIN pg_constraint AS k ON conrelid = relation AND contype IN ('c', 'n') AND NOT convalidated
    WHERE conname NOT LIKE 'snowflake\_widen\_%' AND to_jsonb(k) ->> 'conenforced' IS DISTINCT FROM 'false'
    UNION ALL
    SELECT 11, '2BP01', sequence_name,
           format('cannot drop the sequence of column %s of table %s', column_name, relation_name),
           format(
               'It goes with the identity, and another one comes. What depends on it: %s.',
               string_agg(pg_describe_object(classid, objid, objsubid), ', ')),
           'Drop that, or let it do without the sequence.'
    FROM retyped
    JOIN pg_depend
        ON (refclassid, refobjid, deptype) = ('pg_class'::regclass, sequence, 'n')
    WHERE identity <> ''
    GROUP BY sequence_name, column_name, relation_name
    UNION ALL
    SELECT 11, '42701', relation_name,
           format('column %I of table %s already exists', shadow_name, relation_name),
           'It is not a shadow, since no check says that it has the values of the key.',
           'Rename the column, or abandon widening.'
    FROM shadows AS s
    JOIN pg_attribute ON attrelid = relation AND attname = shadow_name AND NOT attisdropped
    WHERE shadow IS NULL
)

SELECT sqlstate, object, message, detail, hint
FROM (
    SELECT * FROM common_obstacles
    UNION ALL SELECT * FROM type_obstacles
    UNION ALL SELECT * FROM widening_obstacles
) AS obstacles
ORDER BY rank, message
