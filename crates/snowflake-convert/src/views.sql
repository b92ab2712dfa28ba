-- Views that are created again, and what stands in for tables when their texts are parsed as if
-- keys were bigint already. The query begins with keys.sql, depending.sql and objects.sql.
,
-- a row: a table with retyped columns, and a part of a WITH clause that has its name and the new
-- types.
stand_ins(relation, name, schema, text) AS (
    SELECT c.oid, c.relname, n.nspname,
           format(
               '%I AS (SELECT %s)', c.relname,
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
               ))
    FROM pg_class AS c
    JOIN pg_namespace AS n ON n.oid = c.relnamespace
    WHERE c.oid IN (SELECT relation FROM retyped)
)

SELECT v.object, pg_describe_object(v.class, v.object, 0), s.name, s.schema, s.text
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
GROUP BY 1, 2, 3, 4, 5
ORDER BY 2, 4, 3
