-- What creates functions again with bigint. The query goes on from functions.sql.
,
-- a row: a parameter or a column of the result of a function that belongs to the owner: one is
-- changed if it has no name, or the name of a key, or is all that is returned.
parameters AS (
    SELECT f.oid, place, mode, declared.name, type,
           -- Those of a domain stay as they are: there might be no other domain.
           CASE
               WHEN type < 16384
                    AND (word = ''
                         OR mode = 'o'
                            AND (
                                SELECT count(*) FROM unnest(proargmodes) AS one WHERE one IN ('o', 'b')
                            ) = 1
                         OR word ~ '(^|_)ids?$'
                         OR word IN (SELECT lower(name) FROM guesses)
                         OR EXISTS (SELECT FROM keyed WHERE word = key OR word = ANY (singulars)))
                   THEN new_type
           END AS new_type,
           pg_get_function_arg_default(f.oid, place::integer) AS default_expression
    FROM narrow_functions AS f
    JOIN pg_proc AS p USING (oid)
    JOIN the_owner ON role = proowner,
         unnest(coalesce(proallargtypes, proargtypes::oid[])) WITH ORDINALITY AS types (type, place)
    LEFT JOIN integer_types USING (type),
         LATERAL (
             SELECT coalesce(proargmodes[place], 'i'), coalesce(proargnames[place], '')
         ) AS declared (mode, name),
         LATERAL (
             SELECT lower(
                        regexp_replace(
                            regexp_replace(declared.name, '([a-z0-9])([A-Z])', '\1_\2', 'g'),
                            '^(_+|(p|in|arg|v|a|i)_)|_+$', '', 'gi'))
         ) AS words (word)
),

-- a row: such a function, with the parameters and the result that it is created again with.
signatures AS (
    SELECT f.oid, format('%I.%I(%s)', nspname, f.proname, input) AS identity, arguments, changed, unchanged,
           CASE
               WHEN prokind = 'p' THEN NULL
               WHEN table_columns IS NOT NULL THEN format('TABLE(%s)', table_columns)
               ELSE CASE WHEN proretset THEN 'SETOF ' ELSE '' END
                    || CASE outputs
                           WHEN 0 THEN coalesce(new_result.new_type, format_type(prorettype, NULL))
                           WHEN 1 THEN output
                           ELSE 'record'
                       END
           END AS result,
           CASE WHEN table_columns IS NULL AND outputs = 0 THEN new_result.new_type END AS new_result
    FROM narrow_functions AS f
    JOIN pg_proc AS p USING (oid)
    JOIN the_owner ON role = proowner
    JOIN pg_namespace AS n ON n.oid = pronamespace
    LEFT JOIN integer_types AS new_result ON new_result.type = prorettype AND prorettype < 16384,
         LATERAL (
             SELECT string_agg(new_name, ',' ORDER BY place) FILTER (WHERE mode IN ('i', 'b', 'v')) AS input,
                    coalesce(
                        string_agg(
                            concat_ws(
                                ' ',
                                CASE mode
                                    WHEN 'o' THEN 'OUT'
                                    WHEN 'b' THEN 'INOUT'
                                    WHEN 'v' THEN 'VARIADIC'
                                END,
                                quoted, new_name, 'DEFAULT ' || default_expression),
                            ', ' ORDER BY place) FILTER (WHERE mode <> 't'),
                        '') AS arguments,
                    string_agg(concat_ws(' ', quoted, new_name), ', ' ORDER BY place)
                        FILTER (WHERE mode = 't') AS table_columns,
                    count(*) FILTER (WHERE mode IN ('o', 'b')) AS outputs,
                    max(new_name) FILTER (WHERE mode IN ('o', 'b')) AS output,
                    string_agg(old, ', ' ORDER BY place) FILTER (WHERE new_type IS NOT NULL) AS changed,
                    string_agg(old, ', ' ORDER BY place)
                        FILTER (WHERE new_type IS NULL
                                      AND type IN (SELECT type FROM narrow_types)) AS unchanged
             FROM (
                 SELECT *, coalesce(new_type, format_type(type, NULL)) AS new_name,
                        concat_ws(' ', quoted, format_type(type, NULL)) AS old
                 FROM (
                     SELECT *, quote_ident(nullif(name, '')) AS quoted
                     FROM parameters
                     WHERE parameters.oid = f.oid
                 ) AS named
             ) AS parameters
         ) AS lists
    WHERE NOT is_unread
),

-- a row: a function, with the statements that create it again with another signature. What a
-- comment says has no line breaks: the rest of it would be executed.
recreated_functions AS (
    SELECT p.oid, p.proname::text AS name, s.identity, i.identity AS old_identity,
           (
               SELECT string_agg(
                          format(E'-- %s: %s.\n', what, regexp_replace(list, '[[:cntrl:]]+', ' ', 'g')), ''
                          ORDER BY place)
               FROM (
                   VALUES (
                              1, 'Changed to bigint',
                              concat_ws(
                                  ', ', changed,
                                  CASE
                                      WHEN new_result IS NOT NULL
                                          THEN 'result ' || format_type(prorettype, NULL)
                                  END)),
                          (2, 'Not changed', unchanged),
                          (3, 'In its body, and not changed', in_body),
                          (4, 'To be dropped before, and created again afterwards', dependents)
               ) AS comments (place, what, list)
               WHERE list <> ''
           )
           || format('DROP ROUTINE %s;', i.identity) AS drop,
           format('CREATE %s %I.%I(%s)', kind, nspname, p.proname, arguments) || E'\n'
           || coalesce(E' RETURNS ' || result || E'\n', '')
           || rtrim(
               substr(
                   definition,
                   1
                   + length(
                       format(
                           E'CREATE OR REPLACE %s %I.%I(%s)\n',
                           kind, nspname, p.proname, pg_get_function_arguments(p.oid))
                       || coalesce(E' RETURNS ' || pg_get_function_result(p.oid) || E'\n', ''))),
               E'\n')
           || ';' AS create,
           format('ALTER ROUTINE %s OWNER TO %I;', s.identity, pg_get_userbyid(proowner)) AS owner
    FROM signatures AS s
    JOIN narrow_functions AS f USING (oid)
    JOIN pg_proc AS p USING (oid)
    JOIN pg_namespace AS n ON n.oid = pronamespace,
         pg_identify_object('pg_proc'::regclass, p.oid, 0) AS i,
         pg_get_functiondef(p.oid) AS definition,
         LATERAL (
             SELECT CASE prokind WHEN 'p' THEN 'PROCEDURE' ELSE 'FUNCTION' END,
                    (
                        SELECT string_agg(
                                   DISTINCT CASE
                                                WHEN rulename = '_RETURN'
                                                    THEN pg_describe_object(
                                                        'pg_class'::regclass, ev_class, 0)
                                                ELSE pg_describe_object(classid, objid, objsubid)
                                            END,
                                   ', ')
                        FROM pg_depend
                        LEFT JOIN pg_rewrite AS r ON classid = 'pg_rewrite'::regclass AND r.oid = objid
                        WHERE refclassid = 'pg_proc'::regclass AND refobjid = p.oid
                    )
         ) AS more (kind, dependents)
    WHERE (changed IS NOT NULL OR new_result IS NOT NULL)
      AND coalesce(to_regprocedure(s.identity) = p.oid, true)
)
