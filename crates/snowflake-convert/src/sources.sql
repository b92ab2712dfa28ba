-- Which functions are read. The query begins with keys.sql.
--
-- Any role can create functions, as large as it wants to. So sources are read only of functions of the
-- owner and of superusers, and of those that the tables and their views name, and none above 1 MB.
,
-- a row: a view that reads a column that holds keys, or a view of that kind.
readers(view) AS (
    SELECT ev_class
    FROM columns,
         LATERAL (
             SELECT objid
             FROM pg_depend
             WHERE (refclassid, refobjid, refobjsubid) = ('pg_class'::regclass, relation, number::integer)
               AND classid = 'pg_rewrite'::regclass
             OFFSET 0
         ) AS p,
         LATERAL (SELECT ev_class FROM pg_rewrite WHERE oid = objid AND rulename = '_RETURN' OFFSET 0) AS r
    UNION
    SELECT ev_class
    FROM readers,
         LATERAL (
             SELECT objid
             FROM pg_depend
             WHERE (refclassid, refobjid) = ('pg_class'::regclass, view) AND classid = 'pg_rewrite'::regclass
             OFFSET 0
         ) AS p,
         LATERAL (SELECT ev_class FROM pg_rewrite WHERE oid = objid AND rulename = '_RETURN' OFFSET 0) AS r
),

-- a row: a function that triggers, rules, checks, policies, defaults or indexes of the tables name, or
-- the views.
evaluated(oid) AS (
    SELECT called.refobjid
    FROM (SELECT relation FROM columns UNION SELECT view FROM readers) AS r,
         LATERAL (
             SELECT classid, objid
             FROM pg_depend
             WHERE (refclassid, refobjid) = ('pg_class'::regclass, relation)
               AND classid <> 'pg_proc'::regclass
             OFFSET 0
         ) AS p,
         LATERAL (
             SELECT refobjid
             FROM pg_depend
             WHERE (classid, objid, refclassid) = (p.classid, p.objid, 'pg_proc'::regclass)
             OFFSET 0
         ) AS called
),

-- a row: a function that is no part of an extension, with its source without comments, or an empty one
-- if that is not read: because the function is large, or because it is not near. PostgreSQL knows sizes
-- without reading. A parsed body is larger than its text.
sources(oid, is_near, size, source) AS (
    SELECT p.oid, is_near, size,
           CASE
               WHEN is_near AND size <= 1048576
                   THEN regexp_replace(
                            prosrc, '(''[^'']*''|"[^"]*")|--[^\n\r]*|/\*([^*]|\*+[^*/])*\*+/', '\1', 'g')
                        || coalesce(pg_get_function_sqlbody(p.oid), '')
               ELSE ''
           END
    FROM pg_proc AS p
    JOIN pg_language AS l ON l.oid = prolang AND lanname NOT IN ('c', 'internal'),
         LATERAL (
             SELECT proowner IN (SELECT role FROM the_owner UNION SELECT oid FROM pg_roles WHERE rolsuper)
                    OR p.oid IN (SELECT oid FROM evaluated),
                    octet_length(prosrc) + coalesce(octet_length(prosqlbody::text), 0) / 16
         ) AS of_function (is_near, size)
    WHERE p.oid >= 16384
      AND prokind <> 'a'
      -- Functions of the owner cannot call the others.
      AND (is_near OR EXISTS (SELECT FROM the_owner WHERE has_schema_privilege(role, pronamespace, 'USAGE')))
      AND NOT EXISTS (
          SELECT FROM pg_depend WHERE (classid, objid, deptype) = ('pg_proc'::regclass, p.oid, 'e')
      )
)
