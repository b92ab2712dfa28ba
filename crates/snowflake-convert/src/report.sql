-- What a conversion changes, and what applications might run into afterwards. The query begins with
-- keys.sql, depending.sql, takers.sql, integers.sql, guesses.sql, guess_risks.sql, sources.sql,
-- functions.sql, signatures.sql, fired.sql, narrow_casts.sql and key_risks.sql.
,
-- a row: an object that is created again and calls functions or aggregates that take an integer,
-- where none of the same name takes a bigint.
narrow_calls AS (
    SELECT pg_describe_object(w.class, w.object, 0) AS caller,
           string_agg(DISTINCT p.oid::regprocedure::text, ', ') AS called
    FROM (SELECT DISTINCT class, object FROM dependents) AS d
    JOIN wholes AS w USING (class, object)
    JOIN pg_depend ON (classid, objid, refclassid) = (part_class, part, 'pg_proc'::regclass)
    JOIN pg_proc AS p
        ON p.oid = refobjid
       AND p.oid >= 16384
       AND p.oid <> w.object
       AND proargtypes::oid[] && ARRAY(SELECT type::oid FROM integer_types)
    WHERE NOT EXISTS (
        SELECT
        FROM pg_proc AS other
        WHERE other.proname = p.proname
          AND other.proargtypes::oid[] = array_replace(
              array_replace(p.proargtypes::oid[], 'integer'::regtype::oid, 'bigint'::regtype::oid),
              'smallint'::regtype::oid, 'bigint'::regtype::oid)
    )
    GROUP BY w.class, w.object
),

-- a row: a relation that is rewritten, with its retyped columns.
rewritten AS (
    SELECT relation, relation_name, kind, string_agg(column_name, ', ' ORDER BY number) AS column_names
    FROM retyped
    GROUP BY relation, relation_name, kind
),

