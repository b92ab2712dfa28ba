-- Columns of tables, and attributes of composite types, that might hold keys without a foreign key,
-- by their names. The query begins with keys.sql and depending.sql.
,
-- a row: a type that holds integers, and what takes its place: smallint and integer, arrays of
-- them, and domains over all of that. A domain cannot change its type: the new one has another
-- name.
integer_types(type, new_type, is_small, height) AS (
    SELECT oid,
           format_type(CASE WHEN typcategory = 'A' THEN 'bigint[]'::regtype ELSE 'bigint'::regtype END, NULL),
           oid IN ('smallint'::regtype, 'smallint[]'::regtype), 0
    FROM pg_type
    WHERE oid IN ('smallint'::regtype, 'integer'::regtype, 'smallint[]'::regtype, 'integer[]'::regtype)
    UNION
    SELECT t.oid,
           CASE
               WHEN typbasetype <> 0 THEN format('%I.%I', nspname, typname || '_bigint')
               ELSE new_type || '[]'
           END COLLATE "default",
           is_small, height + 1
    FROM integer_types
    JOIN pg_type AS t
        ON typbasetype = type OR typelem = type AND typsubscript = 'array_subscript_handler'::regproc
    JOIN pg_namespace AS n ON n.oid = typnamespace
    WHERE t.oid >= 16384
),

-- a row: a column of any table, and another one that it refers to by a foreign key.
referring_anywhere(relation, number, other) AS (
    SELECT conrelid, referencing, confrelid
    FROM pg_constraint, unnest(conkey, confkey) AS pair (referencing, referenced)
    WHERE contype = 'f' AND (conrelid, referencing) <> (confrelid, referenced)
),

-- a row: a column that no foreign key, no sequence and no extension says anything of. In its words,
-- orderItemId is order_item_id; the stem leaves out _id and _ids. The name id says nothing of what a
-- column refers to, unless it is the key of what a function returns.
integer_columns AS (
    SELECT attrelid AS relation, attnum AS number, attname AS name,
           format('%s.%I.%I', relnamespace::regnamespace, relname, attname) AS full_name,
           format('%s.%I', relnamespace::regnamespace, relname) AS relation_name, relnamespace AS schema,
           relkind AS kind,
           atttypid AS type, new_type, is_small,
           (SELECT typcategory FROM pg_type WHERE oid = atttypid) = 'A' AS is_array, word,
           word ~ '.(_id|_ids)$' AS is_id,
           regexp_replace(word, '(.)(_id|_ids)$', '\1') AS stem
    FROM (
        SELECT attrelid, attnum, attname, atttypid
        FROM pg_attribute
        WHERE attrelid >= 16384
          AND atttypid IN (SELECT type FROM integer_types)
          AND attnum > 0
          AND NOT attisdropped
          AND attinhcount = 0
          AND attidentity = ''
          AND (attrelid, attnum) NOT IN (SELECT relation, number FROM columns)
          AND (attrelid, attnum) NOT IN (SELECT relation, number FROM referring_anywhere)
        OFFSET 0
    ) AS a
    JOIN integer_types ON type = atttypid,
         LATERAL (
             SELECT *
             FROM pg_class
             WHERE oid = attrelid
               AND relkind IN ('r', 'p', 'c')
               AND (relkind = 'c' OR attname <> 'id')
               AND relpersistence <> 't'
               AND reloftype = 0
             OFFSET 0
         ) AS c,
         LATERAL (SELECT lower(regexp_replace(attname, '([a-z0-9])([A-Z])', '\1_\2', 'g'))) AS words (word)
    WHERE NOT EXISTS (
              SELECT
              FROM pg_attrdef
              WHERE (adrelid, adnum) = (c.oid, attnum) AND pg_get_expr(adbin, adrelid) LIKE '%nextval(%'
              OFFSET 0
          )
      AND NOT EXISTS (
          SELECT
          FROM pg_depend
          WHERE (classid, objid, deptype) = ('pg_class'::regclass, c.oid, 'e')
          OFFSET 0
      )
),

-- a row: a key in its table, with the names that it might have elsewhere, and whether the table looks
-- like one of persons.
keyed AS (
    SELECT relation, relation_name, schema, relname, type,
           nullif(lower(regexp_replace(name, '([a-z0-9])([A-Z])', '\1_\2', 'g')), 'id') AS key,
           ARRAY(
               SELECT regexp_replace(word, plural, singular)
               FROM (
                   VALUES ('$', ''), ('s$', ''), ('es$', ''), ('ies$', 'y'), ('ves$', 'f'), ('a$', 'um'),
                          ('a$', 'on'),
                          ('ices$', 'ex'), ('ices$', 'ix'), ('people$', 'person'), ('children$', 'child')
               ) AS endings (plural, singular)
           ) AS singulars,
           word ~
               '(^|_)(users?|accounts?|members?|people|persons?|staff|employees?|'
               'customers?|editors?|authors?|profiles?)$' AS is_of_persons
    FROM target
    JOIN pg_class ON oid = relation,
         LATERAL (SELECT lower(regexp_replace(relname, '([a-z0-9])([A-Z])', '\1_\2', 'g'))) AS words (word)
),

