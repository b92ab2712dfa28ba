-- What stands in the way of converting or reverting keys, and the statements that it takes. The
-- query begins with keys.sql, depending.sql, objects.sql, bound.sql, trust.sql, rebuilt.sql and the
-- files in the directory plan.
,
-- a row: a schema of the session's search_path in which nobody else can create what statements
-- would call.
path(place, name) AS (
    SELECT place, nspname
    FROM unnest($9::text::oid[]) WITH ORDINALITY AS of_session (oid, place)
    JOIN pg_namespace USING (oid)
    JOIN schemas ON schema = oid
    WHERE is_trusted AND creators IS NULL AND nspname !~ '^pg_'
),

-- a row: a name in the statements and its relation: that it is still this is looked at between
-- them.
names(name, relation) AS (
    SELECT relation_name, relation FROM columns WHERE in_family
    UNION SELECT relation_name, relation FROM retyped
    UNION
    SELECT format('%I.%I', nspname, relname), c.oid
    FROM (
        SELECT object FROM bound WHERE class = 'pg_class'::regclass
        EXCEPT SELECT object FROM objects WHERE class = 'pg_class'::regclass
        EXCEPT SELECT sequence FROM columns WHERE identity <> ''
    ) AS stays (oid),
         LATERAL (SELECT * FROM pg_class WHERE oid = stays.oid OFFSET 0) AS c
    JOIN pg_namespace AS n ON n.oid = relnamespace
)

SELECT section, text, other, object, detail, hint, is_temporary, properties, calls_others, is_owners,
       is_generated, is_parsed
FROM (
    SELECT 'obstacle' AS section, message AS text, sqlstate AS other, object, detail, hint,
           NULL::boolean AS is_temporary, rank, NULL AS properties, NULL::boolean AS calls_others,
           NULL::boolean AS is_owners, NULL::boolean AS is_generated, NULL::boolean AS is_parsed
    FROM (
        SELECT * FROM common_obstacles
        UNION ALL SELECT * FROM conversion_obstacles WHERE NOT $6
        UNION ALL SELECT * FROM reversion_obstacles WHERE $6
    ) AS obstacles
    UNION ALL
    SELECT 'owner', role::oid::text, NULL, NULL, NULL, NULL, NULL, 0, NULL, NULL, NULL, NULL, NULL
    FROM the_owner
    UNION ALL
    SELECT 'path', name, NULL, NULL, NULL, NULL, NULL, place::integer, NULL, NULL, NULL, NULL, NULL
    FROM path
    UNION ALL
    SELECT 'name', name, NULL, relation::oid::text, NULL, NULL, NULL, 0, NULL, NULL, NULL, NULL, NULL
    FROM names
    UNION ALL
    SELECT CASE WHEN is_key THEN 'test' ELSE 'risky test' END, query, message, object, detail, hint, NULL,
           rank, expression, calls_others, is_owners, is_generated, is_parsed
    FROM tests
    WHERE NOT $6
    UNION ALL
    SELECT CASE WHEN has_index THEN 'values' ELSE 'values without index' END, query, limit_of_type::text,
           description, NULL, NULL, NULL, 0, NULL, calls_others, NULL, NULL, NULL
    FROM values_of
    UNION ALL
    SELECT 'convert', statement, moment, NULL, NULL, NULL, is_temporary, 0, properties, NULL, NULL, NULL,
           NULL
    FROM conversion, is_converted
    WHERE NOT $6 AND NOT is_converted
    UNION ALL
    SELECT CASE WHEN $8::boolean THEN 'convert' ELSE 'validate' END, statement, 'validate foreign keys',
           NULL, NULL, NULL, is_temporary, 0, NULL, NULL, NULL, NULL, NULL
    FROM validation
    WHERE NOT $6
    UNION ALL
    SELECT 'revert', statement, moment, NULL, NULL, NULL, NULL, 0, properties, NULL, NULL, NULL, NULL
    FROM way_back, is_converted
    WHERE NOT $6 AND NOT is_converted
    UNION ALL
    SELECT 'revert', statement, moment, NULL, NULL, NULL, is_temporary, 0, NULL, NULL, NULL, NULL, NULL
    FROM reversion
    WHERE $6
) AS plan
ORDER BY rank, text
