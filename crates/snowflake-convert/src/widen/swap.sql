-- How shadows take the places of columns. The query goes on from steps.sql. $18 are the columns that were
-- named beside the key.
,
-- a row: the smallest and the largest value of a type.
limits(type, smallest, largest) AS (
    VALUES ('smallint'::regtype, -32768::bigint, 32767::bigint),
           ('integer'::regtype, -2147483648, 2147483647),
           ('bigint'::regtype, -9223372036854775808, 9223372036854775807)
),

-- a row: a column to be widened with its sequence. That of an identity goes with it, and another one like it
-- comes. A limit is left out where it is that of the type.
sequences AS (
    SELECT r.relation_name, r.column_name, r.identity, r.sequence, r.sequence_name, shadow_name, seqcycle,
           quote_ident(c.relname) AS short_name, seqtypid,
           format('%I.snowflake_widen_%s', n.nspname, r.sequence) AS other,
           EXISTS (
               SELECT FROM pg_depend
               WHERE (classid, objid, deptype) = ('pg_class'::regclass, r.sequence, 'a')
                 AND (refclassid, refobjid, refobjsubid)
                     = ('pg_class'::regclass, r.relation, r.number::integer)
           ) AS is_owned,
           format(
               'INCREMENT BY %s %s %s START WITH %s CACHE %s %s', seqincrement,
               CASE WHEN seqmin = smallest THEN 'NO MINVALUE' ELSE 'MINVALUE ' || seqmin END,
               CASE WHEN seqmax = largest THEN 'NO MAXVALUE' ELSE 'MAXVALUE ' || seqmax END,
               seqstart, seqcache,
               CASE WHEN seqcycle THEN 'CYCLE' ELSE 'NO CYCLE' END) AS options
    FROM retyped AS r
    JOIN shadows USING (relation, number)
    JOIN pg_class AS c ON c.oid = r.sequence
    JOIN pg_namespace AS n ON n.oid = c.relnamespace
    JOIN pg_sequence ON seqrelid = r.sequence
    JOIN limits ON limits.type = seqtypid
),

