-- The expressions of objects, as trees of nodes: those of a relation with its rules, checks, indexes,
-- statistics objects, policies and triggers, and those of a view with the defaults of its columns.
-- The query defines before: objects(class, object).

-- a row: an expression's object, with trees.
expressions(class, object, tree) AS (
    SELECT found.*
    FROM (SELECT DISTINCT class, object FROM objects) AS o,
         LATERAL (
             SELECT 'pg_rewrite'::regclass, oid, concat_ws(' ', ev_qual, ev_action)
             FROM pg_rewrite
             WHERE o.class = 'pg_class'::regclass AND ev_class = o.object
             UNION ALL
             SELECT 'pg_rewrite'::regclass, oid, concat_ws(' ', ev_qual, ev_action)
             FROM pg_rewrite
             WHERE o.class = 'pg_rewrite'::regclass AND oid = o.object
             UNION ALL
             -- Those of tables do not read columns, and a conversion sets others.
             SELECT 'pg_attrdef'::regclass, d.oid, adbin::text
             FROM pg_attrdef AS d
             JOIN pg_class AS c ON c.oid = adrelid AND relkind = 'v'
             WHERE o.class = 'pg_class'::regclass AND adrelid = o.object
             UNION ALL
             SELECT 'pg_constraint'::regclass, oid, conbin::text
             FROM pg_constraint
             WHERE o.class = 'pg_class'::regclass AND conrelid = o.object AND contype = 'c'
             UNION ALL
             SELECT 'pg_class'::regclass, indexrelid, concat_ws(' ', indexprs, indpred)
             FROM pg_index
             WHERE o.class = 'pg_class'::regclass AND indrelid = o.object
             UNION ALL
             SELECT 'pg_statistic_ext'::regclass, oid, stxexprs::text
             FROM pg_statistic_ext
             WHERE o.class = 'pg_class'::regclass AND stxrelid = o.object
             UNION ALL
             SELECT 'pg_policy'::regclass, oid, concat_ws(' ', polqual, polwithcheck)
             FROM pg_policy
             WHERE o.class = 'pg_class'::regclass AND polrelid = o.object
             UNION ALL
             SELECT 'pg_policy'::regclass, oid, concat_ws(' ', polqual, polwithcheck)
             FROM pg_policy
             WHERE o.class = 'pg_policy'::regclass AND oid = o.object
             UNION ALL
             SELECT 'pg_trigger'::regclass, oid, tgqual::text
             FROM pg_trigger
             WHERE o.class = 'pg_class'::regclass AND tgrelid = o.object AND NOT tgisinternal
             UNION ALL
             SELECT 'pg_trigger'::regclass, oid, tgqual::text
             FROM pg_trigger
             WHERE o.class = 'pg_trigger'::regclass AND oid = o.object
             UNION ALL
             SELECT 'pg_proc'::regclass, oid, concat_ws(' ', prosqlbody, proargdefaults)
             FROM pg_proc
             WHERE o.class = 'pg_proc'::regclass AND oid = o.object
         ) AS found (class, object, tree)
),

-- a row: the same with a name. Of a view, it is the view's.
trees(of, tree) AS (
    SELECT CASE
               WHEN rulename = '_RETURN' THEN pg_describe_object('pg_class'::regclass, ev_class, 0)
               ELSE pg_describe_object(class, object, 0)
           END,
           tree
    FROM (SELECT DISTINCT class, object, tree FROM expressions) AS e
    LEFT JOIN pg_rewrite AS r ON class = 'pg_rewrite'::regclass AND r.oid = object
    WHERE tree <> ''
)
