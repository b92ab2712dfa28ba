-- Functions that may not take, return or keep larger keys, and what creates them again with bigint.
-- The query begins with keys.sql and guesses.sql.
,
-- Names of tables, columns and views whose values become larger than an integer.
words(word) AS (
    SELECT relname FROM columns JOIN pg_class ON oid = relation WHERE is_named
    UNION SELECT relname FROM dependents JOIN pg_class ON class = 'pg_class'::regclass AND oid = object
    UNION SELECT name FROM columns WHERE name <> 'id'
    UNION SELECT name FROM guesses
),
-- Types of which a value cannot hold a larger key: those of guesses.sql, and composite types of them.
narrow_types(type) AS (
    SELECT type FROM integer_types
    UNION
    SELECT t.oid FROM pg_class AS c JOIN pg_type AS t ON t.oid IN (c.reltype, (SELECT typarray FROM pg_type WHERE oid = c.reltype))
    WHERE c.oid IN (SELECT relation FROM guesses WHERE kind = 'c')
),
patterns(words, types) AS (
    SELECT '\m(' || (SELECT string_agg(regexp_replace(word, '(\W)', '\\\1', 'g'), '|') FROM words) || ')\M',
           '\m(smallint|integer|int|int2|int4'
           || coalesce((SELECT string_agg('|' || regexp_replace(typname, '(\W)', '\\\1', 'g'), '') FROM narrow_types JOIN pg_type ON oid = type WHERE oid >= 16384 AND typtype IN ('d', 'c')), '')
           || ')\M'
),
-- Functions, with their sources without comments.
functions AS (
    SELECT p.oid, p.oid::regprocedure::text AS name, proname, source.text AS source, types,
           all_types && ARRAY(SELECT type FROM narrow_types) AS has_narrow_parameters,
           source.text ~* types AS has_narrow_variables,
           source.text ~* words AS names_keys
    FROM pg_proc AS p
    JOIN pg_language AS l ON l.oid = prolang AND lanname NOT IN ('c', 'internal'),
    patterns, LATERAL (SELECT regexp_replace(prosrc, '(''[^'']*''|"[^"]*")|--[^\n\r]*|/\*([^*]|\*+[^*/])*\*+/', '\1', 'g') || coalesce(pg_get_function_sqlbody(p.oid), '')) AS source (text),
    LATERAL (SELECT coalesce(proallargtypes, proargtypes::oid[]) || prorettype) AS of_call (all_types)
    WHERE p.oid >= 16384 AND prokind <> 'a'
      AND NOT EXISTS (SELECT FROM pg_depend WHERE (classid, objid, deptype) = ('pg_proc'::regclass, p.oid, 'e'))
),
-- Which names functions call, as far as names before parentheses tell. Functions of one name are
-- not told apart: there may be thousands, each of which calls all the others.
calls(caller, name) AS (
    SELECT DISTINCT oid, coalesce(replace(found[1], '""', '"'), lower(found[2]))::name
    FROM functions, regexp_matches(source, '(?:"((?:[^"]|"")+)"|([[:alpha:]_][\w$]*))\s*\(', 'g') AS found
),
calls_of_names(caller, name) AS (
    SELECT DISTINCT proname, calls.name FROM calls JOIN functions ON oid = caller WHERE calls.name IN (SELECT proname FROM functions)
),
-- The names of those that call a function and name keys: ten are enough to look for.
callers(name, names) AS (
    SELECT name, array_to_string((array_agg(caller ORDER BY caller))[:10], ', ') || CASE WHEN count(*) > 10 THEN format(' and %s others', count(*) - 10) ELSE '' END
    FROM (SELECT DISTINCT calls.name, functions.name FROM calls JOIN functions ON oid = caller WHERE names_keys) AS callers (name, caller)
    GROUP BY name
),
-- What statements that change these tables execute, by way of their triggers.
fired_names(name, relation) AS (
    SELECT name, tgrelid FROM pg_trigger JOIN calls ON caller = tgfoid WHERE NOT tgisinternal AND tgrelid IN (SELECT relation FROM columns)
    UNION
    SELECT c.name, relation FROM fired_names AS f JOIN calls_of_names AS c ON caller = f.name
),
fired(oid, relation) AS (
    SELECT tgfoid, tgrelid FROM pg_trigger WHERE NOT tgisinternal AND tgrelid IN (SELECT relation FROM columns)
    UNION
    SELECT oid, relation FROM functions JOIN fired_names ON fired_names.name = proname
),
-- Those with integers that a key may reach.
narrow_functions AS (
    SELECT f.*, of_tables IS NOT NULL AS is_fired, of_tables, of_call, in_body,
           CASE WHEN names_keys THEN 'names a converted table or column, or one that may hold keys' ELSE 'is called by ' || callers.names END AS why
    FROM functions AS f
    LEFT JOIN (SELECT oid, string_agg(DISTINCT relation_name, ', ' ORDER BY relation_name) AS of_tables
               FROM fired JOIN columns USING (relation) GROUP BY oid) AS fired USING (oid)
    LEFT JOIN callers ON callers.name = proname,
    LATERAL (SELECT CASE WHEN has_narrow_parameters THEN
                        concat_ws(' RETURNS ', '(' || pg_get_function_arguments(f.oid) || ')', pg_get_function_result(f.oid)) END,
                    (SELECT string_agg(DISTINCT btrim(line), '; ') FROM regexp_split_to_table(f.source, '[\n\r;]') AS line WHERE line ~* types)
            ) AS found (of_call, in_body)
    WHERE (has_narrow_parameters OR has_narrow_variables) AND (names_keys OR of_tables IS NOT NULL OR callers.names IS NOT NULL)
),
-- Each parameter and column of a result of those that belong to the owner: one is changed if it has
-- no name, or the name of a key, or is all that is returned.
parameters AS (
    SELECT f.oid, place, mode, declared.name, type,
           -- Those of a domain stay as they are: there may be no other domain.
           CASE WHEN type < 16384
                 AND (word = '' OR mode = 'o' AND (SELECT count(*) FROM unnest(proargmodes) AS one WHERE one IN ('o', 'b')) = 1
                      OR word ~ '(^|_)ids?$' OR word IN (SELECT lower(name) FROM guesses)
                      OR EXISTS (SELECT FROM keyed WHERE word = key OR word = ANY (singulars)))
                THEN new_type END AS new_type,
           pg_get_function_arg_default(f.oid, place::integer) AS default_expression
    FROM narrow_functions AS f
    JOIN pg_proc AS p USING (oid) JOIN the_owner ON role = proowner,
    unnest(coalesce(proallargtypes, proargtypes::oid[])) WITH ORDINALITY AS types (type, place)
    LEFT JOIN integer_types USING (type),
    LATERAL (SELECT coalesce(proargmodes[place], 'i'), coalesce(proargnames[place], '')) AS declared (mode, name),
    LATERAL (SELECT lower(regexp_replace(regexp_replace(declared.name, '([a-z0-9])([A-Z])', '\1_\2', 'g'), '^(_+|(p|in|arg|v|a|i)_)|_+$', '', 'gi'))) AS words (word)
),
-- With what parameters and results they are created again.
signatures AS (
    SELECT f.oid, format('%I.%I(%s)', nspname, f.proname, input) AS identity, arguments, changed, unchanged,
           CASE WHEN prokind = 'p' THEN NULL
                WHEN table_columns IS NOT NULL THEN format('TABLE(%s)', table_columns)
                ELSE CASE WHEN proretset THEN 'SETOF ' ELSE '' END
                     || CASE outputs WHEN 0 THEN coalesce(new_result.new_type, format_type(prorettype, NULL)) WHEN 1 THEN output ELSE 'record' END
                END AS result,
           CASE WHEN table_columns IS NULL AND outputs = 0 THEN new_result.new_type END AS new_result
    FROM narrow_functions AS f
    JOIN pg_proc AS p USING (oid) JOIN the_owner ON role = proowner
    JOIN pg_namespace AS n ON n.oid = pronamespace
    LEFT JOIN integer_types AS new_result ON new_result.type = prorettype AND prorettype < 16384,
    LATERAL (
        SELECT string_agg(new_name, ',' ORDER BY place) FILTER (WHERE mode IN ('i', 'b', 'v')) AS input,
               coalesce(string_agg(concat_ws(' ', CASE mode WHEN 'o' THEN 'OUT' WHEN 'b' THEN 'INOUT' WHEN 'v' THEN 'VARIADIC' END, quoted, new_name,
                                             'DEFAULT ' || default_expression), ', ' ORDER BY place) FILTER (WHERE mode <> 't'), '') AS arguments,
               string_agg(concat_ws(' ', quoted, new_name), ', ' ORDER BY place) FILTER (WHERE mode = 't') AS table_columns,
               count(*) FILTER (WHERE mode IN ('o', 'b')) AS outputs, max(new_name) FILTER (WHERE mode IN ('o', 'b')) AS output,
               string_agg(old, ', ' ORDER BY place) FILTER (WHERE new_type IS NOT NULL) AS changed,
               string_agg(old, ', ' ORDER BY place) FILTER (WHERE new_type IS NULL AND type IN (SELECT type FROM narrow_types)) AS unchanged
        FROM (SELECT *, coalesce(new_type, format_type(type, NULL)) AS new_name, concat_ws(' ', quoted, format_type(type, NULL)) AS old
              FROM (SELECT *, quote_ident(nullif(name, '')) AS quoted FROM parameters WHERE parameters.oid = f.oid) AS named) AS parameters
    ) AS lists
),
-- The statements that create a function again with another signature. What a comment says has no
-- line breaks: the rest of it would be executed.
recreated_functions AS (
    SELECT p.oid, p.proname::text AS name, s.identity, i.identity AS old_identity,
           (SELECT string_agg(format(E'-- %s: %s.\n', what, regexp_replace(list, '[[:cntrl:]]+', ' ', 'g')), '' ORDER BY place)
            FROM (VALUES (1, 'Changed to bigint', concat_ws(', ', changed, CASE WHEN new_result IS NOT NULL THEN 'result ' || format_type(prorettype, NULL) END)),
                         (2, 'Not changed', unchanged),
                         (3, 'In its body, and not changed', in_body),
                         (4, 'To be dropped before, and created again afterwards', dependents)) AS comments (place, what, list)
            WHERE list <> '')
           || format('DROP ROUTINE %s;', i.identity) AS drop,
           format('CREATE %s %I.%I(%s)', kind, nspname, p.proname, arguments) || E'\n' || coalesce(E' RETURNS ' || result || E'\n', '')
           || rtrim(substr(definition, 1 + length(format(E'CREATE OR REPLACE %s %I.%I(%s)\n', kind, nspname, p.proname, pg_get_function_arguments(p.oid))
                                                  || coalesce(E' RETURNS ' || pg_get_function_result(p.oid) || E'\n', ''))), E'\n') || ';' AS create,
           format('ALTER ROUTINE %s OWNER TO %I;', s.identity, pg_get_userbyid(proowner)) AS owner
    FROM signatures AS s
    JOIN narrow_functions AS f USING (oid)
    JOIN pg_proc AS p USING (oid)
    JOIN pg_namespace AS n ON n.oid = pronamespace,
    pg_identify_object('pg_proc'::regclass, p.oid, 0) AS i, pg_get_functiondef(p.oid) AS definition,
    LATERAL (SELECT CASE prokind WHEN 'p' THEN 'PROCEDURE' ELSE 'FUNCTION' END,
                    (SELECT string_agg(DISTINCT CASE WHEN rulename = '_RETURN' THEN pg_describe_object('pg_class'::regclass, ev_class, 0)
                                                     ELSE pg_describe_object(classid, objid, objsubid) END, ', ')
                     FROM pg_depend LEFT JOIN pg_rewrite AS r ON classid = 'pg_rewrite'::regclass AND r.oid = objid
                     WHERE refclassid = 'pg_proc'::regclass AND refobjid = p.oid)) AS more (kind, dependents)
    WHERE (changed IS NOT NULL OR new_result IS NOT NULL) AND coalesce(to_regprocedure(s.identity) = p.oid, true)
)