-- a row: a statement, with its moment, as in statement.rs, and its place there. The properties name objects
-- that get theirs after all of them, as in properties.sql.
swap(moment, place, statement, properties) AS (
    SELECT 'drop copying', relation_name,
           format('DROP TRIGGER "~snowflake_widen" ON %s;', relation_name), NULL
    FROM widened_tables
    UNION ALL
    SELECT 'drop foreign keys', relation_name,
           format(
               'ALTER TABLE %s %s;', relation_name,
               string_agg(format('DROP CONSTRAINT %I', conname), ', ' ORDER BY conname)),
           NULL
    FROM wide_keys
    GROUP BY relation_name
    UNION ALL
    SELECT 'add identity', relation_name,
           format(
               'ALTER TABLE %s ALTER COLUMN %I ADD GENERATED %s AS IDENTITY (SEQUENCE NAME %s %s); '
               'SELECT pg_catalog.setval(%L, last_value, is_called) FROM %s;',
               relation_name, shadow_name, CASE identity WHEN 'a' THEN 'ALWAYS' ELSE 'BY DEFAULT' END, other,
               options, other, sequence_name),
           NULL
    FROM sequences
    WHERE identity <> ''
    UNION ALL
    SELECT 'hand over sequence', sequence_name,
           concat_ws(
               ' ',
               CASE
                   WHEN seqtypid <> 'bigint'::regtype
                       THEN format('ALTER SEQUENCE %s AS bigint;', sequence_name)
               END,
               CASE
                   WHEN is_owned
                       THEN format(
                           'ALTER SEQUENCE %s OWNED BY %s.%I;', sequence_name, relation_name, shadow_name)
               END),
           NULL
    FROM sequences
    WHERE identity = ''
    UNION ALL
    SELECT 'alter table', relation_name,
           format(
               'ALTER TABLE %s ALTER COLUMN %I SET DEFAULT %s;', relation_name, shadow_name,
               default_expression),
           NULL
    FROM retyped
    JOIN shadows USING (relation, relation_name, number)
    WHERE default_expression IS NOT NULL
    UNION ALL
    -- The checks, indexes and statistics objects of the columns go with them.
    SELECT 'drop columns', relation_name,
           format(
               'ALTER TABLE %s %s;', relation_name,
               string_agg(format('DROP COLUMN %I', name), ', ' ORDER BY number)),
           NULL
    FROM shadows
    GROUP BY relation_name
    UNION ALL
    SELECT 'rename columns', relation_name,
           format('ALTER TABLE %s RENAME COLUMN %I TO %I;', relation_name, shadow_name, name), NULL
    FROM shadows
    UNION ALL
    SELECT 'rename indexes', index_name,
           CASE
               WHEN contype IS NULL THEN format('ALTER INDEX %s RENAME TO %I;', other, name)
               ELSE format(
                        'ALTER TABLE %s ADD CONSTRAINT %I %s USING INDEX %I;', relation_name, conname,
                        CASE contype WHEN 'p' THEN 'PRIMARY KEY' ELSE 'UNIQUE' END, other_name)
           END,
           concat_ws(
               ' ', format('%s:%s', 'pg_class'::regclass::oid, indexrelid),
               (
                   SELECT format('%s:%s', 'pg_constraint'::regclass::oid, k.oid)
                   FROM pg_constraint AS k
                   WHERE k.conrelid = indrelid AND k.conname = wide_indexes.conname
               ))
    FROM wide_indexes
    UNION ALL
    SELECT 'rename constraints', relation_name,
           format('ALTER TABLE %s RENAME CONSTRAINT %I TO %I;', relation_name, other_name, conname),
           format('%s:%s', 'pg_constraint'::regclass::oid, oid)
    FROM (
        SELECT oid, relation_name, other_name, conname FROM wide_checks
        UNION ALL SELECT oid, relation_name, other_name, conname FROM wide_keys
    ) AS renamed
    UNION ALL
    -- From PostgreSQL 18 on, not-null constraints have names.
    SELECT 'rename constraints', relation_name,
           format('ALTER TABLE %s RENAME CONSTRAINT %I TO %I;', relation_name, other.conname, k.conname),
           format('%s:%s', 'pg_constraint'::regclass::oid, k.oid)
    FROM shadows AS s
    JOIN pg_constraint AS k ON k.conrelid = relation AND k.contype = 'n' AND k.conkey = ARRAY[number]
    JOIN pg_constraint AS other
        ON other.conrelid = relation AND other.contype = 'n' AND other.conkey = ARRAY[shadow]
    UNION ALL
    SELECT 'rename statistics', format('%I.%I', nspname, stxname),
           format('ALTER STATISTICS %s RENAME TO %I;', other, stxname),
           format('%s:%s', 'pg_statistic_ext'::regclass::oid, oid)
    FROM wide_statistics
    UNION ALL
    SELECT 'rename sequence', sequence_name, format('ALTER SEQUENCE %s RENAME TO %s;', other, short_name),
           format('%s:%s', 'pg_class'::regclass::oid, sequence)
    FROM sequences
    WHERE identity <> ''
    UNION ALL
    SELECT 'alter indexes', index_name, format('ALTER TABLE %s CLUSTER ON %I;', relation_name, name), NULL
    FROM wide_indexes
    WHERE indisclustered
    UNION ALL
    SELECT 'alter indexes', index_name,
           format('ALTER TABLE %s REPLICA IDENTITY USING INDEX %I;', relation_name, name),
           NULL
    FROM wide_indexes
    WHERE indisreplident
    UNION ALL
    -- Sessions that have called such a function keep plans with parameters of the former types, and would
    -- fail with 42804 from now on. What writes its row anew makes them compile it again.
    SELECT DISTINCT
           'compile functions', '',
           format(
               'ALTER FUNCTION %I.%I() %s;', nspname, proname,
               CASE provolatile WHEN 'v' THEN 'VOLATILE' WHEN 's' THEN 'STABLE' ELSE 'IMMUTABLE' END),
           NULL
    FROM widened_tables
    JOIN pg_trigger ON tgrelid = relation AND NOT tgisinternal
    JOIN pg_proc AS p ON p.oid = tgfoid
    JOIN pg_language AS l ON l.oid = prolang AND lanname = 'plpgsql'
    JOIN pg_namespace AS n ON n.oid = pronamespace
    WHERE pg_has_role(proowner, 'USAGE')
)

SELECT section, moment, statement, more
FROM (
    SELECT 'statement' AS section, 0 AS rank, place, moment, statement, properties AS more
    FROM swap
    WHERE statement <> ''
    UNION ALL
    SELECT 'lacking', rank, coalesce(place, ''), NULL, phase, coalesce(object, '')
    FROM steps
    WHERE NOT is_done
    UNION ALL
    SELECT 'lock', 1, '', NULL,
           format('LOCK TABLE %s IN ACCESS EXCLUSIVE MODE;', string_agg(name, ', ' ORDER BY name)), NULL
    FROM (
        SELECT relation_name FROM widened_tables
        UNION SELECT relation_name FROM wide_keys
        UNION SELECT parent_name FROM wide_keys
    ) AS locked (name)
    HAVING count(*) > 0
    UNION ALL
    -- LOCK TABLE does not take a sequence. Nobody takes a value meanwhile.
    SELECT DISTINCT 'lock', 2, sequence_name, NULL,
           format('ALTER TABLE %s OWNER TO CURRENT_USER;', sequence_name), NULL
    FROM sequences
    UNION ALL
    SELECT 'guard', 0, '', NULL, format('SELECT %I.snowflake_widen_guard(%L, ', $12::text, $1::text),
           format(', %L, %L, %L);', $18::text[], $13::name[], $14::text[])
) AS rows
ORDER BY section, rank, place, statement
