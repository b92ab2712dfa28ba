-- The statements of a conversion. The query goes on from rebuilt.sql and conversion_obstacles.sql.
,
-- a row: whether there is nothing to do. There is only one row.
is_converted AS (
    SELECT NOT EXISTS (SELECT FROM retyped)
           AND NOT EXISTS (SELECT FROM columns WHERE in_family AND identity <> '')
           AND NOT EXISTS (SELECT FROM target WHERE NOT takes_ids) AS is_converted
),

-- a row: an identity column of the family, with its sequence, which goes with the identity, and
-- with a new one like it.
identities AS (
    SELECT c.*,
           format(
               '%I.%I', n.nspname,
               CASE
                   WHEN octet_length(other_name) < 64
                        AND to_regclass(format('%I.%I', n.nspname, other_name)) IS NULL
                       THEN other_name
                   ELSE format('snowflake_%s_seq', s.oid)
               END) AS new_name,
           quote_ident(s.relname) AS short_name,
           CASE s.relpersistence
               WHEN 't' THEN 'TEMPORARY '
               WHEN 'u' THEN 'UNLOGGED '
               ELSE ''
           END AS persistence,
           format(
               'INCREMENT BY %s MINVALUE %s %s', seqincrement, seqmin,
               CASE WHEN seqincrement > 0 THEN 'NO MAXVALUE' ELSE 'MAXVALUE ' || seqmax END) AS steps,
           format(
               'START WITH %s CACHE %s %s',
               seqstart, seqcache, CASE WHEN seqcycle THEN 'CYCLE' ELSE 'NO CYCLE' END) AS others
    FROM columns AS c
    JOIN pg_class AS s ON s.oid = sequence
    JOIN pg_namespace AS n ON n.oid = s.relnamespace
    JOIN pg_sequence ON seqrelid = s.oid,
         LATERAL (SELECT s.relname || '_new') AS names (other_name)
    WHERE in_family AND identity <> ''
),

-- a row: a part of the ALTER TABLE statement for a relation.
actions(relation, relation_name, is_temporary, rank, action) AS (
    SELECT relation, relation_name, is_temporary, 1, format('ALTER COLUMN %s DROP IDENTITY', column_name)
    FROM columns
    WHERE is_named AND identity <> ''
    UNION ALL
    -- Else the old default would be cast to the new type.
    SELECT relation, relation_name, is_temporary, 2, format('ALTER COLUMN %s DROP DEFAULT', column_name)
    FROM retyped
    WHERE is_named
      AND (relation, number) IN (
          SELECT root, root_number
          FROM family JOIN columns USING (relation, number)
          WHERE default_expression IS NOT NULL
      )
    UNION ALL
    SELECT relation, relation_name, is_temporary, 3, format('ALTER COLUMN %s TYPE bigint', column_name)
    FROM retyped
    WHERE NOT inherited
    UNION ALL
    SELECT relation, relation_name, is_temporary, 4,
           format('ALTER COLUMN %s SET DEFAULT %I.snowflake_nextval()', column_name, $4::text)
    FROM target
    WHERE NOT takes_ids
),

-- a row: a foreign key with its definition, and whether it is validated later.
added_keys AS (
    SELECT *, definition || CASE WHEN is_validated_later THEN ' NOT VALID' ELSE '' END AS addition
    FROM (
        SELECT *,
               convalidated
               AND definition !~ ' NOT (VALID|ENFORCED)$'
               AND NOT (relkind = 'p'
                        AND current_setting('server_version_num')::integer < 180000) AS is_validated_later
        FROM foreign_keys, pg_get_constraintdef(oid) AS definition
    ) AS k
),

