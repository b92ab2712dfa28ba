-- Columns of tables, and attributes of composite types, that may hold keys without a foreign key, by
-- their names. The query begins with keys.sql.
,
-- Types that hold integers: smallint and integer, arrays of them, and domains over all of that; and
-- what takes their place. A domain cannot change its type: the new one has another name.
integer_types(type, new_type) AS (
    SELECT oid, format_type(CASE WHEN typcategory = 'A' THEN 'bigint[]'::regtype ELSE 'bigint'::regtype END, NULL)
    FROM pg_type WHERE oid IN ('smallint'::regtype, 'integer'::regtype, 'smallint[]'::regtype, 'integer[]'::regtype)
    UNION
    SELECT t.oid, CASE WHEN typbasetype <> 0 THEN format('%I.%I', nspname, typname || '_bigint') ELSE new_type || '[]' END COLLATE "default"
    FROM integer_types
    JOIN pg_type AS t ON typbasetype = type OR typelem = type AND typsubscript = 'array_subscript_handler'::regproc
    JOIN pg_namespace AS n ON n.oid = typnamespace
    WHERE t.oid >= 16384
),
-- Columns that no foreign key, no sequence and no extension says anything of. In their words,
-- orderItemId is order_item_id; the stem leaves out _id and _ids.
integer_columns AS (
    SELECT c.oid AS relation, a.attnum AS number, a.attname AS name, format('%I.%I.%I', nspname, relname, attname) AS full_name,
           format('%I.%I', nspname, relname) AS relation_name, relnamespace AS schema, relkind AS kind, atttypid AS type, new_type,
           word, word ~ '.(_id|_ids)$' AS is_id, regexp_replace(word, '(.)(_id|_ids)$', '\1') AS stem
    FROM pg_attribute AS a
    JOIN integer_types ON type = atttypid
    JOIN pg_class AS c ON c.oid = attrelid AND relkind IN ('r', 'p', 'c') AND relpersistence <> 't'
    JOIN pg_namespace AS n ON n.oid = relnamespace
    LEFT JOIN pg_attrdef ON (adrelid, adnum) = (attrelid, attnum) AND attgenerated = '',
    LATERAL (SELECT lower(regexp_replace(attname, '([a-z0-9])([A-Z])', '\1_\2', 'g'))) AS words (word)
    WHERE c.oid >= 16384 AND attnum > 0 AND NOT attisdropped AND attinhcount = 0 AND attidentity = ''
      AND coalesce(pg_get_expr(adbin, adrelid), '') NOT LIKE '%nextval(%'
      AND (c.oid, attnum) NOT IN (SELECT relation, number FROM columns)
      AND (c.oid, attnum) NOT IN (SELECT relation, number FROM referring)
      AND NOT EXISTS (SELECT FROM pg_depend WHERE (classid, objid, deptype) = ('pg_class'::regclass, c.oid, 'e'))
),
-- The tables of the keys: the names that one of their keys may have elsewhere, and whether they look
-- like tables of persons.
keyed AS (
    SELECT relation, relation_name, schema, relname, nullif(lower(regexp_replace(name, '([a-z0-9])([A-Z])', '\1_\2', 'g')), 'id') AS key,
           ARRAY[word, regexp_replace(word, 's$', ''), regexp_replace(word, 'es$', ''), regexp_replace(word, 'ies$', 'y')] AS singulars,
           word ~ '(^|_)(users?|accounts?|members?|people|persons?|staff|employees?|customers?|editors?|authors?|profiles?)$' AS is_of_persons
    FROM target JOIN pg_class ON oid = relation,
    LATERAL (SELECT lower(regexp_replace(relname, '([a-z0-9])([A-Z])', '\1_\2', 'g'))) AS words (word)
),
-- What each column may hold, from the best reason to the worst.
reasons(rank, relation, number, refers_to, beside) AS (
    SELECT 1, c.relation, c.number, k.relation_name, NULL::name
    FROM integer_columns AS c
    JOIN keyed AS k
         ON c.stem = ANY (singulars) OR regexp_replace(c.stem, 's$', '') = ANY (singulars)
            OR c.is_id AND c.stem LIKE ANY (SELECT '%\_' || replace(singular, '_', '\_') FROM unnest(singulars) AS singular)
            OR c.word IN (key, key || 's') OR key LIKE '%id' AND c.word LIKE '%\_' || replace(key, '_', '\_')
    -- Where another schema has such a table too, its columns hold keys of that.
    WHERE c.schema = k.schema OR NOT EXISTS (SELECT FROM pg_class WHERE relname = k.relname AND relnamespace = c.schema)
    UNION ALL
    SELECT 2, c.relation, c.number, k.relation_name, NULL
    FROM integer_columns AS c JOIN keyed AS k USING (relation)
    WHERE c.stem ~ '^(parent|child|ancestor|descendant|root|previous|prev|next|predecessor|successor|original|duplicate|reply_to|in_reply_to|'
                   'merged_into|replaced_by|copied_from|((duplicate|sequel|part|copy)_of))$'
    UNION ALL
    SELECT 3, c.relation, c.number, k.relation_name, NULL
    FROM integer_columns AS c
    JOIN (SELECT DISTINCT attname, other FROM referring JOIN pg_attribute ON (attrelid, attnum) = (relation, referring.number)) AS elsewhere ON attname = c.name
    JOIN keyed AS k ON k.relation = other AND k.schema = c.schema
    UNION ALL
    SELECT 4, c.relation, c.number, k.relation_name, NULL
    FROM integer_columns AS c JOIN keyed AS k USING (schema)
    WHERE is_of_persons
      AND (c.is_id AND c.stem ~ '(^|_)(creator|updater|author|editor|owner|user|person|member|account|modifier|deleter|uploader|approver|reviewer|reporter|assignee|'
                                'sender|receiver|recipient|poster|banner|moderator|manager|supervisor|subscriber|follower|inviter|voter|buyer|seller|blocker|requester)$'
           OR c.stem ~ '(ed|en|made|built|by)_by$')
    UNION ALL
    SELECT 5, c.relation, c.number, NULL, t.attname
    FROM integer_columns AS c
    JOIN pg_attribute AS t ON t.attrelid = c.relation AND lower(regexp_replace(t.attname, '([a-z0-9])([A-Z])', '\1_\2', 'g')) = c.stem || '_type'
    WHERE c.is_id AND EXISTS (SELECT FROM keyed WHERE keyed.schema = c.schema)
),
guesses AS (
    SELECT c.*, why.refers_to, why.beside
    FROM integer_columns AS c
    JOIN (SELECT DISTINCT ON (relation, number) relation, number, string_agg(DISTINCT refers_to, ', ' ORDER BY refers_to) AS refers_to,
                 string_agg(DISTINCT quote_ident(beside), ', ') AS beside
          FROM reasons GROUP BY relation, number, rank ORDER BY relation, number, rank) AS why USING (relation, number)
),
guessed_domains(type) AS (
    SELECT type FROM guesses
    UNION
    SELECT part FROM guessed_domains JOIN pg_type ON oid = type, unnest(ARRAY[typbasetype, typelem]) AS part WHERE type >= 16384 AND part <> 0
),
-- What PostgreSQL refuses to change a column or an attribute for.
users(relation, number, used_by) AS (
    SELECT relation, number, string_agg(DISTINCT description, ', ' ORDER BY description)
    FROM (SELECT g.relation, g.number, pg_describe_object('pg_class'::regclass, attrelid, attnum)
          FROM guesses AS g
          JOIN pg_class AS c ON c.oid = g.relation AND relkind = 'c'
          JOIN pg_type AS t ON t.oid = c.reltype
          JOIN pg_attribute ON atttypid IN (t.oid, t.typarray) AND NOT attisdropped
          UNION ALL
          SELECT g.relation, g.number, pg_describe_object(coalesce(class, classid), coalesce(object, objid), 0)
          FROM guesses AS g
          JOIN pg_depend ON (refclassid, refobjid, refobjsubid) = ('pg_class'::regclass, g.relation, g.number::integer)
               AND classid IN ('pg_rewrite'::regclass, 'pg_policy'::regclass, 'pg_trigger'::regclass, 'pg_proc'::regclass, 'pg_publication_rel'::regclass)
          LEFT JOIN wholes ON (part_class, part) = (classid, objid)) AS users (relation, number, description)
    GROUP BY relation, number
),
-- What is to be done about them, in this order.
guess_risks(rank, object, reason, remedy) AS (
    SELECT 3, format('%I.%I', nspname, typname), 'Columns that may hold keys are of this domain, whose type cannot be changed. This is a guess.',
           concat_ws(' ', format('CREATE DOMAIN %s AS %s', i.new_type, base.new_type), 'DEFAULT ' || typdefault, CASE WHEN typnotnull THEN 'NOT NULL' END,
                     (SELECT string_agg(format('CONSTRAINT %I %s', conname, pg_get_constraintdef(oid)), ' ' ORDER BY conname)
                      FROM pg_constraint WHERE contypid = t.oid AND contype = 'c')) || ';'
    FROM guessed_domains JOIN integer_types AS i USING (type)
    JOIN pg_type AS t ON t.oid = type AND typbasetype <> 0
    JOIN pg_namespace AS n ON n.oid = typnamespace
    JOIN integer_types AS base ON base.type = typbasetype
    UNION ALL
    SELECT 4, full_name,
           CASE WHEN refers_to IS NULL THEN format('It has type %s. Together with %s, it may hold keys of any table. This is a guess.', type::regtype, beside)
                ELSE format('It has type %s, and its name suggests that it holds keys of %s without a foreign key. This is a guess.', type::regtype, refers_to) END
           || CASE WHEN kind <> 'c' AND used_by <> '' THEN format(' What uses it has to be dropped before, and created again afterwards: %s.', used_by) ELSE '' END,
           CASE WHEN kind <> 'c' THEN format('ALTER TABLE %s ALTER COLUMN %I TYPE %s;', relation_name, name, new_type)
                WHEN used_by IS NULL THEN format('ALTER TYPE %s ALTER ATTRIBUTE %I TYPE %s;', relation_name, name, new_type)
                ELSE format('Create another type with %s, and change to it: %s.', new_type, used_by) END
    FROM guesses LEFT JOIN users USING (relation, number)
    UNION ALL
    SELECT 5, format('%I.%I.%I', nspname, relname, attname), format('It takes values of a sequence, and is not converted, since its type is %s.', atttypid::regtype),
           'Change its type to bigint, and convert it too.'
    FROM pg_attrdef AS d
    JOIN pg_attribute ON (attrelid, attnum) = (adrelid, adnum) AND attinhcount = 0
    JOIN pg_type AS t ON t.oid = atttypid AND typbasetype <> 0
    JOIN pg_class AS c ON c.oid = attrelid AND relkind IN ('r', 'p')
    JOIN pg_namespace AS n ON n.oid = relnamespace
    WHERE (c.oid = $1 OR relnamespace = $3::oid) AND $2 IS NULL AND pg_get_expr(adbin, adrelid) LIKE '%nextval(%'
    UNION ALL
    SELECT 19, coalesce($1::text, $3::text),
           format('These columns have no foreign key, and their names do not tell what they hold: %s.', string_agg(full_name, ', ' ORDER BY full_name)),
           'Change to bigint those that hold converted keys.'
    FROM integer_columns
    WHERE is_id AND kind <> 'c' AND schema IN (SELECT schema FROM keyed) AND (relation, number) NOT IN (SELECT relation, number FROM guesses)
    HAVING count(*) > 0
)
