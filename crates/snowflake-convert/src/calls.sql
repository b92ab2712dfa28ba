-- What expressions call: functions, operators and casts. The catalog does not record which of
-- PostgreSQL's own these are, so they are found in the trees of nodes, where a name cannot contain
-- what is looked for: spaces in it are escaped. The query begins with trees(of, tree).
,
-- a row: a number in a tree that is that of a function or an operator, or a cast by way of a text.
numbers(of, kind, oid) AS (
    SELECT of, coalesce(found[1], found[3]), found[2]::oid
    FROM trees,
         regexp_matches(
             tree, ':(funcid|aggfnoid|winfnoid|opno|eqop|sortop) (\d+)|\{(COERCEVIAIO) ', 'g') AS found
),

-- a row: a cast from one type of integers to another.
integer_casts(oid, is_widening) AS (
    SELECT castfunc, one.typlen < other.typlen
    FROM pg_cast
    JOIN pg_type AS one ON one.oid = castsource
    JOIN pg_type AS other ON other.oid = casttarget
    WHERE castsource IN ('smallint'::regtype, 'integer'::regtype, 'bigint'::regtype)
      AND casttarget IN ('smallint'::regtype, 'integer'::regtype, 'bigint'::regtype)
      AND castfunc <> 0
),

-- a row: a function or an operator that is called, with the types of its arguments.
called(of, class, oid, schema, name, types) AS (
    SELECT of, found.*
    FROM numbers AS n,
         LATERAL (
             SELECT 'pg_proc'::regclass, oid, pronamespace, proname, proargtypes::oid[]
             FROM pg_proc
             WHERE kind IN ('funcid', 'aggfnoid', 'winfnoid') AND oid = n.oid
             UNION ALL
             SELECT 'pg_operator'::regclass, oid, oprnamespace, oprname, ARRAY[oprleft, oprright]
             FROM pg_operator
             WHERE kind IN ('opno', 'eqop', 'sortop') AND oid = n.oid
         ) AS found
),

-- a row: a call, and what stays the same of it where an integer becomes a bigint: the name, and the
-- other types. That does not hold for a cast that makes an integer smaller.
calls(of, call, description) AS (
    SELECT of,
           CASE
               WHEN is_widening IS NULL THEN format('%s %s %s %s', class::oid, schema, bigints, name)
               ELSE called.oid::text
           END,
           pg_describe_object(class, called.oid, 0)
    FROM called
    LEFT JOIN integer_casts AS c ON class = 'pg_proc'::regclass AND c.oid = called.oid,
         LATERAL (
             SELECT array_agg(
                        CASE
                            WHEN type IN ('smallint'::regtype, 'integer'::regtype) THEN 'bigint'::regtype
                            WHEN type IN ('smallint[]'::regtype, 'integer[]'::regtype)
                                THEN 'bigint[]'::regtype
                            ELSE type
                        END::oid
                        ORDER BY place)
             FROM unnest(types) WITH ORDINALITY AS of_call (type, place)
         ) AS given (bigints)
    WHERE is_widening IS NOT TRUE
    UNION ALL
    SELECT of, kind, 'a cast by way of a text' FROM numbers WHERE kind = 'COERCEVIAIO'
)

SELECT of, call, description FROM calls ORDER BY of, call, description
