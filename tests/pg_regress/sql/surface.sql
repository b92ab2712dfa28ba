\set VERBOSITY default
-- Everything that the extension consists of, and how it is marked.
SELECT p.oid::regprocedure AS function, provolatile AS volatility, proisstrict AS strict, proparallel AS parallel,
       prosecdef AS definer
FROM pg_depend d JOIN pg_proc p ON d.classid = 'pg_proc'::regclass AND d.objid = p.oid
JOIN pg_extension e ON d.refclassid = 'pg_extension'::regclass AND d.refobjid = e.oid
WHERE e.extname LIKE 'snowflake%'
ORDER BY p.proname COLLATE "C", p.pronargs;

-- Nothing is without a comment.
SELECT pg_describe_object(d.classid, d.objid, 0) AS uncommented
FROM pg_depend d JOIN pg_extension e ON d.refclassid = 'pg_extension'::regclass AND d.refobjid = e.oid
WHERE e.extname LIKE 'snowflake%' AND d.deptype = 'e'
AND obj_description(d.objid, d.classid::regclass::name) IS NULL
AND d.objid NOT IN (SELECT typarray FROM pg_type UNION ALL SELECT reltype FROM pg_class WHERE relkind IN ('r', 'v'));

\d snowflake_parts

SELECT name, setting, unit, context, min_val, max_val FROM pg_settings
WHERE name LIKE 'snowflake.%' ORDER BY name COLLATE "C";
