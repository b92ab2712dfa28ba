-- Expressions that make a key too narrow, however wide its column is. The query goes on from
-- sources.sql.
,
-- a row: a regular expression that finds, in a tree of nodes, a cast of the column of this number, or
-- of any column, to a type that holds 32 bits at most. There is only one row.
narrowing(of_number, of_any) AS (
    SELECT pattern || '\{(VAR :varno \d+ :varattno %s|CASETESTEXPR) ', pattern || '\{(VAR|CASETESTEXPR) '
    FROM (
        SELECT format(
                   '(\{FUNCEXPR :funcid (%s) [^{}]*:args \(|'
                   '\{RELABELTYPE (?=:arg \{[^{}]*\} :resulttype 26 ):arg |'
                   '\{COERCEVIAIO (?=:arg \{COERCEVIAIO :arg \{[^{}]*\} [^{}]*\} :resulttype (21|23|26) )'
                   ':arg \{COERCEVIAIO :arg )',
                   string_agg(castfunc::oid::text, '|'))
        FROM pg_cast
        WHERE castsource IN ('integer'::regtype, 'bigint'::regtype)
          AND casttarget IN ('smallint'::regtype, 'integer'::regtype, 'oid'::regtype)
          AND castfunc <> 0
    ) AS patterns (pattern)
),

-- a row: an object whose expression casts a column that holds keys to such a type. In a view that reads
-- others, or that has subqueries, the column has another number than in its table.
narrow_casts(object) AS (
    SELECT DISTINCT CASE
                        WHEN ev_class IS NULL THEN pg_describe_object(p.classid, p.objid, 0)
                        ELSE pg_describe_object('pg_class'::regclass, ev_class, 0)
                    END
    FROM (
        SELECT relation, number::integer, number::text FROM columns
        UNION ALL SELECT view, attnum::integer, NULL FROM readers JOIN pg_attribute ON attrelid = view
    ) AS c (relation, number, own_number),
         narrowing,
         LATERAL (
             SELECT classid, objid
             FROM pg_depend
             WHERE (refclassid, refobjid, refobjsubid) = ('pg_class'::regclass, relation, number)
             OFFSET 0
         ) AS p
    LEFT JOIN LATERAL (
        SELECT ev_class
        FROM pg_rewrite
        WHERE p.classid = 'pg_rewrite'::regclass AND oid = p.objid AND rulename = '_RETURN'
        OFFSET 0
    ) AS v ON true,
         LATERAL (
             SELECT concat(ev_action, ev_qual)
             FROM pg_rewrite
             WHERE p.classid = 'pg_rewrite'::regclass AND oid = p.objid
             UNION ALL
             SELECT adbin::text FROM pg_attrdef WHERE p.classid = 'pg_attrdef'::regclass AND oid = p.objid
             UNION ALL
             SELECT concat(indexprs, indpred)
             FROM pg_index
             WHERE p.classid = 'pg_class'::regclass AND indexrelid = p.objid
             UNION ALL
             -- A check of one column is tried with the next ID.
             SELECT conbin::text
             FROM pg_constraint
             WHERE p.classid = 'pg_constraint'::regclass AND oid = p.objid AND cardinality(conkey) > 1
             UNION ALL
             SELECT concat(polqual, polwithcheck)
             FROM pg_policy
             WHERE p.classid = 'pg_policy'::regclass AND oid = p.objid
             UNION ALL
             SELECT tgqual::text FROM pg_trigger WHERE p.classid = 'pg_trigger'::regclass AND oid = p.objid
             UNION ALL
             SELECT stxexprs::text
             FROM pg_statistic_ext
             WHERE p.classid = 'pg_statistic_ext'::regclass AND oid = p.objid
         ) AS trees (tree)
    WHERE tree ~ CASE
                     WHEN own_number IS NULL OR tree ~ ':rtekind [16]' THEN of_any
                     ELSE replace(of_number, '%s', own_number)
                 END
)