-- a row: a statement, with its moment, as in statement.rs. The properties name objects that get
-- theirs after it, as in properties.sql.
conversion(moment, statement, is_temporary, properties) AS (
    SELECT 'lock',
           format(
               'LOCK TABLE %s IN ACCESS EXCLUSIVE MODE;',
               string_agg(relation_name, ', ' ORDER BY relation_name)),
           bool_or(is_temporary), NULL
    FROM (
        SELECT relation_name, is_temporary FROM target
        UNION SELECT relation_name, is_temporary FROM retyped WHERE NOT inherited
        UNION SELECT relation_name, is_temporary FROM foreign_keys
    ) AS locked
    UNION ALL
    SELECT 'drop foreign keys',
           format(
               'ALTER TABLE %s %s;', relation_name,
               string_agg(format('DROP CONSTRAINT %I', conname), ', ' ORDER BY conname)),
           is_temporary, NULL
    FROM foreign_keys
    GROUP BY relation_name, is_temporary
    UNION ALL
    SELECT 'create sequence',
           format('CREATE %sSEQUENCE %s %s %s;', persistence, new_name, steps, others), is_temporary, NULL
    FROM identities
    UNION ALL
    SELECT 'copy sequence',
           format('SELECT pg_catalog.setval(%L, last_value, is_called) FROM %s;', new_name, sequence_name),
           is_temporary, NULL
    FROM identities
    UNION ALL
    -- From PostgreSQL 17 on, a partition's identity goes with its parent's.
    SELECT 'drop identity',
           format('ALTER TABLE %s ALTER COLUMN %s DROP IDENTITY;', relation_name, column_name),
           is_temporary, NULL
    FROM columns
    WHERE in_family
      AND NOT is_named
      AND identity <> ''
      AND NOT (is_partition AND current_setting('server_version_num')::integer >= 170000)
    UNION ALL
    SELECT 'alter table',
           format('ALTER TABLE %s %s;', relation_name, string_agg(action, ', ' ORDER BY rank, action)),
           is_temporary, NULL
    FROM actions
    GROUP BY relation_name, is_temporary
    UNION ALL
    -- At first to names that nothing has, since a new index might have the former name of another.
    SELECT 'rename indexes',
           format(
               'DO LANGUAGE plpgsql %L;',
               format(
                   $rename$
DECLARE rename text;
BEGIN
    FOR turn IN 1..2 LOOP
        FOR rename IN
            SELECT pg_catalog.format(
                       'ALTER INDEX %%s RENAME TO %%I', indexrelid::pg_catalog.regclass,
                       CASE
                           WHEN turn OPERATOR(pg_catalog.=) 1
                               THEN pg_catalog.concat('snowflake_', indexrelid)
                           ELSE former.name
                       END)
            FROM pg_catalog.pg_partition_tree(%L)
            JOIN pg_catalog.pg_index ON indexrelid OPERATOR(pg_catalog.=) relid
            JOIN pg_catalog.pg_class ON pg_class.oid OPERATOR(pg_catalog.=) indexrelid
            JOIN (VALUES %s) AS former (relation, name) ON indrelid OPERATOR(pg_catalog.=) former.relation
            WHERE relname OPERATOR(pg_catalog.<>) former.name
        LOOP
            EXECUTE rename;
        END LOOP;
    END LOOP;
END
$rename$,
                   root.index_name,
                   string_agg(
                       format(
                           '(%L::pg_catalog.regclass::pg_catalog.oid, %L::pg_catalog.name)',
                           part.relation_name, part.name),
                       ', ' ORDER BY part.relation_name))),
           root.is_temporary,
           string_agg(
               concat_ws(
                   ' ', format('%s:%s', 'pg_class'::regclass::oid, part.indexrelid),
                   'pg_constraint'::regclass::oid || ':' || k.oid),
               ' ')
    FROM indexes AS root
    JOIN indexes AS part ON part.is_part AND part.root = root.indexrelid
    LEFT JOIN pg_constraint AS k
        ON conindid = part.indexrelid AND conrelid = part.indrelid AND contype IN ('p', 'u', 'x')
    GROUP BY root.index_name, root.is_temporary
    UNION ALL
    SELECT 'alter indexes', statement, is_temporary, NULL FROM of_indexes
    UNION ALL
    SELECT 'widen sequence',
           format('ALTER SEQUENCE %s AS bigint MAXVALUE 9223372036854775807;', sequence_name),
           is_temporary, NULL
    FROM widened
    UNION ALL
    SELECT 'rename sequence',
           format('ALTER SEQUENCE %s RENAME TO %s;', new_name, short_name), is_temporary, NULL
    FROM identities
    UNION ALL
    SELECT 'own sequence',
           format('ALTER SEQUENCE %s OWNED BY %s.%s;', sequence_name, relation_name, column_name),
           is_temporary,
           format('%s:%s', 'pg_class'::regclass::oid, sequence)
    FROM identities
    UNION ALL
    SELECT 'add foreign keys',
           format(
               'ALTER TABLE %s %s;', relation_name,
               string_agg(format('ADD CONSTRAINT %I %s', conname, addition), ', ' ORDER BY conname)),
           is_temporary,
           string_agg(format('%s:%s', 'pg_constraint'::regclass::oid, oid), ' ')
    FROM added_keys
    GROUP BY relation_name, is_temporary
    UNION ALL
    SELECT 'set triggers',
           format(
               'DO LANGUAGE plpgsql %L;',
               format(
                   $set$
BEGIN
    EXECUTE (
        SELECT pg_catalog.format('ALTER TABLE %%s %s TRIGGER %%I', %L, tgname)
        FROM pg_catalog.pg_trigger
        JOIN pg_catalog.pg_constraint ON pg_constraint.oid OPERATOR(pg_catalog.=) tgconstraint
        WHERE conrelid OPERATOR(pg_catalog.=) %L::pg_catalog.regclass::pg_catalog.oid
          AND conname OPERATOR(pg_catalog.=) %L::pg_catalog.name
          AND tgrelid OPERATOR(pg_catalog.=) %L::pg_catalog.regclass::pg_catalog.oid
          AND tgfoid OPERATOR(pg_catalog.=) %s::pg_catalog.oid
    );
END
$set$,
                   state, triggered_name, relation_name, conname, triggered_name, tgfoid::oid)),
           false, NULL
    FROM disabled
),

-- a row: a statement that validates a foreign key.
validation(statement, is_temporary) AS (
    SELECT format('ALTER TABLE %s VALIDATE CONSTRAINT %I;', relation_name, conname), is_temporary
    FROM added_keys
    WHERE is_validated_later
)
