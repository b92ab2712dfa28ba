-- What stands in the way of converting or reverting keys, and the statements that it takes. The
-- query begins with keys.sql, objects.sql, bound.sql, trust.sql and rebuilt.sql.
,
-- What depends on a column and cannot be created again, or is not to be.
in_the_way(relation, number, description, can_be_created) AS (
    SELECT d.relation, d.number,
           CASE WHEN adrelid IS NOT NULL THEN pg_describe_object('pg_class'::regclass, adrelid, adnum)
                WHEN partrelid IS NOT NULL THEN 'the partition key of ' || pg_describe_object(d.class, d.object, 0)
                WHEN contypid > 0 THEN format('%s of %s', pg_describe_object(d.class, d.object, 0), pg_describe_object('pg_type'::regclass, contypid, 0))
                ELSE pg_describe_object(d.class, d.object, 0) END,
           (d.class, d.object) IN (SELECT class, object FROM wholes)
    FROM dependents AS d
    LEFT JOIN pg_attrdef ON d.class = 'pg_attrdef'::regclass AND pg_attrdef.oid = d.object
    LEFT JOIN pg_partitioned_table ON d.class = 'pg_class'::regclass AND partrelid = d.object
    LEFT JOIN pg_constraint AS k ON d.class = 'pg_constraint'::regclass AND k.oid = d.object
    UNION
    SELECT r.relation, r.number, pg_describe_object('pg_class'::regclass, attrelid, attnum), false
    FROM retyped AS r
    JOIN row_types ON row_types.relation = r.relation
    JOIN pg_attribute ON atttypid = row_types.type AND NOT attisdropped
    JOIN pg_class AS c ON c.oid = attrelid AND c.relkind IN ('r', 'p', 'f')
    UNION
    SELECT relation, number, 'the partition key of ' || relation_name, false
    FROM retyped
    -- The columns of the key depend on their own table, those in expressions included.
    JOIN pg_depend ON (classid, objid, objsubid, refclassid, refobjid, refobjsubid, deptype)
                    = ('pg_class'::regclass, relation, number::integer, 'pg_class'::regclass, relation, 0, 'i')
    WHERE kind = 'p'
),
dependents_of(relation, number, all_of_them, can_be_created) AS (
    SELECT relation, number, string_agg(DISTINCT description, ', ' ORDER BY description), bool_and(can_be_created)
    FROM in_the_way WHERE NOT ($7::boolean AND can_be_created) GROUP BY 1, 2
),
-- Why keys can be neither converted nor reverted. Of all obstacles, the first by rank counts.
common_obstacles(rank, sqlstate, object, message, detail, hint) AS (
    SELECT 1, '42809', $1::text, format('%s is not a table', $1), NULL, NULL
    FROM pg_class WHERE oid = $1 AND relkind NOT IN ('r', 'p')
    UNION ALL
    SELECT 2, '42501', min(relation_name), format('must be owner of table %s', min(relation_name)), NULL, NULL
    FROM (SELECT relation_name, owner FROM target JOIN the_owner ON role = owner
          UNION SELECT $1::text, relowner FROM pg_class WHERE oid = $1 AND relkind IN ('r', 'p') AND NOT EXISTS (SELECT FROM target)) AS named
    WHERE NOT pg_has_role(owner, 'USAGE')
    HAVING count(*) > 0
    UNION ALL
    SELECT * FROM trust_obstacles
    UNION ALL
    -- What initdb created has the OIDs below this one.
    SELECT 2, '42501', $1::text, format('permission denied: "%s" is a system catalog', $1), NULL, NULL
    FROM pg_class WHERE oid = $1 AND oid < 16384
    UNION ALL
    SELECT 3, '42703', $1::text, format('column %I of table %s does not exist', $2, $1), NULL, NULL
    WHERE $1 IS NOT NULL AND $2 IS NOT NULL AND NOT EXISTS (SELECT FROM target)
    UNION ALL
    SELECT 3, '42704', coalesce($1::text, $3::text), format('%s has no keys that take values of a sequence', coalesce('table ' || $1, 'schema ' || $3)),
           NULL, 'Name a column to convert.'
    WHERE $2 IS NULL AND NOT EXISTS (SELECT FROM target)
    UNION ALL
    SELECT 4, '42P16', relation_name, format('column %s of table %s is inherited', column_name, relation_name),
           format('The table has it from %s.', string_agg(inhparent::regclass::text, ', ')), 'Name that table instead.'
    FROM target JOIN pg_inherits ON inhrelid = relation
    WHERE inherited
    GROUP BY column_name, relation_name
    UNION ALL
    SELECT 21, '42501', relation_name, format('owner %I of table %s lacks USAGE on schema %s', pg_get_userbyid(owner), relation_name, schema::regnamespace),
           'The statements run as the owner of the table.', NULL
    FROM (SELECT * FROM target UNION SELECT * FROM retyped) AS changed
    WHERE NOT has_schema_privilege(owner, schema, 'USAGE')
    UNION ALL
    SELECT 21, '42501', relation_name, format('owner %I of table %s is subject to its row-level security', pg_get_userbyid(owner), relation_name),
           'The values of the column are read as the owner of the table, who cannot see all of them.',
           format('First run ALTER TABLE %s NO FORCE ROW LEVEL SECURITY.', relation_name)
    FROM target
    JOIN pg_class ON pg_class.oid = relation AND relrowsecurity AND relforcerowsecurity
    JOIN pg_roles ON pg_roles.oid = owner AND NOT rolsuper AND NOT rolbypassrls
    UNION ALL
    SELECT 21, '42501', relation_name, format('owner %I of table %s lacks SELECT on column %s', pg_get_userbyid(owner), relation_name, column_name),
           'The values of the column are read as the owner of the table.', format('First run GRANT SELECT ON %s TO %I.', relation_name, pg_get_userbyid(owner))
    FROM target WHERE NOT has_column_privilege(owner, relation, number, 'SELECT')
    UNION ALL
    SELECT 22, '42501', relation_name, format('owner %I of table %s lacks REFERENCES on table %s',
                               pg_get_userbyid(owner), conrelid::regclass, confrelid::regclass),
           format('The statements run as the owner of the table, and create foreign key %I again.', conname), NULL
    FROM foreign_keys
    WHERE NOT has_table_privilege(owner, confrelid, 'REFERENCES')
      AND NOT (SELECT bool_and(has_column_privilege(owner, confrelid, number, 'REFERENCES')) FROM unnest(confkey) AS number)
    UNION ALL
    SELECT 23, '42501', relation_name, format('owner %I of table %s lacks CREATE on schema %s', pg_get_userbyid(owner), relation_name, schema::regnamespace),
           'The statements run as the owner of the table, and create a sequence.', NULL
    FROM columns
    WHERE NOT is_temporary AND NOT has_schema_privilege(owner, schema, 'CREATE')
      AND CASE WHEN $6 THEN is_named AND sequence IS NULL ELSE in_family AND identity <> '' AND sequence IS NOT NULL END
),
conversion_obstacles AS (
    SELECT 21, '42501', relation_name, format('owner %I of table %s lacks USAGE on schema %I', pg_get_userbyid(owner), relation_name, $4::text),
           'The statements run as the owner of the table, and name snowflake_nextval() in that schema.', NULL
    FROM target WHERE NOT has_schema_privilege(owner, $4::text, 'USAGE')
    UNION ALL
    SELECT 5, '42P16', relation_name, format('column %s of table %s is a generated column', column_name, relation_name),
           'It takes no default.', NULL
    FROM target WHERE generated <> ''
    UNION ALL
    SELECT 5, '42P16', relation_name, format('column %s of table %s refers to table %s', column_name, relation_name, other::regclass),
           format('By foreign key %I, its values are those of that table.', referring.name),
           format('Convert the key of %s: this column then becomes bigint too.', other::regclass)
    FROM target JOIN referring USING (relation, number)
    UNION ALL
    SELECT 6, '42804', relation_name, format('column %s of table %s has type %s', column_name, relation_name, type_name),
           'What can be converted is smallint, integer and bigint.', NULL
    FROM target
    WHERE type NOT IN ('smallint'::regtype, 'integer'::regtype, 'bigint'::regtype)
    UNION ALL
    SELECT 7, '42804', relation_name, format('column %s of table %s has type %s', column_name, relation_name, type_name),
           'A foreign key refers to the column that is to be converted, and the type may not hold its new values.',
           'Change the type to bigint first.'
    FROM columns
    WHERE NOT in_family AND type NOT IN ('smallint'::regtype, 'integer'::regtype, 'bigint'::regtype)
    UNION ALL
    SELECT 9, '42809', relation_name, format('cannot change the type of column %s of table %s', column_name, relation_name),
           'The table is of a composite type.', NULL
    FROM retyped WHERE of_type <> 0
    UNION ALL
    SELECT 9, '42809', relation_name, format('cannot change the type of column %s of foreign table %s', column_name, relation_name),
           'The table on the other server would keep its type.', 'Change the type there, and then here, first.'
    FROM retyped WHERE kind = 'f'
    UNION ALL
    SELECT 9, '42809', relation_name, format('cannot convert column %s of table %s', column_name, relation_name),
           format('The table belongs to extension %I.', extname), NULL
    FROM (SELECT * FROM target UNION SELECT * FROM retyped) AS changed
    JOIN pg_depend AS p ON (p.classid, p.objid, p.deptype) = ('pg_class'::regclass, relation, 'e')
    JOIN pg_extension AS e ON (p.refclassid, p.refobjid) = ('pg_extension'::regclass, e.oid)
    UNION ALL
    -- PostgreSQL 18 creates the parent's constraint again first, in the child too, and then fails to create the child's own.
    SELECT 9, '55000', child.relation_name, format('cannot change the type of column %s of table %s', child.column_name, child.relation_name),
           format('The column is inherited from table %s. Its not-null constraint is named %I there, and %I here.', parent.relation_name, inherited.conname, own.conname),
           format('First run %s.', CASE
               WHEN child.is_partition THEN format(
                   'ALTER TABLE %1$s DETACH PARTITION %2$s; ALTER TABLE %1$s ATTACH PARTITION %2$s %3$s',
                   parent.relation_name, child.relation_name, pg_get_expr(relpartbound, c.oid))
               ELSE format(
                   'ALTER TABLE %1$s NO INHERIT %2$s; ALTER TABLE %1$s RENAME CONSTRAINT %3$I TO %4$I; ALTER TABLE %1$s INHERIT %2$s',
                   child.relation_name, parent.relation_name, own.conname, inherited.conname) END)
    FROM retyped AS child
    JOIN pg_class AS c ON c.oid = child.relation
    JOIN pg_inherits ON inhrelid = child.relation
    JOIN retyped AS parent ON parent.relation = inhparent AND parent.name = child.name
    JOIN pg_constraint AS own ON own.contype = 'n' AND own.conrelid = child.relation AND own.conkey = ARRAY[child.number] AND own.conislocal
    JOIN pg_constraint AS inherited
         ON inherited.contype = 'n' AND inherited.conrelid = parent.relation AND inherited.conkey = ARRAY[parent.number] AND NOT inherited.connoinherit
    WHERE own.conname <> inherited.conname
    UNION ALL
    SELECT DISTINCT 9, '42P16', child.relation_name, format('cannot change the type of column %s of table %s', child.column_name, child.relation_name),
           format('The table has it from %s, which do not all inherit it from one table.', parents), 'First run ALTER TABLE ... NO INHERIT for all of them but one.'
    FROM trees
    JOIN retyped AS child USING (relation, number),
    LATERAL (SELECT string_agg(parent.relation_name, ', ' ORDER BY parent.relation_name), count(*) FILTER (WHERE (root, parent.relation, parent.number) IN (SELECT * FROM trees)), count(*)
             FROM pg_inherits JOIN retyped AS parent ON parent.relation = inhparent AND parent.name = child.name
             WHERE inhrelid = child.relation) AS inherited (parents, of_root, of_all)
    WHERE of_root > 0 AND of_root < of_all
    UNION ALL
    SELECT 10, '2BP01', relation_name, format('cannot change the type of column %s of table %s', column_name, relation_name),
           format('What depends on it: %s.', all_of_them),
           CASE WHEN can_be_created THEN 'Use dependents => ''recreate'', or drop that, convert the column, and create it again.'
                ELSE 'Drop that, convert the column, and create it again.' END
    FROM retyped JOIN dependents_of USING (relation, number)
    UNION ALL
    SELECT 10, '2BP01', relation_name, format('cannot change the type of column %s of table %s', column_name, relation_name),
           format('Index %s uses operator class %I of access method %I, which does not take bigint.', indexrelid::regclass, opcname, amname),
           'Drop the index, convert the column, and create another.'
    FROM retyped AS r
    JOIN pg_index ON indrelid = relation
    JOIN pg_class AS i ON i.oid = indexrelid AND NOT relispartition,
    LATERAL unnest(indkey::int2[], indclass::oid[]) AS part (number, class)
    JOIN narrow_classes USING (class)
    JOIN pg_opclass AS o ON o.oid = class
    JOIN pg_am ON pg_am.oid = opcmethod
    WHERE part.number = r.number
    UNION ALL
    SELECT DISTINCT 11, '55000', relation_name, format('triggers of foreign key %I of table %s are disabled', conname, relation_name),
           'The foreign key is dropped and added again by the owner of the table, and only a superuser can disable its triggers then.',
           format('First run ALTER TABLE %s ENABLE TRIGGER ALL as superuser.', disabled.tgrelid::regclass)
    FROM disabled, the_owner JOIN pg_roles ON pg_roles.oid = role AND NOT rolsuper
    UNION ALL
    SELECT 11, '55000', relation_name, format('triggers of foreign key %I of table %s are disabled in partition %s', conname, relation_name, partition),
           'The foreign key is dropped and added again, and its new triggers would be enabled in all partitions.', format('First run ALTER TABLE %s ENABLE TRIGGER ALL as superuser.', partition)
    FROM disabled_in_partitions
    UNION ALL
    SELECT 12, '53400', format('%s locks', wanted), 'the statements need more locks than there may be',
           format('They take about %s locks in one transaction, and the lock table has room for %s.', wanted, room),
           format('Set max_locks_per_transaction to %s or more and restart the server, or convert fewer keys at once.', ceil(wanted::numeric * slots / room))
    FROM locks WHERE wanted > room
),
-- What one statement changes: a column that is not inherited, and those that inherit it.
trees(root, relation, number) AS (
    SELECT relation, relation, number FROM retyped WHERE NOT inherited
    UNION
    SELECT root, child.relation, child.number
    FROM trees
    JOIN retyped AS parent USING (relation, number)
    JOIN pg_inherits ON inhparent = parent.relation
    JOIN retyped AS child ON child.relation = inhrelid AND child.name = parent.name
),
-- How many locks the transaction takes, and how many the lock table has room for.
locks(wanted, slots, room) AS (
    SELECT (SELECT count(*) FROM retyped)::bigint
           -- Relations that are rewritten are locked with their old files and their new ones.
           + (SELECT coalesce(sum(CASE WHEN reltoastrelid = 0 THEN 8 ELSE 14 END), 0) FROM pg_class WHERE oid IN (SELECT relation FROM retyped))
           + 3 * (SELECT count(*) FROM pg_index WHERE indrelid IN (SELECT relation FROM retyped))
           + 6 * (SELECT count(*) FROM foreign_keys)
           + 7 * (SELECT count(DISTINCT (class, object)) FROM dependents WHERE $7)
           + 6 * (SELECT count(*) FROM family),
           slots, slots * connections
    FROM (SELECT current_setting('max_locks_per_transaction')::bigint AS slots,
                 current_setting('max_connections')::bigint + current_setting('max_prepared_transactions')::bigint
                 + current_setting('max_worker_processes')::bigint + current_setting('max_wal_senders')::bigint
                 + coalesce(current_setting('autovacuum_worker_slots', true), current_setting('autovacuum_max_workers'))::bigint + 1 AS connections) AS settings
),
-- The triggers of foreign keys that do not fire as usual.
disabled AS (
    SELECT k.oid, k.conname, k.conrelid, k.relation_name, t.tgrelid, t.tgfoid, format('%I.%I', n.nspname, c.relname) AS triggered_name,
           CASE t.tgenabled WHEN 'D' THEN 'DISABLE' WHEN 'R' THEN 'ENABLE REPLICA' ELSE 'ENABLE ALWAYS' END AS state
    FROM foreign_keys AS k
    JOIN pg_trigger AS t ON t.tgconstraint = k.oid AND t.tgenabled <> 'O'
    JOIN pg_class AS c ON c.oid = t.tgrelid
    JOIN pg_namespace AS n ON n.oid = c.relnamespace
),
-- Those of partitions, where they differ.
disabled_in_partitions AS (
    SELECT DISTINCT k.conname, k.relation_name, t.tgrelid::regclass AS partition
    FROM foreign_keys AS k
    JOIN pg_trigger AS top ON top.tgconstraint = k.oid
    JOIN pg_trigger AS t ON t.tgparentid = top.oid AND t.tgenabled <> top.tgenabled
),
-- What the next ID has to satisfy: a query for each, which returns false if it does not. Where it
-- calls what is not PostgreSQL's own, only a conversion evaluates it. Whether the functions of an
-- expression are immutable is found out elsewhere: others may execute what they are given as text.
tests(rank, object, message, detail, hint, query, is_key, is_owners, calls_others, expression, is_generated, is_parsed) AS (
    SELECT 13, relation_name, format('no row with the next ID could be inserted into table %s', relation_name),
           format('The next ID, %s, does not satisfy check constraint %I.', $5::bigint, conname), 'Drop the constraint, or change it.',
           format('SELECT %s FROM (SELECT %s::bigint) AS row (%I)', pg_get_expr(conbin, conrelid), $5::bigint, name), in_family, owner = role,
           EXISTS (SELECT FROM pg_depend WHERE (classid, objid) = ('pg_constraint'::regclass, k.oid)
                   AND refobjid >= 16384 AND refclassid <> 'pg_class'::regclass), conbin::text, false, false
    FROM columns
    JOIN pg_constraint AS k ON contype = 'c' AND conrelid = relation AND conkey = ARRAY[number] AND conparentid = 0 AND coninhcount = 0,
    the_owner
    WHERE (is_named OR NOT in_family) AND NOT inherited AND pg_get_constraintdef(k.oid) !~ ' NOT ENFORCED$'
    UNION ALL
    SELECT 13, relation_name, format('no row with the next ID could be inserted into table %s', relation_name),
           format('The next ID, %s, belongs to none of its partitions.', $5::bigint),
           'Add a partition for it, or a default partition.',
           -- This query makes the one to run: the bounds are not asked for here, since PostgreSQL computes the constants in
           -- the expressions of a partition key when it looks at them.
           format('SELECT format(%L, string_agg(format(''(%%s) IS NOT FALSE'', coalesce(regexp_replace(pg_get_partition_constraintdef(relid), %L, ''true'', ''g''), ''true'')), '' OR '')) '
                  'FROM pg_partition_tree(%s::oid::regclass) WHERE isleaf AND relid <> %3$s::oid::regclass',
                  format('SELECT %%s FROM (SELECT %s) AS row', (
                      SELECT replace(string_agg(CASE WHEN attnum = number THEN format('%s::bigint AS %I', $5::bigint, attname)
                                             ELSE format('NULL::%s AS %I', format_type(atttypid, atttypmod), attname) END, ', '), '%', '%%')
                      FROM pg_attribute WHERE attrelid = relation AND attnum > 0 AND NOT attisdropped)),
                  '\([^()]+ IS NOT NULL\)', relation::oid), true, owner = role,
           relation IN (SELECT relation FROM calling_partitions), NULL, true, false
    FROM target, the_owner
    WHERE kind = 'p' AND $5 IS NOT NULL AND EXISTS (SELECT FROM pg_partition_tree(relation) WHERE isleaf AND relid <> relation)
      -- No bounds depend on a key whose type is to change: that would be refused.
      AND (relation, number) NOT IN (SELECT relation, number FROM retyped)
    UNION ALL
    SELECT 12, relation_name, format('cannot create %s for columns of type bigint', description), 'PostgreSQL raises an error', 'Create the functions that it calls for bigint, too, or drop it first.',
           format('SELECT %s FROM (SELECT %s) AS %I', expression, bigints, name), true, owner = role, has_types, NULL, false, true
    FROM parsed_again, the_owner
    WHERE NOT (has_types AND is_tried)
),
-- Partitioned tables whose bounds are compared by what is not PostgreSQL's own, or whose columns are
-- of such types, somewhere in the tree.
calling_partitions(relation) AS (
    SELECT target.relation
    FROM target, pg_partition_tree(target.relation) JOIN pg_partitioned_table ON partrelid = relid
    WHERE kind = 'p' AND (partexprs IS NOT NULL OR EXISTS (SELECT FROM unnest(partclass::oid[] || partcollation::oid[]) AS oid WHERE oid >= 16384))
    UNION
    SELECT attrelid FROM pg_attribute WHERE attnum > 0 AND NOT attisdropped AND atttypid >= 16384
),
-- Tables for which PostgreSQL cannot plan a query without the evaluation of what is not its own: it
-- computes the constants in expressions of indexes, statistics and partition keys then.
calling(relation) AS (
    SELECT coalesce(indrelid, stxrelid, p.objid)
    FROM pg_depend AS p
    LEFT JOIN pg_index ON p.classid = 'pg_class'::regclass AND indexrelid = p.objid
    LEFT JOIN pg_statistic_ext AS s ON p.classid = 'pg_statistic_ext'::regclass AND s.oid = p.objid
    LEFT JOIN pg_partitioned_table ON p.classid = 'pg_class'::regclass AND partrelid = p.objid AND p.objsubid = 0
    WHERE p.refobjid >= 16384 AND p.refclassid IN ('pg_proc'::regclass, 'pg_operator'::regclass, 'pg_type'::regclass)
      AND (indexprs IS NOT NULL OR indpred IS NOT NULL OR stxexprs IS NOT NULL OR partexprs IS NOT NULL)
),
-- What the largest key is, where an index of each table tells, and what it can be at most.
values_of(query, description, has_index, calls_others, limit_of_type) AS (
    SELECT format('SELECT max(%1$s)::bigint, %2$s FROM %3$s', column_name,
                  CASE WHEN $6 AND sequence IS NULL AND NOT not_null THEN format('EXISTS (SELECT FROM %s WHERE %s IS NULL)', relation_name, column_name) ELSE 'false' END, relation_name),
           format('column %s of table %s', column_name, relation_name),
           (NOT $6 OR not_null OR sequence IS NOT NULL) AND NOT EXISTS (
               SELECT FROM family JOIN pg_class AS c ON c.oid = family.relation AND relkind <> 'p'
               WHERE (root, root_number) = (target.relation, target.number)
                 AND NOT EXISTS (SELECT FROM pg_index JOIN pg_class AS i ON i.oid = indexrelid
                                 JOIN pg_am ON pg_am.oid = i.relam AND amname = 'btree'
                                 WHERE indrelid = family.relation AND indkey[0] = family.number AND indisvalid AND indpred IS NULL)),
           EXISTS (SELECT FROM family JOIN calling USING (relation) WHERE (root, root_number) = (target.relation, target.number)),
           CASE type WHEN 'smallint'::regtype THEN 32767 WHEN 'integer'::regtype THEN 2147483647 ELSE 9223372036854775807 END
    FROM target JOIN the_owner ON role = owner
    WHERE kind IN ('r', 'p') AND type IN ('smallint'::regtype, 'integer'::regtype, 'bigint'::regtype)
),
is_converted AS (
    SELECT NOT EXISTS (SELECT FROM retyped) AND NOT EXISTS (SELECT FROM columns WHERE in_family AND identity <> '')
           AND NOT EXISTS (SELECT FROM target WHERE default_expression IS DISTINCT FROM format('%I.snowflake_nextval()', $4::text)) AS is_converted
),
-- Sequences of identity columns, which go with the identity, and their likes.
identities AS (
    SELECT c.*, format('%I.%I', n.nspname, CASE WHEN octet_length(other_name) < 64 AND to_regclass(format('%I.%I', n.nspname, other_name)) IS NULL
                                            THEN other_name ELSE format('snowflake_%s_seq', s.oid) END) AS new_name, quote_ident(s.relname) AS short_name,
           CASE s.relpersistence WHEN 't' THEN 'TEMPORARY ' WHEN 'u' THEN 'UNLOGGED ' ELSE '' END AS persistence,
           format('INCREMENT BY %s MINVALUE %s', seqincrement, seqmin) AS increment_and_minimum, seqmax, seqincrement, seqtypid,
           format('START WITH %s CACHE %s %s', seqstart, seqcache, CASE WHEN seqcycle THEN 'CYCLE' ELSE 'NO CYCLE' END) AS others
    FROM columns AS c
    JOIN pg_class AS s ON s.oid = sequence
    JOIN pg_namespace AS n ON n.oid = s.relnamespace
    JOIN pg_sequence ON seqrelid = s.oid,
    LATERAL (SELECT s.relname || '_new') AS names (other_name)
    WHERE in_family AND identity <> ''
),
actions(relation, relation_name, is_temporary, rank, action) AS (
    SELECT relation, relation_name, is_temporary, 1, format('ALTER COLUMN %s DROP IDENTITY', column_name)
    FROM columns WHERE is_named AND identity <> ''
    UNION ALL
    -- Else the old default would be cast to the new type.
    SELECT relation, relation_name, is_temporary, 2, format('ALTER COLUMN %s DROP DEFAULT', column_name)
    FROM retyped
    WHERE is_named AND EXISTS (SELECT FROM columns JOIN family USING (relation, number)
                               WHERE (root, root_number) = (retyped.relation, retyped.number) AND default_expression IS NOT NULL)
    UNION ALL
    SELECT relation, relation_name, is_temporary, 3, format('ALTER COLUMN %s TYPE bigint', column_name)
    FROM retyped WHERE NOT inherited
    UNION ALL
    SELECT relation, relation_name, is_temporary, 4, format('ALTER COLUMN %s SET DEFAULT %I.snowflake_nextval()', column_name, $4::text)
    FROM target WHERE default_expression IS DISTINCT FROM format('%I.snowflake_nextval()', $4::text)
),
added_keys AS (
    SELECT *, definition || CASE WHEN is_validated_later THEN ' NOT VALID' ELSE '' END AS addition
    FROM (SELECT *, convalidated AND definition !~ ' NOT (VALID|ENFORCED)$'
                    AND NOT (relkind = 'p' AND current_setting('server_version_num')::integer < 180000) AS is_validated_later
          FROM foreign_keys, pg_get_constraintdef(oid) AS definition) AS k
),
conversion(rank, statement, is_temporary, properties) AS (
    SELECT 10, format('LOCK TABLE %s IN ACCESS EXCLUSIVE MODE;', string_agg(relation_name, ', ' ORDER BY relation_name)), bool_or(is_temporary), NULL
    FROM (SELECT relation_name, is_temporary FROM target
          UNION SELECT relation_name, is_temporary FROM retyped WHERE NOT inherited
          UNION SELECT relation_name, is_temporary FROM foreign_keys) AS locked
    UNION ALL
    SELECT 30, format('ALTER TABLE %s %s;', relation_name, string_agg(format('DROP CONSTRAINT %I', conname), ', ' ORDER BY conname)), is_temporary, NULL
    FROM foreign_keys GROUP BY relation_name, is_temporary
    UNION ALL
    SELECT 40, format('CREATE %sSEQUENCE %s AS %s %s MAXVALUE %s %s;', persistence, new_name, seqtypid::regtype, increment_and_minimum, seqmax, others),
           is_temporary, NULL
    FROM identities
    UNION ALL
    SELECT 41, format('SELECT pg_catalog.setval(%L, last_value, is_called) FROM %s;', new_name, sequence_name), is_temporary, NULL
    FROM identities
    UNION ALL
    -- From PostgreSQL 17 on, a partition's identity goes with its parent's.
    SELECT 50, format('ALTER TABLE %s ALTER COLUMN %s DROP IDENTITY;', relation_name, column_name), is_temporary, NULL
    FROM columns
    WHERE in_family AND NOT is_named AND identity <> '' AND NOT (is_partition AND current_setting('server_version_num')::integer >= 170000)
    UNION ALL
    SELECT 60, format('ALTER TABLE %s %s;', relation_name, string_agg(action, ', ' ORDER BY rank, action)), is_temporary, NULL
    FROM actions GROUP BY relation_name, is_temporary
    UNION ALL
    -- At first to names that nothing has, since a new index may have the former name of another.
    SELECT 61, format('DO LANGUAGE plpgsql %L;', format('DECLARE rename text; BEGIN FOR turn IN 1..2 LOOP FOR rename IN '
                  'SELECT pg_catalog.format(''ALTER INDEX %%s RENAME TO %%I'', indexrelid::pg_catalog.regclass, '
                  'CASE WHEN turn OPERATOR(pg_catalog.=) 1 THEN pg_catalog.concat(''snowflake_'', indexrelid) ELSE former.name END) '
                  'FROM pg_catalog.pg_partition_tree(%L) JOIN pg_catalog.pg_index ON indexrelid OPERATOR(pg_catalog.=) relid '
                  'JOIN pg_catalog.pg_class ON pg_class.oid OPERATOR(pg_catalog.=) indexrelid '
                  'JOIN (VALUES %s) AS former (relation, name) ON indrelid OPERATOR(pg_catalog.=) former.relation '
                  'WHERE relname OPERATOR(pg_catalog.<>) former.name LOOP EXECUTE rename; END LOOP; END LOOP; END',
                  root.index_name, string_agg(format('(%L::pg_catalog.regclass::pg_catalog.oid, %L::pg_catalog.name)', part.relation_name, part.name), ', '
                                              ORDER BY part.relation_name))),
           root.is_temporary, string_agg(concat_ws(' ', format('%s:%s', 'pg_class'::regclass::oid, part.indexrelid), 'pg_constraint'::regclass::oid || ':' || k.oid), ' ')
    FROM indexes AS root
    JOIN indexes AS part ON part.is_part AND part.root = root.indexrelid
    LEFT JOIN pg_constraint AS k ON conindid = part.indexrelid AND conrelid = part.indrelid AND contype IN ('p', 'u', 'x')
    GROUP BY root.index_name, root.is_temporary
    UNION ALL
    SELECT 63, statement, is_temporary, NULL FROM of_indexes
    UNION ALL
    SELECT 70, format('ALTER SEQUENCE %s RENAME TO %s;', new_name, short_name), is_temporary, NULL FROM identities
    UNION ALL
    SELECT 71, format('ALTER SEQUENCE %s OWNED BY %s.%s;', sequence_name, relation_name, column_name), is_temporary,
           format('%s:%s', 'pg_class'::regclass::oid, sequence)
    FROM identities
    UNION ALL
    SELECT 80, format('ALTER TABLE %s %s;', relation_name, string_agg(format('ADD CONSTRAINT %I %s', conname, addition), ', ' ORDER BY conname)), is_temporary,
           string_agg(format('%s:%s', 'pg_constraint'::regclass::oid, oid), ' ')
    FROM added_keys GROUP BY relation_name, is_temporary
    UNION ALL
    SELECT 81, format('DO LANGUAGE plpgsql %L;', format('BEGIN EXECUTE (SELECT pg_catalog.format(''ALTER TABLE %%s %s TRIGGER %%I'', %L, tgname) FROM pg_catalog.pg_trigger '
                  'JOIN pg_catalog.pg_constraint ON pg_constraint.oid OPERATOR(pg_catalog.=) tgconstraint WHERE conrelid OPERATOR(pg_catalog.=) %L::pg_catalog.regclass::pg_catalog.oid '
                  'AND conname OPERATOR(pg_catalog.=) %L::pg_catalog.name AND tgrelid OPERATOR(pg_catalog.=) %L::pg_catalog.regclass::pg_catalog.oid '
                  'AND tgfoid OPERATOR(pg_catalog.=) %s::pg_catalog.oid); END',
                  state, triggered_name, relation_name, conname, triggered_name, tgfoid::oid)), false, NULL
    FROM disabled
),
validation(statement, is_temporary) AS (
    SELECT format('ALTER TABLE %s VALIDATE CONSTRAINT %I;', relation_name, conname), is_temporary FROM added_keys WHERE is_validated_later
),
-- What puts a sequence above the largest key.
raised AS (
    SELECT c.*, seqtypid <> 'bigint'::regtype OR seqmax < 9223372036854775807 AS is_narrow, seqincrement > 0 AS is_ascending,
           format('SELECT pg_catalog.setval(%1$L, max(%2$s)) FROM %3$s HAVING max(%2$s) > (SELECT last_value - (NOT is_called)::integer FROM %1$s);',
                  sequence_name, column_name, relation_name) AS raise
    FROM columns AS c JOIN pg_sequence ON seqrelid = sequence
),
-- The columns whose default or identity was not only inherited.
restored AS (
    SELECT c.*, CASE WHEN is_named THEN '' ELSE 'ONLY ' END AS its_only
    FROM columns AS c
    WHERE is_named
       OR in_family AND identity = '' AND EXISTS (
              SELECT FROM family JOIN columns AS r ON (r.relation, r.number) = (root, root_number)
              WHERE (family.relation, family.number) = (c.relation, c.number)
                AND (r.default_expression IS DISTINCT FROM c.default_expression OR r.identity <> '' AND c.default_expression IS NOT NULL))
       OR (c.relation, c.number) IN (SELECT relation, number FROM identities)
),
way_back(rank, statement, properties) AS (
    SELECT 10, format('LOCK TABLE %s IN ACCESS EXCLUSIVE MODE;', string_agg(relation_name, ', ' ORDER BY relation_name)), NULL FROM target
    UNION ALL
    SELECT 20, format('ALTER SEQUENCE %s AS bigint MAXVALUE 9223372036854775807;', sequence_name), NULL
    FROM raised
    WHERE (relation, number) IN (SELECT relation, number FROM restored)
      AND identity = '' AND default_expression LIKE 'nextval(%' AND is_narrow AND is_ascending
    UNION ALL
    SELECT CASE WHEN is_named THEN 30 ELSE 31 END,
           format('ALTER TABLE %s%s ALTER COLUMN %s %s;', its_only, relation_name, column_name, coalesce('SET DEFAULT ' || default_expression, 'DROP DEFAULT')), NULL
    FROM restored WHERE identity = '' AND default_expression IS DISTINCT FROM format('%I.snowflake_nextval()', $4::text)
    UNION ALL
    SELECT CASE WHEN is_named THEN 30 ELSE 31 END,
           format('ALTER TABLE %s ALTER COLUMN %s DROP DEFAULT, ALTER COLUMN %2$s ADD GENERATED %s AS IDENTITY (SEQUENCE NAME %s %s %s %s);',
                  relation_name, column_name, CASE identity WHEN 'a' THEN 'ALWAYS' ELSE 'BY DEFAULT' END, new_name, increment_and_minimum,
                  CASE WHEN seqincrement > 0 THEN 'NO MAXVALUE' ELSE 'MAXVALUE ' || seqmax END, others), NULL
    FROM identities
    UNION ALL
    SELECT 40, format('SELECT pg_catalog.setval(%L, last_value, is_called) FROM %s;', new_name, sequence_name), NULL FROM identities
    UNION ALL
    SELECT 41, format('DROP SEQUENCE %s;', sequence_name), NULL FROM identities
    UNION ALL
    SELECT 42, format('ALTER SEQUENCE %s RENAME TO %s;', new_name, short_name), format('%s:%s', 'pg_class'::regclass::oid, sequence) FROM identities
    UNION ALL
    SELECT 50, raise, NULL FROM raised
    WHERE is_ascending AND (relation, number) IN (SELECT relation, number FROM restored)
      AND (identity <> '' OR default_expression LIKE 'nextval(%')
),
-- Before PostgreSQL 17, identity does not reach partitions, but a default does.
takes_sequence AS (
    SELECT target.*, nspname AS schema_name,
           CASE WHEN octet_length(usual.name) < 64 AND to_regclass(format('%I.%I', nspname, usual.name)) IS NULL THEN usual.name
                ELSE format('snowflake_%s_seq', relation::oid) END AS new_name
    FROM target
    JOIN pg_class ON pg_class.oid = relation
    JOIN pg_namespace ON pg_namespace.oid = relnamespace,
    LATERAL (SELECT format('%s_%s_seq', relname, target.name)) AS usual (name)
    WHERE sequence IS NULL AND kind = 'p' AND current_setting('server_version_num')::integer < 170000
),
reversion_obstacles AS (
    SELECT 5, '55000', relation_name, format('column %s of table %s does not take snowflake IDs', column_name, relation_name),
           'Its default is not snowflake_nextval().', NULL
    FROM target
    WHERE default_expression IS DISTINCT FROM format('%I.snowflake_nextval()', $4::text)
    UNION ALL
    SELECT 6, '0A000', target.relation_name, format('column %s of table %s is inherited by other tables', target.column_name, target.relation_name),
           format('Identity would not reach %s.', string_agg(columns.relation_name, ', ' ORDER BY columns.relation_name)), NULL
    FROM target, columns
    WHERE target.sequence IS NULL AND columns.in_family AND columns.relation <> target.relation AND NOT columns.is_partition
    GROUP BY target.relation_name, target.column_name
),
reversion(rank, statement, is_temporary) AS (
    SELECT 10, format('LOCK TABLE %s IN ACCESS EXCLUSIVE MODE;', relation_name), is_temporary FROM target
    UNION ALL
    -- The sequence that it has kept.
    SELECT 20, format('ALTER SEQUENCE %s AS bigint MAXVALUE 9223372036854775807;', sequence_name), is_temporary
    FROM raised WHERE is_named AND is_narrow AND is_ascending
    UNION ALL
    SELECT 30, format('ALTER TABLE %s ALTER COLUMN %s SET DEFAULT pg_catalog.nextval(%L::pg_catalog.regclass);', relation_name, column_name, sequence_name),
           is_temporary
    FROM target WHERE sequence IS NOT NULL
    UNION ALL
    SELECT 40, raise, is_temporary FROM raised WHERE is_named AND is_ascending
    UNION ALL
    SELECT 20, format('ALTER TABLE %s ALTER COLUMN %s DROP DEFAULT;', relation_name, column_name), is_temporary
    FROM target WHERE sequence IS NULL
    UNION ALL
    SELECT 21, format('ALTER TABLE %s ALTER COLUMN %s SET NOT NULL;', relation_name, column_name), is_temporary
    FROM target WHERE NOT not_null AND sequence IS NULL
    UNION ALL
    SELECT 30, format('ALTER TABLE %s ALTER COLUMN %s ADD GENERATED BY DEFAULT AS IDENTITY;', relation_name, column_name), is_temporary
    FROM target WHERE sequence IS NULL AND relation NOT IN (SELECT relation FROM takes_sequence)
    UNION ALL
    SELECT 30, format('CREATE SEQUENCE %I.%I OWNED BY %s.%s;', schema_name, new_name, relation_name, column_name), is_temporary
    FROM takes_sequence
    UNION ALL
    SELECT 31, format('ALTER TABLE %s ALTER COLUMN %s SET DEFAULT pg_catalog.nextval(%L::pg_catalog.regclass);',
                      relation_name, column_name, format('%I.%I', schema_name, new_name)), is_temporary
    FROM takes_sequence
    UNION ALL
    SELECT 40, format('SELECT pg_catalog.setval(pg_catalog.pg_get_serial_sequence(%L, %L), max(%s)) FROM %s HAVING max(%3$s) > 0;',
                      relation_name, name, column_name, relation_name), is_temporary
    FROM target WHERE sequence IS NULL
),
-- The schemas of the session's search_path in which nobody else can create what statements would call.
path(place, name) AS (
    SELECT place, nspname
    FROM unnest($9::text::oid[]) WITH ORDINALITY AS of_session (oid, place)
    JOIN pg_namespace USING (oid) JOIN schemas ON schema = oid
    WHERE is_trusted AND creators IS NULL AND nspname !~ '^pg_'
),
-- What the statements name: that it is still this is looked at between them.
names(name, relation) AS (
    SELECT relation_name, relation FROM columns WHERE in_family
    UNION SELECT relation_name, relation FROM retyped
    UNION SELECT format('%I.%I', nspname, relname), c.oid
    FROM (SELECT object FROM bound WHERE class = 'pg_class'::regclass
          EXCEPT SELECT object FROM objects WHERE class = 'pg_class'::regclass
          EXCEPT SELECT sequence FROM columns WHERE identity <> '') AS stays (oid)
    JOIN pg_class AS c USING (oid) JOIN pg_namespace AS n ON n.oid = relnamespace
)
SELECT section, text, sqlstate, object, detail, hint, flags, is_temporary, rank, properties
FROM (
    SELECT 'obstacle' AS section, message AS text, sqlstate, object, detail, hint, NULL AS flags, NULL::boolean AS is_temporary, rank, NULL AS properties
    FROM (SELECT * FROM common_obstacles
          UNION ALL SELECT * FROM conversion_obstacles WHERE NOT $6
          UNION ALL SELECT * FROM reversion_obstacles WHERE $6) AS obstacles
    UNION ALL
    SELECT 'owner', role::oid::text, NULL, NULL, NULL, NULL, NULL, NULL, 0, NULL FROM the_owner
    UNION ALL
    SELECT 'path', name, NULL, NULL, NULL, NULL, NULL, NULL, place::integer, NULL FROM path
    UNION ALL
    SELECT 'name', name, NULL, relation::oid::text, NULL, NULL, NULL, NULL, 0, NULL FROM names
    UNION ALL
    SELECT CASE WHEN is_key THEN 'test' ELSE 'risky test' END, query, message, object, detail, hint,
           concat_ws(' ', CASE WHEN calls_others THEN 'calls others' END, CASE WHEN is_owners THEN 'is the owner''s' END, CASE WHEN is_generated THEN 'is generated' END,
                     CASE WHEN is_parsed THEN 'is parsed' END), NULL, rank, expression
    FROM tests WHERE NOT $6
    UNION ALL
    SELECT CASE WHEN has_index THEN 'values' ELSE 'values without index' END, query, limit_of_type::text, description, NULL, NULL,
           CASE WHEN calls_others THEN 'calls others' END, NULL, 0, NULL FROM values_of
    UNION ALL
    SELECT 'convert', statement, NULL, NULL, NULL, NULL, NULL, is_temporary, rank, properties FROM conversion, is_converted WHERE NOT $6 AND NOT is_converted
    UNION ALL
    SELECT CASE WHEN $8::boolean THEN 'convert' ELSE 'validate' END, statement, NULL, NULL, NULL, NULL, NULL, is_temporary, 110, NULL
    FROM validation WHERE NOT $6
    UNION ALL
    SELECT 'revert', statement, NULL, NULL, NULL, NULL, NULL, NULL, rank, properties FROM way_back, is_converted WHERE NOT $6 AND NOT is_converted
    UNION ALL
    SELECT 'revert', statement, NULL, NULL, NULL, NULL, NULL, is_temporary, rank, NULL FROM reversion WHERE $6
) AS plan
ORDER BY rank, text
