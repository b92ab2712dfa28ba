-- Views that are created again, and what stands in for tables when their texts are parsed as if
-- keys were bigint already. The query begins with keys.sql, depending.sql and objects.sql.
,
-- a row: a table with retyped columns, and parts of a WITH clause that have its name, with the new
-- types and with those that there are.
stand_ins(relation, name, schema, text, former) AS (
    SELECT c.oid, c.relname, n.nspname, format('%I AS (SELECT %s)', c.relname, bigints),
           format('%I AS (SELECT %s)', c.relname, integers)
    FROM pg_class AS c
    JOIN pg_namespace AS n ON n.oid = c.relnamespace,
         LATERAL (
             SELECT string_agg(
                        format(
                            'NULL::%s AS %I',
                            CASE
                                WHEN (attrelid, attnum) IN (SELECT relation, number FROM retyped)
                                    THEN 'bigint'
                                ELSE format_type(atttypid, atttypmod)
                            END,
                            attname),
                        ', '),
                    string_agg(format('NULL::%s AS %I', format_type(atttypid, atttypmod), attname), ', ')
             FROM pg_attribute
             WHERE attrelid = c.oid AND NOT attisdropped
         ) AS columns_of (bigints, integers)
    WHERE c.oid IN (SELECT relation FROM retyped)
)

SELECT v.object, pg_describe_object(v.class, v.object, 0), s.name, s.schema, s.text, s.former
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
