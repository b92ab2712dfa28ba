-- Code that statements on converted tables run, and of which only running it tells what it does with
-- larger keys. The query goes on from functions.sql.
,
-- a row: a function that triggers of converted tables call, with its source without literals, and then
-- without what the innermost parentheses enclose, and so on: what is left between parentheses are the
-- arguments of one call.
layers(oid, source, depth) AS (
    SELECT oid, regexp_replace(source, '''[^'']*''', '''''', 'g'), 1
    FROM functions
    WHERE oid IN (SELECT oid FROM fired)
    UNION ALL
    SELECT oid, regexp_replace(source, '\([^()]*\)', '', 'g'), depth + 1
    FROM layers
    WHERE depth < 8 AND source ~ '\('
),

-- a row: such a function, and regular expressions that find a key of its tables where that is all of an
-- argument. The name id alone says nothing.
key_arguments(oid, pattern) AS (
    SELECT oid,
           format(
               '^("?[\w$]+"?\s*\.\s*)%s"?(%s)"?$', CASE WHEN r.name = 'id' THEN '+' ELSE '*' END,
               regexp_replace(r.name, '(\W)', '\\\1', 'g'))
    FROM fired
    JOIN retyped AS r USING (relation)
),

-- a row: a call in such a function that hands a key to what takes no bigint there, by all functions of
-- this name with as many arguments.
narrow_arguments(oid, call) AS (
    SELECT DISTINCT l.oid, format('%s(%s)', found[1], found[2])
    FROM layers AS l,
         regexp_matches(source, '("(?:[^"]|"")+"|[[:alpha:]_][\w$]*)\s*\(([^()]*)\)', 'g') AS found,
         LATERAL (
             SELECT place, btrim(argument, E' \n\r\t'), count(*) OVER ()
             FROM string_to_table(found[2], ',') WITH ORDINALITY AS of_call (argument, place)
         ) AS given (place, argument, count),
         LATERAL (
             SELECT CASE
                        WHEN found[1] LIKE '"%' THEN replace(btrim(found[1], '"'), '""', '"')
                        ELSE lower(found[1])
                    END::name
         ) AS called (name),
         LATERAL (
             SELECT bool_and(coalesce(proargtypes[place - 1] IN (SELECT type FROM narrow_types), false))
             FROM pg_proc
             WHERE proname = called.name
               AND (provariadic <> 0 OR count BETWEEN pronargs - pronargdefaults AND pronargs)
             OFFSET 0
         ) AS takes (only_integers)
    WHERE only_integers
      AND EXISTS (SELECT FROM key_arguments AS k WHERE k.oid = l.oid AND argument ~* pattern)
      -- That function has to be acknowledged itself.
      AND called.name NOT IN (SELECT proname FROM narrow_functions WHERE is_fired)
),

-- a row: a function that triggers of converted tables call, that has no integers, and of which
-- somebody has to know nevertheless, with the reason.
doubtful_functions(oid, name, of_tables, why) AS (
    SELECT f.oid, f.name, of_tables,
           concat_ws(
               ', and ',
               'hands keys to functions that take no bigint: ' || calls,
               CASE WHEN makes_sql THEN 'makes SQL out of text' END)
    FROM functions AS f
    JOIN (
        SELECT oid, string_agg(DISTINCT relation_name, ', ' ORDER BY relation_name) AS of_tables
        FROM fired
        JOIN columns USING (relation)
        GROUP BY oid
    ) AS of_triggers USING (oid)
    JOIN layers AS l ON l.oid = f.oid AND depth = 1
    LEFT JOIN (
        SELECT oid, string_agg(call, ', ' ORDER BY call) AS calls FROM narrow_arguments GROUP BY oid
    ) AS handed ON handed.oid = f.oid,
         LATERAL (
             SELECT l.source ~* CASE
                                    WHEN language IN ('plpgsql', 'sql')
                                        THEN '\m(execute|query_to_xml\w*|dblink\w*)\M'
                                    ELSE '(execute|spi_|prepare)'
                                END
         ) AS text (makes_sql)
    WHERE (calls IS NOT NULL OR makes_sql)
      AND f.oid NOT IN (SELECT oid FROM narrow_functions WHERE is_fired)
),

-- a row: a table, and a function that takes its rows and that none of the triggers calls.
functions_of_rows(relation, oid) AS (
    SELECT DISTINCT relation, f.oid
    FROM functions AS f
    JOIN pg_proc AS p USING (oid),
         unnest(proargtypes) AS of_call (type)
    JOIN row_types USING (type)
    WHERE f.oid NOT IN (SELECT oid FROM fired) AND f.oid NOT IN (SELECT oid FROM narrow_functions)
),

