-- What the next ID is tried with, and the largest keys that there are. The query goes on from
-- rebuilt.sql.
,
-- a row: a partitioned table whose bounds are compared by what is not PostgreSQL's own, or a table
-- with columns of such types, somewhere in the tree.
calling_partitions(relation) AS (
    SELECT target.relation
    FROM target, pg_partition_tree(target.relation)
    JOIN pg_partitioned_table ON partrelid = relid
    WHERE kind = 'p'
      AND (partexprs IS NOT NULL
           OR EXISTS (
               SELECT FROM unnest(partclass::oid[] || partcollation::oid[]) AS oid WHERE oid >= 16384
           ))
    UNION
    SELECT target.relation
    FROM target,
         LATERAL (
             SELECT
             FROM pg_attribute
             WHERE attrelid = target.relation AND attnum > 0 AND NOT attisdropped AND atttypid >= 16384
             OFFSET 0
         ) AS column_of_users
    WHERE kind = 'p'
),

-- a row: a test of the next ID or of an expression that is parsed again: a query that returns
-- false, or fails, if it does not pass. Where it calls what is not PostgreSQL's own, only a
-- conversion evaluates it. Whether the functions of an expression are immutable is found out
-- elsewhere: others may execute what they are given as text. Of what is parsed again, the message is a
-- description, and the expression a query with the types as they are.
tests(
    rank, object, message, detail, hint, query, is_key, is_owners, calls_others, expression,
    is_generated, is_parsed) AS (
    SELECT 13, relation_name,
           format('no row with the next ID could be inserted into table %s', relation_name),
           format('The next ID, %s, does not satisfy check constraint %I.', $5::bigint, conname),
           'Drop the constraint, or change it.',
           format(
               'SELECT %s FROM (SELECT %s::bigint) AS row (%I)',
               pg_get_expr(conbin, conrelid), $5::bigint, name),
           in_family, owner = role,
           EXISTS (
               SELECT
               FROM pg_depend
               WHERE (classid, objid) = ('pg_constraint'::regclass, k.oid)
                 AND refobjid >= 16384
                 AND refclassid <> 'pg_class'::regclass
           ),
           conbin::text, false, false
    FROM columns,
         LATERAL (
             SELECT *
             FROM pg_constraint
             WHERE contype = 'c'
               AND conrelid = relation
               AND conkey = ARRAY[number]
               AND conparentid = 0
               AND coninhcount = 0
             OFFSET 0
         ) AS k,
         the_owner
    WHERE (is_named OR NOT in_family)
      AND (takes_ids OR NOT is_passed_over)
      AND NOT inherited
      -- pg_get_constraintdef() would lock the tables of all constraints that it is called for.
      AND coalesce((to_jsonb(k) ->> 'conenforced')::boolean, true)
    UNION ALL
    SELECT 13, relation_name,
           format('no row with the next ID could be inserted into table %s', relation_name),
           format('The next ID, %s, belongs to none of its partitions.', $5::bigint),
           'Add a partition for it, or a default partition.',
           -- This query makes the one to run: the bounds are not asked for here, since PostgreSQL
           -- computes the constants in the expressions of a partition key when it looks at them.
           format(
               'SELECT format(%L, string_agg(format(''(%%s) IS NOT FALSE'', coalesce('
               'regexp_replace(pg_get_partition_constraintdef(relid), %L, ''true'', ''g''), '
               '''true'')), '' OR '')) '
               'FROM pg_partition_tree(%s::oid::regclass) WHERE isleaf AND relid <> %3$s::oid::regclass',
               format(
                   'SELECT %%s FROM (SELECT %s) AS row',
                   (
                       SELECT replace(
                                  string_agg(
                                      CASE
                                          WHEN attnum = number
                                              THEN format('%s::bigint AS %I', $5::bigint, attname)
                                          ELSE format(
                                              'NULL::%s AS %I', format_type(atttypid, atttypmod), attname)
                                      END,
                                      ', '),
                                  '%', '%%')
                       FROM pg_attribute
                       WHERE attrelid = relation AND attnum > 0 AND NOT attisdropped
                   )),
               '\([^()]+ IS NOT NULL\)', relation::oid),
           true, owner = role,
           relation IN (SELECT relation FROM calling_partitions), NULL, true, false
    FROM target, the_owner
    WHERE kind = 'p'
      AND $5 IS NOT NULL
      AND (takes_ids OR NOT is_passed_over)
      AND EXISTS (SELECT FROM pg_partition_tree(relation) WHERE isleaf AND relid <> relation)
      -- No bounds depend on a key whose type is to change: that would be refused.
      AND (relation, number) NOT IN (SELECT relation, number FROM retyped)
    UNION ALL
    SELECT 12, relation_name, description, 'PostgreSQL raises an error',
           'Create the functions that it calls for bigint, too, or drop it first.',
           format('SELECT %s FROM (SELECT %s) AS %I', expression, bigints, name), true, owner = role,
           has_types, format('SELECT %s FROM (SELECT %s) AS %I', expression, integers, name), false, true
    FROM parsed_again, the_owner
    WHERE NOT (has_types AND is_tried)
),

-- a row: a key of which a table has no index that tells the largest value.
unindexed(relation, number) AS (
    SELECT root, root_number
    FROM family,
         LATERAL (
             SELECT
             FROM pg_class
             WHERE oid = relation
               AND relkind <> 'p'
               AND NOT EXISTS (
                   SELECT
                   FROM pg_index
                   WHERE indrelid = relation
                     AND indkey[0] = number
                     AND indisvalid
                     AND indpred IS NULL
                     AND (SELECT relam FROM pg_class WHERE oid = indexrelid)
                         = (SELECT oid FROM pg_am WHERE amname = 'btree')
               )
             OFFSET 0
         ) AS table_without_index
),

-- a row: a key with a table for which PostgreSQL cannot plan a query without the evaluation of what
-- is not its own: it computes the constants in expressions of indexes, statistics and partition keys
-- then.
calling(relation, number) AS (
    SELECT root, root_number
    FROM family,
         LATERAL (
             SELECT 'pg_class'::regclass, indexrelid
             FROM pg_index
             WHERE indrelid = relation AND (indexprs IS NOT NULL OR indpred IS NOT NULL)
             UNION ALL
             SELECT 'pg_statistic_ext'::regclass, oid
             FROM pg_statistic_ext
             WHERE stxrelid = relation AND stxexprs IS NOT NULL
             UNION ALL
             SELECT 'pg_class'::regclass, partrelid
             FROM pg_partitioned_table
             WHERE partrelid = relation AND partexprs IS NOT NULL
         ) AS with_expressions (class, object),
         LATERAL (
             SELECT
             FROM pg_depend
             WHERE (classid, objid, objsubid) = (class, object, 0)
               AND refobjid >= 16384
               AND refclassid IN ('pg_proc'::regclass, 'pg_operator'::regclass, 'pg_type'::regclass)
             OFFSET 0
         ) AS called
),

-- a row: a key, with a query for the largest value, whether an index of each table tells this, and
-- what it can be at most.
values_of(query, description, has_index, calls_others, limit_of_type) AS (
    SELECT format(
               'SELECT max(%1$s)::bigint, %2$s FROM %3$s',
               column_name,
               CASE
                   WHEN $6 AND sequence IS NULL AND NOT not_null
                       THEN format('EXISTS (SELECT FROM %s WHERE %s IS NULL)', relation_name, column_name)
                   ELSE 'false'
               END,
               relation_name),
           format('column %s of table %s', column_name, relation_name),
           (NOT $6 OR not_null OR sequence IS NOT NULL)
           AND (relation, number) NOT IN (SELECT relation, number FROM unindexed),
           (relation, number) IN (SELECT relation, number FROM calling),
           CASE type
               WHEN 'smallint'::regtype THEN 32767
               WHEN 'integer'::regtype THEN 2147483647
               ELSE 9223372036854775807
           END
    FROM target
    JOIN the_owner ON role = owner
    WHERE kind IN ('r', 'p')
      AND type IN ('smallint'::regtype, 'integer'::regtype, 'bigint'::regtype)
      AND ($6 OR NOT takes_ids AND NOT is_passed_over)
)
