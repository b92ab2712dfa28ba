-- Functions that may not take, return or keep larger keys. The query goes on from guesses.sql,
-- guess_risks.sql and sources.sql.
,
-- a row: the name of a table, a column or a view whose values become larger than an integer.
words(word) AS (
    SELECT relname FROM columns JOIN pg_class ON oid = relation WHERE is_named
    UNION SELECT relname FROM dependents JOIN pg_class ON class = 'pg_class'::regclass AND oid = object
    UNION SELECT relname FROM readers JOIN pg_class ON oid = view
    UNION SELECT name FROM columns WHERE name <> 'id'
    UNION SELECT name FROM guesses
),

-- a row: a type of which a value cannot hold a larger key: those of integers.sql, and composite
-- types of them.
narrow_types(type) AS (
    SELECT type FROM integer_types
    UNION
    SELECT t.oid
    FROM pg_class AS c
    JOIN pg_type AS t ON t.oid IN (c.reltype, (SELECT typarray FROM pg_type WHERE oid = c.reltype))
    WHERE c.oid IN (SELECT relation FROM guesses WHERE kind = 'c')
),

-- a row: regular expressions that find these names, types and the names of sequences in sources. There is
-- only one row.
patterns(words, types, sequences) AS (
    SELECT '\m(' || (SELECT string_agg(regexp_replace(word, '(\W)', '\\\1', 'g'), '|') FROM words) || ')\M',
           '\m(smallint|integer|int|int2|int4'
           || coalesce(
               (
                   SELECT string_agg('|' || regexp_replace(typname, '(\W)', '\\\1', 'g'), '')
                   FROM narrow_types JOIN pg_type ON oid = type
                   WHERE oid >= 16384 AND typtype IN ('d', 'c')
               ),
               '')
           || ')\M',
           (
               SELECT '\m(' || string_agg(DISTINCT regexp_replace(relname, '(\W)', '\\\1', 'g'), '|') || ')\M'
               FROM columns JOIN pg_class ON oid = sequence
               WHERE in_family
           )
),

-- a row: such a function. One that is not read might do anything.
functions AS (
    SELECT p.oid, p.oid::regprocedure::text AS name, proname, source, types, size,
           source = '' AND size > 0 AS is_unread,
           all_types && ARRAY(SELECT type FROM narrow_types) AS has_narrow_parameters,
           source ~* types OR is_near AND size > 1048576 AS has_narrow_variables,
           source ~* words OR is_near AND size > 1048576 AS names_keys,
           coalesce(source ~* sequences, false) AS names_sequences, lanname AS language
    FROM sources
    JOIN pg_proc AS p USING (oid)
    JOIN pg_language AS l ON l.oid = prolang,
         patterns,
         LATERAL (SELECT coalesce(proallargtypes, proargtypes::oid[]) || prorettype) AS of_call (all_types)
),

-- a row: a function and a name that it calls, as far as names before parentheses tell. Functions of
-- one name are not told apart: there might be thousands, each of which calls all the others.
calls(caller, name) AS (
    SELECT DISTINCT oid, coalesce(replace(found[1], '""', '"'), lower(found[2]))::name
    FROM functions, regexp_matches(source, '(?:"((?:[^"]|"")+)"|([[:alpha:]_][\w$]*))\s*\(', 'g') AS found
),

-- a row: the same by names: a name of functions, and all others that one of them calls.
calls_of_names(caller, names) AS (
    SELECT proname, array_agg(DISTINCT calls.name)
    FROM calls JOIN functions ON oid = caller
    WHERE calls.name IN (SELECT proname FROM functions)
    GROUP BY proname
),

-- a row: a name that is called by functions that name keys, with their names: ten are enough to
-- look for.
callers(name, names) AS (
    SELECT name,
           array_to_string((array_agg(caller ORDER BY caller))[:10], ', ')
           || CASE WHEN count(*) > 10 THEN format(' and %s others', count(*) - 10) ELSE '' END
    FROM (
        SELECT DISTINCT calls.name, functions.name
        FROM calls JOIN functions ON oid = caller
        WHERE names_keys
    ) AS callers (name, caller)
    GROUP BY name
),

-- a row: a table, and a name that statements which change it call by way of their triggers.
fired_names(name, relation) AS (
    SELECT name, tgrelid
    FROM pg_trigger JOIN calls ON caller = tgfoid
    WHERE NOT tgisinternal AND tgrelid IN (SELECT relation FROM columns)
    UNION
    -- PostgreSQL 19 reserves memory for as many rows as the planner expects of a recursion. It expects
    -- ten of an array, and a tenth of them where it does not know the LIMIT. There is none.
    SELECT called.name, relation
    FROM fired_names AS f
    JOIN calls_of_names ON caller = f.name,
         LATERAL (SELECT unnest(names) LIMIT (SELECT NULL::bigint)) AS called (name)
),

-- a row: a table, and a function that such statements might execute.
fired(oid, relation) AS (
    SELECT tgfoid, relation
    FROM columns,
         LATERAL (SELECT tgfoid FROM pg_trigger WHERE tgrelid = relation AND NOT tgisinternal OFFSET 0) AS t
    UNION
    SELECT oid, relation FROM functions JOIN fired_names ON fired_names.name = proname
),

-- a row: a function with integers that a key might reach.
narrow_functions AS (
    SELECT f.*, of_tables IS NOT NULL AS is_fired, of_tables, of_call, in_body,
           CASE
               WHEN names_keys THEN 'names a converted table or column, or one that might hold keys'
               ELSE 'is called by ' || callers.names
           END AS why
    FROM functions AS f
    LEFT JOIN (
        SELECT oid, string_agg(DISTINCT relation_name, ', ' ORDER BY relation_name) AS of_tables
        FROM fired
        JOIN columns USING (relation)
        GROUP BY oid
    ) AS fired USING (oid)
    LEFT JOIN callers ON callers.name = proname,
         LATERAL (
             SELECT CASE
                        WHEN has_narrow_parameters
                            THEN concat_ws(
                                ' RETURNS ', '(' || pg_get_function_arguments(f.oid) || ')',
                                pg_get_function_result(f.oid))
                    END,
                    (
                        SELECT string_agg(DISTINCT btrim(line), '; ')
                        FROM regexp_split_to_table(f.source, '[\n\r;]') AS line
                        WHERE line ~* types
                    )
         ) AS found (of_call, in_body)
    WHERE (has_narrow_parameters OR has_narrow_variables OR is_unread AND of_tables IS NOT NULL)
      AND (names_keys OR of_tables IS NOT NULL OR callers.names IS NOT NULL)
)
