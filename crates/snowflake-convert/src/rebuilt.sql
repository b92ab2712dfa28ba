-- What PostgreSQL itself creates again when it changes the type of a column. The query begins with
-- keys.sql and depending.sql.
,
-- a row: an expression of a check, an index, a statistics object or a policy that uses a column
-- whose type changes. PostgreSQL parses its text again, and might not find a function for bigint.
parsed_again AS (
    SELECT DISTINCT format('%I.%I', nspname, relname) AS relation_name, relname AS name, relowner AS owner,
           expression,
           pg_describe_object(p.classid, p.objid, 0) AS description,
           -- The next ID is tried with such a check, too.
           coalesce(cardinality(conkey) = 1, false) AS is_tried,
           -- What reads a literal of a type might be code of a user. PostgreSQL itself reads those of an
           -- enum.
           EXISTS (
               SELECT
               FROM pg_depend AS d
               JOIN pg_type AS t ON t.oid = d.refobjid AND t.oid >= 16384 AND typtype <> 'e'
               WHERE (d.classid, d.objid, d.refclassid) = (p.classid, p.objid, 'pg_type'::regclass)
           ) AS has_types,
           (
               SELECT string_agg(
                          format(
                              'NULL::%s AS %I',
                              CASE
                                  WHEN (attrelid, attnum) IN (SELECT relation, number FROM retyped)
                                      THEN 'bigint'
                                  ELSE format_type(atttypid, atttypmod)
                              END,
                              attname),
                          ', ')
               FROM pg_attribute
               WHERE attrelid = c.oid AND NOT attisdropped
           ) AS bigints
    FROM retyped AS r
    JOIN pg_depend AS p
        ON (p.refclassid, p.refobjid, p.refobjsubid) = ('pg_class'::regclass, r.relation, r.number::integer)
    LEFT JOIN pg_constraint AS k
        ON p.classid = 'pg_constraint'::regclass AND k.oid = p.objid AND contype = 'c' AND coninhcount = 0
    LEFT JOIN pg_index ON p.classid = 'pg_class'::regclass AND indexrelid = p.objid
    LEFT JOIN pg_statistic_ext AS s ON p.classid = 'pg_statistic_ext'::regclass AND s.oid = p.objid
    LEFT JOIN pg_policy ON p.classid = 'pg_policy'::regclass AND pg_policy.oid = p.objid
    JOIN pg_class AS c ON c.oid = coalesce(conrelid, indrelid, stxrelid, polrelid)
    JOIN pg_namespace AS n ON n.oid = relnamespace,
         LATERAL (
             VALUES (conbin), (indexprs), (indpred), (stxexprs), (polqual), (polwithcheck)
         ) AS trees (tree),
         LATERAL pg_get_expr(tree, c.oid) AS expression
    -- A row of a subquery is not of the row type of the table.
    WHERE expression !~ '\.\*'
),

-- a row: an index that PostgreSQL creates again with the types of its columns. Those of partitions
-- are created with the root's, and have other names than before then.
indexes AS (
    SELECT i.*, c.relname AS name, format('%I.%I', nspname, c.relname) AS index_name, c.reloptions,
           c.relispartition AS is_part,
           t.relation_name, t.is_temporary, pg_partition_root(indexrelid) AS root
    FROM (SELECT DISTINCT relation, relation_name, is_temporary FROM retyped) AS t
    JOIN pg_index AS i ON indrelid = relation
    JOIN pg_class AS c ON c.oid = indexrelid
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
    FROM indexes
    JOIN pg_attribute ON attrelid = indexrelid AND attstattarget >= 0
    UNION ALL
    SELECT DISTINCT format('ALTER STATISTICS %I.%I SET STATISTICS %s;', nspname, stxname, stxstattarget),
           is_temporary
    FROM retyped
    JOIN pg_statistic_ext ON stxrelid = relation AND stxstattarget >= 0
    JOIN pg_namespace AS n ON n.oid = stxnamespace
)