-- a row: a column, and what it might hold, with the rank of the reason: the best is 1. Of names
-- without _id, a plural of one number counts something, and a smallint is a status or the like
-- unless the key is one, too.
reasons(rank, relation, number, refers_to, beside) AS (
    SELECT 1, c.relation, c.number, k.relation_name, NULL::name
    FROM integer_columns AS c
    JOIN keyed AS k
        ON (c.is_id OR c.is_array)
           AND (c.stem = ANY (singulars) OR regexp_replace(c.stem, 's$', '') = ANY (singulars))
        OR c.word = ANY (singulars)
           AND c.relation <> k.relation
           AND (c.word !~ 's$' OR c.word ~ '(ss|us|is|series|species|news)$')
        OR c.is_id
           AND c.stem LIKE ANY (
               SELECT '%\_' || replace(singular, '_', '\_') FROM unnest(singulars) AS singular
           )
        OR c.word IN (key, key || 's')
        OR key LIKE '%id' AND c.word LIKE '%\_' || replace(key, '_', '\_')
    -- Where another schema has such a table too, its columns hold keys of that.
    WHERE (c.schema = k.schema
           OR NOT EXISTS (SELECT FROM pg_class WHERE relname = k.relname AND relnamespace = c.schema))
      AND (c.is_id OR NOT c.is_small OR k.type = 'smallint'::regtype)
    UNION ALL
    SELECT 2, c.relation, c.number, NULL, t.attname
    FROM integer_columns AS c,
         LATERAL (SELECT attname FROM pg_attribute WHERE attrelid = c.relation AND c.is_id OFFSET 0) AS t,
         LATERAL (
             SELECT lower(regexp_replace(t.attname, '([a-z0-9])([A-Z])', '\1_\2', 'g'))
         ) AS words (beside)
    WHERE c.is_id
      AND EXISTS (SELECT FROM keyed WHERE keyed.schema = c.schema)
      AND (words.beside = c.stem || '_type'
           OR c.stem IN ('row', 'record', 'object', 'entity')
              AND words.beside IN ('table', 'table_name', 'model', 'content_type', 'content_type_id'))
    UNION ALL
    SELECT 3, c.relation, c.number, k.relation_name, NULL
    FROM integer_columns AS c
    JOIN keyed AS k USING (relation)
    WHERE c.stem ~
        '^(parent|child|ancestor|descendant|root|previous|prev|next|predecessor|successor|original|'
        'duplicate|reply_to|in_reply_to|merged_into|replaced_by|copied_from|'
        '((duplicate|sequel|part|copy)_of))$'
    UNION ALL
    SELECT 4, c.relation, c.number, k.relation_name, NULL
    FROM integer_columns AS c
    JOIN (
        SELECT DISTINCT attname, other
        FROM keyed
        JOIN referring_anywhere AS r ON other = keyed.relation,
             LATERAL (
                 SELECT attname FROM pg_attribute WHERE (attrelid, attnum) = (r.relation, r.number) OFFSET 0
             ) AS a
    ) AS elsewhere ON attname = c.name
    JOIN keyed AS k ON k.relation = other AND k.schema = c.schema
    WHERE c.word <> 'id' AND (c.is_id OR NOT c.is_small OR k.type = 'smallint'::regtype)
    UNION ALL
    SELECT 5, c.relation, c.number, k.relation_name, NULL
    FROM integer_columns AS c
    JOIN keyed AS k USING (schema)
    WHERE is_of_persons
      AND (c.is_id
           AND c.stem ~
               '(^|_)(creator|updater|author|editor|owner|user|person|member|account|modifier|deleter|'
               'uploader|approver|reviewer|reporter|assignee|sender|receiver|recipient|poster|banner|'
               'moderator|manager|supervisor|subscriber|follower|inviter|voter|buyer|seller|blocker|'
               'requester)$'
           OR c.stem ~ '(ed|en|made|built|by)_by$')
    UNION ALL
    -- The key of what a function returns.
    SELECT 6, relation, number, NULL, NULL
    FROM integer_columns
    WHERE kind = 'c' AND word = 'id' AND schema IN (SELECT schema FROM keyed)
),

-- a row: a column that might hold keys, with all that it might hold by the best of its reasons.
guesses AS (
    SELECT c.*, why.refers_to, why.beside
    FROM integer_columns AS c
    JOIN (
        SELECT DISTINCT ON (relation, number) relation, number,
               string_agg(DISTINCT refers_to, ', ' ORDER BY refers_to) AS refers_to,
               string_agg(DISTINCT quote_ident(beside), ', ') AS beside
        FROM reasons
        GROUP BY relation, number, rank
        ORDER BY relation, number, rank
    ) AS why USING (relation, number)
)
