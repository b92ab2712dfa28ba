-- Views that are created again. The query begins with keys.sql, depending.sql and objects.sql, and
-- contains stand_ins.sql.
,
-- a row: a table that something stands in for where the text of a view is parsed.
stood_in_for(relation) AS (
    SELECT relation FROM retyped
)

SELECT v.object, pg_describe_object(v.class, v.object, 0), s.name, s.schema,
       format('%I AS (SELECT %s)', s.name, bigints), format('%I AS (SELECT %s)', s.name, integers)
FROM objects AS v
JOIN pg_rewrite AS r ON ev_class = v.object AND v.class = 'pg_class'::regclass AND rulename = '_RETURN'
JOIN pg_depend AS p
    ON (p.classid, p.objid, p.refclassid) = ('pg_rewrite'::regclass, r.oid, 'pg_class'::regclass)
JOIN stand_ins AS s ON s.relation = p.refobjid
WHERE NOT EXISTS (
    SELECT
    FROM pg_depend AS d
    LEFT JOIN pg_type AS t ON d.refclassid = 'pg_type'::regclass AND t.oid = d.refobjid
    WHERE (d.classid, d.objid) = ('pg_rewrite'::regclass, r.oid)
      -- What stands in for a table has no primary key to group by. Literals of these types are read by
      -- code of users.
      AND (d.refclassid = 'pg_constraint'::regclass OR t.oid >= 16384 AND t.typtype <> 'e')
)
GROUP BY 1, 2, 3, 4, 5, 6
ORDER BY 2, 4, 3