-- a row: a table that is changed by the conversion.
changing(relation) AS (
    SELECT DISTINCT relation
    FROM columns
    WHERE is_integer OR in_family AND NOT takes_ids AND NOT is_passed_over
),

-- a row: a trigger or a rule of a converted table, with the statements that fire it, a column that an
-- UPDATE has to change, and a description.
firing(relation, on_update, on_delete, updated, description) AS (
    SELECT t.relation, tgtype & 16 <> 0, tgtype & 8 <> 0, tgattr[0],
           format('trigger %I with %s', tgname, tgfoid::regprocedure)
    FROM changing AS t,
         LATERAL (
             SELECT *
             FROM pg_trigger
             WHERE tgrelid = t.relation AND NOT tgisinternal AND tgenabled <> 'D' AND tgparentid = 0
             OFFSET 0
         ) AS of_table
    UNION ALL
    SELECT t.relation, ev_type = '2', ev_type = '4', NULL, format('rule %I', rulename)
    FROM changing AS t,
         LATERAL (
             SELECT *
             FROM pg_rewrite
             WHERE ev_class = t.relation AND rulename <> '_RETURN' AND ev_enabled <> 'D'
             OFFSET 0
         ) AS of_table
),

-- a row: a converted table with triggers or rules, what these are, and statements that fire them: an
-- INSERT of a row with a new key, and an UPDATE and a DELETE of the row with the largest. Where a row
-- needs values, it is a copy of another.
probes(relation_name, code, probe) AS (
    SELECT c.relation_name, code,
           array_remove(
               ARRAY[
                   CASE
                       WHEN needed OR NOT is_key
                           THEN format(
                               'INSERT INTO %s (%s) SELECT %2$s FROM %1$s LIMIT 1', c.relation_name, others)
                       ELSE format('INSERT INTO %s DEFAULT VALUES', c.relation_name)
                   END,
                   CASE
                       WHEN on_update
                           THEN format(
                               'UPDATE %s SET %s = %2$s WHERE %3$s = (SELECT max(%3$s) FROM %1$s)',
                               c.relation_name, coalesce(updated, c.column_name), c.column_name)
                   END,
                   CASE
                       WHEN on_delete
                           THEN format(
                               'DELETE FROM %s WHERE %s = (SELECT max(%2$s) FROM %1$s)',
                               c.relation_name, c.column_name)
                   END
               ],
               NULL)
    FROM (
        SELECT DISTINCT ON (relation) relation, relation_name, column_name, in_family AS is_key
        FROM columns
        JOIN changing USING (relation)
        WHERE in_family OR is_integer
        ORDER BY relation, in_family DESC, number
    ) AS c
    JOIN (
        SELECT relation, bool_or(on_update) AS on_update, bool_or(on_delete) AS on_delete,
               max(updated) AS number, string_agg(description, ', ' ORDER BY description) AS code
        FROM firing
        GROUP BY relation
    ) AS f USING (relation),
         LATERAL (
             SELECT coalesce(bool_or(attnotnull AND NOT atthasdef), false),
                    string_agg(quote_ident(attname), ', ' ORDER BY attnum),
                    coalesce(
                        max(quote_ident(attname)) FILTER (WHERE attnum = f.number),
                        (array_agg(quote_ident(attname) ORDER BY attnum))[1])
             FROM pg_attribute
             WHERE attrelid = c.relation
               AND attnum > 0
               AND NOT attisdropped
               AND attgenerated = ''
               AND attidentity = ''
               AND (attrelid, attnum) NOT IN (SELECT relation, number FROM columns WHERE in_family)
         ) AS of_table (needed, others, updated)
),

-- a row: a risk of such code, and its remedy, in this order.
fired_risks(rank, object, reason, remedy) AS (
    SELECT 0, name,
           format('It is called by triggers of %s, and %s. Statements that fire these triggers might fail.',
                  of_tables, why),
           'Try statements that fire them with rehearse => true and probe. Then name it in the argument '
           'acknowledged.'
    FROM doubtful_functions
    UNION ALL
    SELECT 0.5, relation_name,
           format(
               'Its triggers and rules run code, of which nobody can tell what it does with larger keys: %s.',
               code),
           format('Try its statements with rehearse => true, beginning with probe => %L.', probe::text)
    FROM probes
    UNION ALL
    SELECT 0.6, r.relation_name,
           format(
               'Functions take its rows, and none of the triggers calls them, so that no INSERT tells what '
               'they do with larger keys: %s.',
               string_agg(DISTINCT f.name, ', ' ORDER BY f.name)),
           'Call them in statements of probe, with rehearse => true.'
    FROM functions_of_rows
    JOIN functions AS f USING (oid)
    JOIN retyped AS r USING (relation)
    GROUP BY r.relation_name
)
