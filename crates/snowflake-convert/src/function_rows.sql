-- The functions that a conversion needs to be told of, and the statements that create functions
-- again. The query begins with keys.sql, depending.sql, integers.sql, guesses.sql, guess_risks.sql,
-- sources.sql, functions.sql, signatures.sql and fired.sql. $12 are the functions that the caller has
-- acknowledged.
SELECT section, text, old_identity, identity, key, name
FROM (
    SELECT 'unacknowledged' AS section, name AS text, NULL AS old_identity, NULL AS identity, NULL AS key,
           NULL AS name, name AS of, 0 AS rank
    FROM narrow_functions
    WHERE is_fired AND (oid = ANY ($12::regprocedure[]::oid[])) IS NOT TRUE
    UNION ALL
    SELECT 'unacknowledged', name, NULL, NULL, NULL, NULL, name, 0
    FROM doubtful_functions
    WHERE (oid = ANY ($12::regprocedure[]::oid[])) IS NOT TRUE
    UNION ALL
    SELECT 'statement', statement, NULL, NULL, NULL, name, old_identity, rank
    FROM recreated_functions AS f,
         LATERAL (VALUES (1, f.drop), (2, f.create), (3, f.owner)) AS statements (rank, statement)
    UNION ALL
    SELECT 'properties', '', old_identity, identity, format('%s:%s', 'pg_proc'::regclass::oid, oid), name,
           old_identity, 4
    FROM recreated_functions
    UNION ALL
    -- PostgreSQL looks for what a function in SQL calls when it creates it.
    SELECT DISTINCT 'call', calls.name::text, NULL, NULL, NULL, f.name, NULL, 5
    FROM recreated_functions AS f
    JOIN calls ON caller = f.oid
    WHERE calls.name IN (SELECT name FROM recreated_functions)
) AS rows
ORDER BY of, rank
