-- What a conversion changes, and what applications may run into afterwards. The query begins with
-- keys.sql.
,
-- Names of tables, columns and views whose values become larger than an integer.
words(word) AS (
    SELECT relname FROM columns JOIN pg_class ON oid = relation WHERE is_named
    UNION SELECT relname FROM dependents JOIN pg_class ON class = 'pg_class'::regclass AND oid = object
    UNION SELECT name FROM columns WHERE name <> 'id'
),
escaped(pattern) AS (
    SELECT '\m(' || string_agg(regexp_replace(word, '(\W)', '\\\1', 'g'), '|') || ')\M' FROM words
),
functions AS (
    SELECT p.oid, p.oid::regprocedure::text AS name, p.proname, source.text AS source,
           proargtypes::oid[] && integers OR proallargtypes && integers OR prorettype = ANY (integers)
           OR source.text ~* '\m(smallint|integer|int|int2|int4)\M' AS has_integers,
           source.text ~* pattern AS names_keys,
           EXISTS (SELECT FROM pg_trigger WHERE tgfoid = p.oid AND tgrelid IN (SELECT relation FROM columns)) AS is_fired
    FROM pg_proc AS p
    JOIN pg_language AS l ON l.oid = prolang AND lanname NOT IN ('c', 'internal'),
    escaped, LATERAL (SELECT prosrc || coalesce(pg_get_function_sqlbody(p.oid), '')) AS source (text),
    LATERAL (SELECT ARRAY['smallint', 'integer', 'smallint[]', 'integer[]']::regtype[]::oid[]) AS types (integers)
    WHERE p.oid >= 16384 AND prokind <> 'a'
      AND NOT EXISTS (SELECT FROM pg_depend WHERE (classid, objid, deptype) = ('pg_proc'::regclass, p.oid, 'e'))
),
callers AS (SELECT * FROM functions WHERE names_keys OR is_fired),
with_integers(name, reason) AS (
    SELECT name, 'names a converted table or column' FROM functions WHERE has_integers AND names_keys
    UNION ALL
    SELECT f.name, format('is called by %s', string_agg(callers.name, ', ' ORDER BY callers.name))
    FROM functions AS f
    JOIN callers ON callers.oid <> f.oid AND callers.source ~* format('\m%s\M"?\s*\(', regexp_replace(f.proname, '(\W)', '\\\1', 'g'))
    WHERE f.has_integers AND NOT f.names_keys
    GROUP BY f.name
),
-- Integer columns that hold keys, by their names.
guesses AS (
    SELECT DISTINCT format('%I.%I.%I', n.nspname, c.relname, a.attname) AS name, target.relation_name,
           format('ALTER TABLE %I.%I ALTER COLUMN %I TYPE bigint;', n.nspname, c.relname, a.attname) AS remedy
    FROM target
    JOIN pg_class AS k ON k.oid = target.relation
    JOIN pg_class AS c ON c.relnamespace = k.relnamespace AND c.relkind IN ('r', 'p') AND NOT c.relispartition
    JOIN pg_namespace AS n ON n.oid = c.relnamespace
    JOIN pg_attribute AS a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
         AND a.atttypid IN ('smallint'::regtype, 'integer'::regtype)
    WHERE (a.attname = target.name AND target.name <> 'id'
           OR lower(a.attname) IN (lower(k.relname) || '_id', regexp_replace(lower(k.relname), 'e?s$', '') || '_id',
                                   regexp_replace(lower(k.relname), 's$', '') || '_id', regexp_replace(lower(k.relname), 'ies$', 'y') || '_id'))
      AND (a.attrelid, a.attnum) NOT IN (SELECT relation, number FROM columns)
      AND (a.attrelid, a.attnum) NOT IN (SELECT relation, number FROM referring)
      AND (a.attrelid, a.attnum) NOT IN (SELECT relation, number FROM key_columns)
),
rewritten AS (
    SELECT relation, relation_name, kind, string_agg(column_name, ', ' ORDER BY number) AS column_names
    FROM retyped GROUP BY relation, relation_name, kind
),
findings(rank, kind, object, reason, remedy, rewritten, lock) AS (
    SELECT 1, 'risk', name, format('It has integer parameters, results or variables, and %s.', reason), 'Change them to bigint if they get the key.', NULL::bigint, NULL
    FROM with_integers WHERE EXISTS (SELECT FROM retyped)
    UNION ALL
    SELECT 2, 'risk', name, 'It uses nextval(), currval(), lastval() or pg_get_serial_sequence(), and keys come from snowflake_nextval() now.',
           'Use snowflake_currval(), or INSERT ... RETURNING.', NULL, NULL
    FROM functions
    WHERE source ~* '\mlastval\M\s*\(' OR (names_keys OR is_fired) AND source ~* '\m(nextval|currval|pg_get_serial_sequence)\M\s*\('
    UNION ALL
    SELECT 3, 'risk', name, format('It is integer, and its name suggests that it holds keys of %s without a foreign key. This is a guess.',
                                   string_agg(relation_name, ', ' ORDER BY relation_name)), remedy, NULL, NULL
    FROM guesses GROUP BY name, remedy
    UNION ALL
    SELECT 4, 'risk', format('%s.%s', c.relation_name, c.column_name),
           format('The key refers to %s. It becomes bigint with that, and its default stays as it is.', string_agg(DISTINCT other::regclass::text, ', ')),
           NULL, NULL, NULL
    FROM columns AS c JOIN referring USING (relation, number)
    WHERE EXISTS (SELECT FROM pg_index WHERE indrelid = relation AND indisprimary AND indkey[0] = c.number AND indnkeyatts = 1)
       OR (relation, number) IN (SELECT * FROM key_columns)
    GROUP BY c.relation_name, c.column_name
    UNION ALL
    SELECT 5, 'risk', sequence_name, format('%s may go on to call nextval(), and mix keys of the old kind in.', string_agg(DISTINCT role, ', ')),
           format('REVOKE USAGE, UPDATE ON SEQUENCE %s FROM %s;', sequence_name, string_agg(DISTINCT role, ', ')), NULL, NULL
    FROM columns JOIN pg_class AS s ON s.oid = sequence, aclexplode(relacl) AS acl,
    LATERAL (SELECT CASE grantee WHEN 0 THEN 'PUBLIC' ELSE quote_ident(pg_get_userbyid(grantee)) END) AS roles (role)
    WHERE in_family AND privilege_type IN ('USAGE', 'UPDATE') AND grantee <> relowner
    GROUP BY sequence_name
    UNION ALL
    SELECT 6, 'risk', format('%s.%s', relation_name, column_name), 'GENERATED ALWAYS did not let clients insert keys of their own, and a default does.',
           'Grant INSERT on the other columns only, not on the table.', NULL, NULL
    FROM target WHERE identity = 'a'
    UNION ALL
    SELECT 7, 'risk', relation_name, format('Publication %I sends its rows to subscribers, whose columns have to be bigint first.', pubname),
           'Change the types of the subscribers'' columns before.', NULL, NULL
    FROM rewritten JOIN pg_class AS c ON c.oid = relation, pg_publication AS p
    WHERE puballtables OR EXISTS (SELECT FROM pg_publication_rel WHERE prpubid = p.oid AND prrelid = relation)
       OR EXISTS (SELECT FROM pg_publication_namespace WHERE pnpubid = p.oid AND pnnspid = relnamespace)
    UNION ALL
    SELECT 8, 'risk', relation_name, 'It is partitioned by the key, and new keys grow with time.', 'Add partitions before they are needed, or a default partition.', NULL, NULL
    FROM target JOIN pg_partitioned_table ON partrelid = relation AND number = ANY (partattrs) AND partstrat <> 'h'
    UNION ALL
    SELECT 9, 'risk', coalesce($1::text, $3::text),
           'Sessions keep plans of prepared statements and of functions. Those that return or pass on a changed column fail.',
           'Let all clients connect again afterwards, or execute DISCARD PLANS.', NULL, NULL
    WHERE EXISTS (SELECT FROM retyped)
    UNION ALL
    SELECT 20, 'change', relation_name, format('It is rewritten with its indexes, since these columns become bigint: %s.', column_names), NULL,
           CASE WHEN kind = 'r' THEN pg_total_relation_size(relation) END, 'ACCESS EXCLUSIVE'
    FROM rewritten
    UNION ALL
    SELECT 21, 'change', relation_name, 'It gets another default.', NULL, NULL, 'ACCESS EXCLUSIVE'
    FROM target WHERE relation NOT IN (SELECT relation FROM rewritten)
    GROUP BY relation_name
    UNION ALL
    SELECT 22, 'change', relation_name, 'Its foreign keys are dropped and added again.', NULL, NULL, 'ACCESS EXCLUSIVE'
    FROM foreign_keys WHERE conrelid NOT IN (SELECT relation FROM rewritten) AND conrelid NOT IN (SELECT relation FROM target)
    GROUP BY relation_name
    UNION ALL
    SELECT 23, 'change', pg_describe_object(class, object, 0), 'It is dropped and created again if dependents are ''recreate''.', NULL, NULL,
           CASE WHEN class = 'pg_class'::regclass THEN 'ACCESS EXCLUSIVE' END
    FROM (SELECT DISTINCT d.class, d.object FROM dependents AS d JOIN wholes AS w ON (w.class, w.object) = (d.class, d.object)) AS d
    UNION ALL
    SELECT 24, 'change', relation_name, format('Foreign key %I is validated afterwards, while reading and writing go on.', conname), NULL, NULL, 'SHARE UPDATE EXCLUSIVE'
    FROM foreign_keys WHERE convalidated AND NOT (relkind = 'p' AND current_setting('server_version_num')::integer < 180000)
)
SELECT kind, object, reason, remedy, rewritten, lock FROM findings ORDER BY rank, object, reason
