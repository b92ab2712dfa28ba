-- The objects that are dropped and created again. The query begins with keys.sql and depending.sql.
,
-- a row: a view, rule, trigger, policy or function that is dropped, so that PostgreSQL changes the
-- type of columns, and created again.
objects AS (
    SELECT DISTINCT d.class, d.object, i.type, i.identity,
           coalesce(relation.relowner, routine.proowner, of_relation.relowner) AS owner,
           coalesce(relation.relnamespace, routine.pronamespace, of_relation.relnamespace) AS schema,
           coalesce(relation.relpersistence, of_relation.relpersistence, 'p') = 't' AS is_temporary
    FROM dependents AS d
    JOIN wholes AS w
        ON (w.class, w.object) = (d.class, d.object) AND (w.part_class, w.part) = (d.class, d.object)
    LEFT JOIN pg_class AS relation ON d.class = 'pg_class'::regclass AND relation.oid = d.object
    LEFT JOIN pg_proc AS routine ON d.class = 'pg_proc'::regclass AND routine.oid = d.object
    LEFT JOIN pg_class AS of_relation
        ON of_relation.oid = CASE d.class
                                 WHEN 'pg_rewrite'::regclass
                                     THEN (SELECT ev_class FROM pg_rewrite WHERE oid = d.object)
                                 WHEN 'pg_trigger'::regclass
                                     THEN (SELECT tgrelid FROM pg_trigger WHERE oid = d.object)
                                 WHEN 'pg_policy'::regclass
                                     THEN (SELECT polrelid FROM pg_policy WHERE oid = d.object)
                             END,
         pg_identify_object(d.class, d.object, 0) AS i
)
