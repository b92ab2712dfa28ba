-- What PostgreSQL itself creates again when it changes the type of a column. The query begins with
-- keys.sql and depending.sql, and contains stand_ins.sql.
,
-- a row: the expression of a check, an index, a statistics object or a policy that uses a column whose
-- type changes.
trees_again(class, object, relation, conkey, tree) AS (
    SELECT p.*, trees.*
    FROM retyped AS r,
         LATERAL (
             SELECT classid, objid
             FROM pg_depend
             WHERE (refclassid, refobjid, refobjsubid) = ('pg_class'::regclass, r.relation, r.number::integer)
             OFFSET 0
         ) AS p,
         LATERAL (
             SELECT conrelid, conkey, conbin
             FROM pg_constraint
             WHERE p.classid = 'pg_constraint'::regclass
               AND oid = p.objid
               AND contype = 'c'
               AND coninhcount = 0
             UNION ALL
             SELECT indrelid, NULL, tree
             FROM pg_index, LATERAL (VALUES (indexprs), (indpred)) AS of (tree)
             WHERE p.classid = 'pg_class'::regclass AND indexrelid = p.objid
             UNION ALL
             SELECT stxrelid, NULL, stxexprs
             FROM pg_statistic_ext
             WHERE p.classid = 'pg_statistic_ext'::regclass AND oid = p.objid
             UNION ALL
             SELECT polrelid, NULL, tree
             FROM pg_policy, LATERAL (VALUES (polqual), (polwithcheck)) AS of (tree)
             WHERE p.classid = 'pg_policy'::regclass AND oid = p.objid
         ) AS trees (relation, conkey, tree)
),

-- a row: a relation that something stands in for where such expressions are parsed.
stood_in_for(relation) AS (
    SELECT relation FROM trees_again WHERE tree IS NOT NULL
),

-- a row: such an expression. PostgreSQL parses its text again, and might not find a function for bigint.
parsed_again AS (
    SELECT DISTINCT format('%I.%I', schema, name) AS relation_name, name, owner, expression,
           pg_describe_object(class, object, 0) AS description,
           -- The next ID is tried with such a check, too.
           coalesce(cardinality(conkey) = 1, false) AS is_tried,
           -- What reads a literal of a type might be code of a user. PostgreSQL itself reads those of an
           -- enum.
           EXISTS (
               SELECT
               FROM pg_depend AS d
               WHERE (d.classid, d.objid, d.refclassid) = (class, object, 'pg_type'::regclass)
                 AND d.refobjid >= 16384
                 AND (SELECT typtype FROM pg_type WHERE oid = d.refobjid) <> 'e'
           ) AS has_types,
           bigints, integers
    FROM trees_again
    JOIN stand_ins USING (relation),
         LATERAL pg_get_expr(tree, relation) AS expression
    -- A row of a subquery is not of the row type of the table.
    WHERE expression !~ '\.\*'
),

-- a row: an index that PostgreSQL creates again with the types of its columns. Those of partitions
-- are created with the root's, and have other names than before then.
indexes AS (
    SELECT i.*, c.relname AS name, format('%I.%I', nspname, c.relname) AS index_name, c.reloptions,
           c.relispartition AS is_part,
           t.relation_name, t.is_temporary, pg_partition_root(indexrelid) AS root
    FROM (SELECT DISTINCT relation, relation_name, is_temporary FROM retyped) AS t,
         LATERAL (SELECT * FROM pg_index WHERE indrelid = relation OFFSET 0) AS i,
         LATERAL (SELECT * FROM pg_class WHERE oid = indexrelid OFFSET 0) AS c
    JOIN pg_namespace AS n ON n.oid = c.relnamespace
),

-- a row: a statement that gives an index or a statistics object what ALTER TABLE does not give it
-- again.
of_indexes(statement, is_temporary) AS (
    SELECT format(
               'ALTER INDEX %s SET (%s);',
               index_name,
               (
                   SELECT string_agg(
                              format('%I=%L', split_part(o, '=', 1), substr(o, strpos(o, '=') + 1)), ', ')
                   FROM unnest(indexes.reloptions) AS o
               )),
           is_temporary
    FROM indexes
    JOIN pg_class AS r ON r.oid = root
    WHERE is_part AND indexes.reloptions <> coalesce(r.reloptions, '{}')
    UNION ALL
    SELECT format('ALTER TABLE %s CLUSTER ON %I;', relation_name, name), is_temporary
    FROM indexes
    WHERE is_part AND indisclustered
    UNION ALL
    SELECT format('ALTER TABLE %s REPLICA IDENTITY USING INDEX %I;', relation_name, name), is_temporary
    FROM indexes
    WHERE is_part AND indisreplident
    UNION ALL
    SELECT format('ALTER INDEX %s ALTER COLUMN %s SET STATISTICS %s;', index_name, attnum, attstattarget),
           is_temporary
    FROM indexes,
         LATERAL (SELECT * FROM pg_attribute WHERE attrelid = indexrelid AND attstattarget >= 0 OFFSET 0) AS a
    UNION ALL
    SELECT DISTINCT format('ALTER STATISTICS %I.%I SET STATISTICS %s;', nspname, stxname, stxstattarget),
           is_temporary
    FROM retyped
    JOIN pg_statistic_ext ON stxrelid = relation AND stxstattarget >= 0
    JOIN pg_namespace AS n ON n.oid = stxnamespace
)