-- a row: a row of the report, with its rank.
findings(rank, kind, object, reason, remedy, rewritten, lock) AS (
    SELECT CASE WHEN is_fired THEN 0 ELSE 1 END, 'risk', name,
           CASE
               WHEN is_unread
                   THEN format(
                       'Its source, which has %s, was not read%s. It might have integer variables.',
                       pg_size_pretty(size::bigint),
                       CASE WHEN is_fired THEN ', and triggers of ' || of_tables || ' call it' END)
               WHEN is_fired
                   THEN format(
                       'It is called by triggers of %s, and has integer parameters, results or variables: '
                       '%s. Statements that fire these triggers might fail.',
                       of_tables, concat_ws('; ', of_call, in_body))
               ELSE format('It has integer parameters, results or variables, and %s.', why)
           END,
           CASE
               WHEN oid IN (SELECT oid FROM recreated_functions)
                   THEN 'Look at the statements that snowflake_convert() returns for the step functions.'
               WHEN is_unread THEN 'Read it.'
               ELSE 'Change them to bigint if they get the key.'
           END
           || CASE WHEN is_fired THEN ' Then name it in the argument acknowledged.' ELSE '' END,
           NULL::bigint, NULL
    FROM narrow_functions
    UNION ALL
    SELECT rank, 'risk', object, reason, remedy, NULL, NULL FROM fired_risks
    UNION ALL
    SELECT 1, 'risk', caller,
           format(
               'It calls what takes an integer: %s. If that is given a converted key, '
               'it cannot be created again.',
               called),
           'Create functions or aggregates of the same names that take a bigint, or drop '
           'it before the conversion.',
           NULL, NULL
    FROM narrow_calls
    UNION ALL
    SELECT 1, 'risk', object,
           'It casts a column that holds keys to a type of at most 32 bits, which holds no snowflake ID.',
           'Leave the cast out, or cast to bigint.', NULL, NULL
    FROM narrow_casts
    UNION ALL
    SELECT 2, 'risk', format('%s.%s', relation_name, column_name),
           format('It has type %s, and refers to a key that takes larger values already.', type_name),
           format('ALTER TABLE %s ALTER COLUMN %s TYPE bigint;', relation_name, column_name), NULL, NULL
    FROM retyped AS r
    WHERE NOT in_family
      AND NOT inherited
      AND (NOT EXISTS (SELECT FROM target WHERE is_integer OR NOT takes_ids AND NOT is_passed_over)
           OR EXISTS (
               SELECT
               FROM referring
               JOIN target AS t ON t.relation = other
               WHERE (referring.relation, referring.number) = (r.relation, r.number)
                 AND NOT t.is_integer
                 AND (t.takes_ids OR t.is_passed_over)
           ))
    UNION ALL
    SELECT 2, 'risk', name,
           'It uses nextval(), currval(), lastval() or pg_get_serial_sequence(), and keys come '
           'from snowflake_nextval() now.',
           'Use snowflake_nextval(), and snowflake_currval() or INSERT ... RETURNING.', NULL, NULL
    FROM functions
    WHERE source ~* '\mlastval\M\s*\('
       OR (names_keys OR names_sequences OR oid IN (SELECT oid FROM fired))
          AND source ~* '\m(nextval|currval|pg_get_serial_sequence)\M\s*\('
    UNION ALL
    SELECT rank, 'risk', object, reason, remedy, NULL, NULL FROM guess_risks
    UNION ALL
    SELECT 9, 'risk', format('%s.%s', c.relation_name, c.column_name),
           format(
               'The key refers to %s. It becomes bigint with that, and its default stays as it is.',
               string_agg(DISTINCT other::regclass::text, ', ')),
           NULL, NULL, NULL
    FROM columns AS c
    JOIN referring USING (relation, number)
    WHERE EXISTS (
        SELECT
        FROM pg_index
        WHERE indrelid = relation AND indisprimary AND indkey[0] = c.number AND indnkeyatts = 1
        OFFSET 0
    )
       OR (relation, number) IN (SELECT relation, number FROM key_columns WHERE takes_sequence)
    GROUP BY c.relation_name, c.column_name
    UNION ALL
    SELECT 10, 'risk', sequence_name,
           format(
               '%s might go on to call nextval(), and mix keys of the old kind in.',
               string_agg(DISTINCT role, ', ')),
           format(
               'REVOKE USAGE, UPDATE ON SEQUENCE %s FROM %s;',
               sequence_name, string_agg(DISTINCT role, ', ')),
           NULL, NULL
    FROM columns,
         LATERAL (SELECT relacl, relowner FROM pg_class WHERE oid = sequence OFFSET 0) AS s,
         aclexplode(relacl) AS acl,
         LATERAL (
             SELECT CASE grantee WHEN 0 THEN 'PUBLIC' ELSE quote_ident(pg_get_userbyid(grantee)) END
         ) AS roles (role)
    WHERE in_family AND privilege_type IN ('USAGE', 'UPDATE') AND grantee <> relowner
    GROUP BY sequence_name
    UNION ALL
    SELECT 10, 'risk', sequence_name,
           format('It is used by %s, while these take snowflake IDs: %s.', description, keys),
           'Let it use snowflake_nextval() and snowflake_currval().', NULL, NULL
    FROM takers
    WHERE NOT is_obstacle
    UNION ALL
    SELECT 11, 'risk', format('%s.%s', relation_name, column_name),
           'GENERATED ALWAYS did not let clients insert keys of their own, and a default does.',
           'Grant INSERT on the other columns only, not on the table.', NULL, NULL
    FROM target
    WHERE identity = 'a'
    UNION ALL
    SELECT 11, 'risk', format('%s.%s', relation_name, column_name),
           'INSERT ... OVERRIDING USER VALUE ignored the keys that clients sent, as it does with an '
           'identity. With a default, it inserts them.',
           'Let clients stop sending keys with OVERRIDING USER VALUE: leave the column out, or send DEFAULT.',
           NULL, NULL
    FROM columns
    WHERE in_family AND identity <> '' AND NOT is_partition
    UNION ALL
    SELECT 12, 'risk', relation_name,
           format(
               'Publication %I sends its rows to subscribers, whose columns have to be bigint first.',
               pubname),
           'Change the types of the subscribers'' columns before.', NULL, NULL
    FROM rewritten,
         LATERAL (SELECT relnamespace FROM pg_class WHERE oid = relation OFFSET 0) AS c,
         pg_publication AS p
    WHERE puballtables
       OR EXISTS (SELECT FROM pg_publication_rel WHERE prpubid = p.oid AND prrelid = relation)
       OR EXISTS (SELECT FROM pg_publication_namespace WHERE pnpubid = p.oid AND pnnspid = relnamespace)
    UNION ALL
    SELECT 13, 'risk', relation_name, 'It is partitioned by the key, and new keys grow with time.',
           'Add partitions before they are needed, or a default partition.', NULL, NULL
    FROM target
    JOIN pg_partitioned_table ON partrelid = relation AND number = ANY (partattrs) AND partstrat <> 'h'
    UNION ALL
    SELECT 14, 'risk', coalesce($1::text, $3::text),
           'Sessions keep plans of prepared statements and of functions. Those that return, take or pass '
           'on a changed column fail.',
           'Let all clients connect again afterwards, or execute DEALLOCATE ALL and DISCARD PLANS in each '
           'session.', NULL, NULL
    WHERE EXISTS (SELECT FROM retyped)
    UNION ALL
    SELECT rank, 'risk', coalesce($1::text, $3::text), reason, remedy, NULL, NULL FROM key_risks
    UNION ALL
    SELECT 20, 'change', relation_name,
           format('It is rewritten with its indexes, since these columns become bigint: %s.', column_names),
           NULL,
           CASE WHEN kind = 'r' THEN pg_total_relation_size(relation) END, 'ACCESS EXCLUSIVE'
    FROM rewritten
    UNION ALL
    SELECT 21, 'change', relation_name, 'It gets another default.', NULL, NULL, 'ACCESS EXCLUSIVE'
    FROM target
    WHERE relation NOT IN (SELECT relation FROM rewritten) AND NOT takes_ids AND NOT is_passed_over
    GROUP BY relation_name
    UNION ALL
    SELECT 22, 'change', relation_name, 'Its foreign keys are dropped and added again.', NULL, NULL,
           'ACCESS EXCLUSIVE'
    FROM foreign_keys
    WHERE conrelid NOT IN (SELECT relation FROM rewritten) AND conrelid NOT IN (SELECT relation FROM target)
    GROUP BY relation_name
    UNION ALL
    SELECT 22, 'change', sequence_name,
           'It becomes bigint, so that setval() takes any key. nextval() waits until the commit.', NULL, NULL,
           'SHARE ROW EXCLUSIVE'
    FROM widened
    UNION ALL
    SELECT 23, 'change', pg_describe_object(class, object, 0),
           'It is dropped and created again if dependents are ''recreate''.', NULL, NULL,
           CASE WHEN class = 'pg_class'::regclass THEN 'ACCESS EXCLUSIVE' END
    FROM (
        SELECT DISTINCT d.class, d.object
        FROM dependents AS d
        JOIN wholes AS w ON (w.class, w.object) = (d.class, d.object)
    ) AS d
    UNION ALL
    SELECT 24, 'change', relation_name,
           format('Foreign key %I is validated afterwards, while reading and writing go on.', conname), NULL,
           NULL, 'SHARE UPDATE EXCLUSIVE'
    FROM foreign_keys
    WHERE convalidated AND NOT (relkind = 'p' AND current_setting('server_version_num')::integer < 180000)
)

SELECT kind, object, reason, remedy, rewritten, lock FROM findings ORDER BY rank, object, reason
