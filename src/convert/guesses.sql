-- Columns of tables, and attributes of composite types, that may hold keys without a foreign key, by
-- their names. The query begins with keys.sql.
,
-- Types that hold integers: smallint and integer, arrays of them, and domains over all of that; and
-- what takes their place. A domain cannot change its type: the new one has another name.
integer_types(type, new_type, is_small, height) AS (
    SELECT oid, format_type(CASE WHEN typcategory = 'A' THEN 'bigint[]'::regtype ELSE 'bigint'::regtype END, NULL),
           oid IN ('smallint'::regtype, 'smallint[]'::regtype), 0
    FROM pg_type WHERE oid IN ('smallint'::regtype, 'integer'::regtype, 'smallint[]'::regtype, 'integer[]'::regtype)
    UNION
    SELECT t.oid, CASE WHEN typbasetype <> 0 THEN format('%I.%I', nspname, typname || '_bigint') ELSE new_type || '[]' END COLLATE "default", is_small, height + 1
    FROM integer_types
    JOIN pg_type AS t ON typbasetype = type OR typelem = type AND typsubscript = 'array_subscript_handler'::regproc
    JOIN pg_namespace AS n ON n.oid = typnamespace
    WHERE t.oid >= 16384
),
-- Columns that no foreign key, no sequence and no extension says anything of. In their words,
-- orderItemId is order_item_id; the stem leaves out _id and _ids.
integer_columns AS (
    SELECT c.oid AS relation, a.attnum AS number, a.attname AS name, format('%I.%I.%I', nspname, relname, attname) AS full_name,
           format('%I.%I', nspname, relname) AS relation_name, relnamespace AS schema, relkind AS kind, atttypid AS type, new_type, is_small,
           typcategory = 'A' AS is_array, word, word ~ '.(_id|_ids)$' AS is_id, regexp_replace(word, '(.)(_id|_ids)$', '\1') AS stem
    FROM pg_attribute AS a
    JOIN integer_types ON type = atttypid
    JOIN pg_type AS t ON t.oid = atttypid
    JOIN pg_class AS c ON c.oid = attrelid AND relkind IN ('r', 'p', 'c') AND relpersistence <> 't'
    JOIN pg_namespace AS n ON n.oid = relnamespace
    LEFT JOIN pg_attrdef ON (adrelid, adnum) = (attrelid, attnum) AND attgenerated = '',
    LATERAL (SELECT lower(regexp_replace(attname, '([a-z0-9])([A-Z])', '\1_\2', 'g'))) AS words (word)
    WHERE c.oid >= 16384 AND reloftype = 0 AND attnum > 0 AND NOT attisdropped AND attinhcount = 0 AND attidentity = ''
      AND coalesce(pg_get_expr(adbin, adrelid), '') NOT LIKE '%nextval(%'
      AND (c.oid, attnum) NOT IN (SELECT relation, number FROM columns)
      AND (c.oid, attnum) NOT IN (SELECT relation, number FROM referring)
      AND NOT EXISTS (SELECT FROM pg_depend WHERE (classid, objid, deptype) = ('pg_class'::regclass, c.oid, 'e'))
),
-- The tables of the keys: the names that one of their keys may have elsewhere, and whether they look
-- like tables of persons.
keyed AS (
    SELECT relation, relation_name, schema, relname, type, nullif(lower(regexp_replace(name, '([a-z0-9])([A-Z])', '\1_\2', 'g')), 'id') AS key,
           ARRAY(SELECT regexp_replace(word, plural, singular)
                 FROM (VALUES ('$', ''), ('s$', ''), ('es$', ''), ('ies$', 'y'), ('ves$', 'f'), ('a$', 'um'), ('a$', 'on'),
                              ('ices$', 'ex'), ('ices$', 'ix'), ('people$', 'person'), ('children$', 'child')) AS endings (plural, singular)) AS singulars,
           word ~ '(^|_)(users?|accounts?|members?|people|persons?|staff|employees?|customers?|editors?|authors?|profiles?)$' AS is_of_persons
    FROM target JOIN pg_class ON oid = relation,
    LATERAL (SELECT lower(regexp_replace(relname, '([a-z0-9])([A-Z])', '\1_\2', 'g'))) AS words (word)
),
-- What each column may hold, from the best reason to the worst. Of names without _id, a plural of one
-- number counts something, and a smallint is a status or the like unless the key is one, too.
reasons(rank, relation, number, refers_to, beside) AS (
    SELECT 1, c.relation, c.number, k.relation_name, NULL::name
    FROM integer_columns AS c
    JOIN keyed AS k
         ON (c.is_id OR c.is_array) AND (c.stem = ANY (singulars) OR regexp_replace(c.stem, 's$', '') = ANY (singulars))
            OR c.word = ANY (singulars) AND c.relation <> k.relation AND (c.word !~ 's$' OR c.word ~ '(ss|us|is|series|species|news)$')
            OR c.is_id AND c.stem LIKE ANY (SELECT '%\_' || replace(singular, '_', '\_') FROM unnest(singulars) AS singular)
            OR c.word IN (key, key || 's') OR key LIKE '%id' AND c.word LIKE '%\_' || replace(key, '_', '\_')
    -- Where another schema has such a table too, its columns hold keys of that.
    WHERE (c.schema = k.schema OR NOT EXISTS (SELECT FROM pg_class WHERE relname = k.relname AND relnamespace = c.schema))
      AND (c.is_id OR NOT c.is_small OR k.type = 'smallint'::regtype)
    UNION ALL
    SELECT 2, c.relation, c.number, NULL, t.attname
    FROM integer_columns AS c
    JOIN pg_attribute AS t ON t.attrelid = c.relation,
    LATERAL (SELECT lower(regexp_replace(t.attname, '([a-z0-9])([A-Z])', '\1_\2', 'g'))) AS words (beside)
    WHERE c.is_id AND EXISTS (SELECT FROM keyed WHERE keyed.schema = c.schema)
      AND (words.beside = c.stem || '_type'
           OR c.stem IN ('row', 'record', 'object', 'entity') AND words.beside IN ('table', 'table_name', 'model', 'content_type', 'content_type_id'))
    UNION ALL
    SELECT 3, c.relation, c.number, k.relation_name, NULL
    FROM integer_columns AS c JOIN keyed AS k USING (relation)
    WHERE c.stem ~ '^(parent|child|ancestor|descendant|root|previous|prev|next|predecessor|successor|original|duplicate|reply_to|in_reply_to|'
                   'merged_into|replaced_by|copied_from|((duplicate|sequel|part|copy)_of))$'
    UNION ALL
    SELECT 4, c.relation, c.number, k.relation_name, NULL
    FROM integer_columns AS c
    JOIN (SELECT DISTINCT attname, other FROM referring JOIN pg_attribute ON (attrelid, attnum) = (relation, referring.number)) AS elsewhere ON attname = c.name
    JOIN keyed AS k ON k.relation = other AND k.schema = c.schema
    WHERE c.word <> 'id' AND (c.is_id OR NOT c.is_small OR k.type = 'smallint'::regtype)
    UNION ALL
    SELECT 5, c.relation, c.number, k.relation_name, NULL
    FROM integer_columns AS c JOIN keyed AS k USING (schema)
    WHERE is_of_persons
      AND (c.is_id AND c.stem ~ '(^|_)(creator|updater|author|editor|owner|user|person|member|account|modifier|deleter|uploader|approver|reviewer|reporter|assignee|'
                                'sender|receiver|recipient|poster|banner|moderator|manager|supervisor|subscriber|follower|inviter|voter|buyer|seller|blocker|requester)$'
           OR c.stem ~ '(ed|en|made|built|by)_by$')
    UNION ALL
    -- The key of what a function returns.
    SELECT 6, relation, number, NULL, NULL
    FROM integer_columns WHERE kind = 'c' AND word = 'id' AND schema IN (SELECT schema FROM keyed)
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
-- The composite types among them, and what consists of these.
composed(relation, number, type) AS (
    SELECT relation, number, reltype FROM guesses JOIN pg_class ON oid = relation AND relkind = 'c'
    UNION
    SELECT relation, number, consists_of.type FROM composed JOIN consists_of ON part = composed.type
),
-- What PostgreSQL refuses to change a column or an attribute for.
users(relation, number, used_by) AS (
    SELECT relation, number, string_agg(DISTINCT description, ', ' ORDER BY description)
    FROM (SELECT relation, number, pg_describe_object('pg_class'::regclass, attrelid, attnum)
          FROM composed JOIN pg_attribute ON atttypid = type AND NOT attisdropped
          UNION ALL
          SELECT g.relation, g.number, pg_describe_object('pg_class'::regclass, adrelid, adnum)
          FROM guesses AS g
          JOIN pg_depend ON (refclassid, refobjid, refobjsubid, classid) = ('pg_class'::regclass, g.relation, g.number::integer, 'pg_attrdef'::regclass)
          JOIN pg_attrdef AS d ON d.oid = objid AND (adrelid, adnum) <> (g.relation, g.number)
          UNION ALL
          SELECT g.relation, g.number, pg_describe_object('pg_class'::regclass, indexrelid, 0)
          FROM guesses AS g
          JOIN pg_index ON indrelid = g.relation,
          LATERAL unnest(indkey::int2[], indclass::oid[]) AS part (number, class)
          JOIN narrow_classes USING (class)
          WHERE part.number = g.number
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
    -- A domain comes after the one that it is over.
    SELECT 3 + i.height / 1000.0, format('%I.%I', nspname, typname), 'Columns that may hold keys are of this domain, whose type cannot be changed. This is a guess.',
           concat_ws(' ', format('CREATE DOMAIN %s AS %s', i.new_type, base.new_type), 'DEFAULT ' || typdefault, CASE WHEN typnotnull THEN 'NOT NULL' END,
                     (SELECT string_agg(format('CONSTRAINT %I %s', conname, pg_get_constraintdef(oid)), ' ' ORDER BY conname)
                      FROM pg_constraint WHERE contypid = t.oid AND contype = 'c')) || ';'
    FROM guessed_domains JOIN integer_types AS i USING (type)
    JOIN pg_type AS t ON t.oid = type AND typbasetype <> 0
    JOIN pg_namespace AS n ON n.oid = typnamespace
    JOIN integer_types AS base ON base.type = typbasetype
    UNION ALL
    SELECT 4, full_name,
           CASE WHEN beside IS NOT NULL THEN format('It has type %s. Together with %s, it may hold keys of any table. This is a guess.', type::regtype, beside)
                WHEN refers_to IS NULL THEN format('It has type %s, and its name suggests that it holds keys. This is a guess.', type::regtype)
                ELSE format('It has type %s, and its name suggests that it holds keys of %s without a foreign key. This is a guess.', type::regtype, refers_to) END
           || CASE WHEN kind <> 'c' AND used_by <> '' THEN format(' What uses it has to be dropped before, and created again afterwards: %s.', used_by) ELSE '' END,
           CASE WHEN EXISTS (SELECT FROM pg_depend WHERE (classid, objid, objsubid, refclassid, refobjid, refobjsubid, deptype)
                                                       = ('pg_class'::regclass, relation, number::integer, 'pg_class'::regclass, relation, 0, 'i'))
                THEN format('Create another table that is partitioned by a column of type %s, and move the rows.', new_type)
                WHEN kind <> 'c' THEN format('ALTER TABLE %s ALTER COLUMN %I TYPE %s;', relation_name, name, new_type)
                WHEN used_by IS NULL THEN
                    format('ALTER TYPE %s ALTER ATTRIBUTE %I TYPE %s%s;', relation_name, name, new_type,
                           CASE WHEN EXISTS (SELECT FROM pg_class AS typed JOIN pg_class AS c ON c.oid = relation WHERE typed.reloftype = c.reltype) THEN ' CASCADE' END)
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
