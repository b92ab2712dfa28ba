-- Which of these might hold keys, by their names. The query goes on from integers.sql.
,
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
    FROM target,
         LATERAL (SELECT relname FROM pg_class WHERE oid = relation OFFSET 0) AS c,
         LATERAL (SELECT lower(regexp_replace(relname, '([a-z0-9])([A-Z])', '\1_\2', 'g'))) AS words (word)
),

-- a row: a key, and a name that columns which hold it might have: that of its table in the singular, or
-- its own.
names_of_keys(name, is_own, relation) AS (
    SELECT unnest(singulars), false, relation FROM keyed
    UNION
    SELECT key, true, relation FROM keyed WHERE key IS NOT NULL
),

-- a row: a column that might have such a name. All other columns of the database need not be looked
-- at again for the keys of one relation.
named_like_keys AS (
    SELECT relation, number, word, stem, is_id, is_array
    FROM integer_columns
    WHERE $1 IS NULL
       OR word ~ (
           SELECT '(^|_)(' || string_agg(regexp_replace(name, '(\W)', '\\\1', 'g'), '|') || ')s?(_ids?)?$'
           FROM names_of_keys
       )
),

-- a row: a column, and a name of keys that it might have. Of names without _id, a plural of one number
-- counts something. What follows other words in a name is a suffix.
names_of_columns(name, is_own, relation, number, is_elsewhere, is_suffix) AS (
    SELECT unnest(ARRAY[stem, regexp_replace(stem, 's$', '')]), false, relation, number, false, false
    FROM named_like_keys
    WHERE is_id OR is_array
    UNION ALL
    SELECT word, false, relation, number, true, false
    FROM named_like_keys
    WHERE word !~ 's$' OR word ~ '(ss|us|is|series|species|news)$'
    UNION ALL
    SELECT unnest(ARRAY[word, substring(word FROM '^(.+)s$')]), true, relation, number, false, false
    FROM named_like_keys
    UNION ALL
    SELECT array_to_string(words[place:], '_'), is_own, relation, number, false, true
    FROM named_like_keys,
         LATERAL (VALUES (false, stem), (true, word)) AS names (is_own, name),
         LATERAL string_to_array(names.name, '_') AS words,
         LATERAL generate_series(2, cardinality(words)) AS place
    WHERE is_own OR is_id
),

-- a row: a column, and what it might hold, with the rank of the reason: the best is 1. A smallint is a
-- status or the like unless the key is one, too, or it is named _id.
reasons(rank, relation, number, refers_to, beside) AS (
    SELECT 1, c.relation, c.number, k.relation_name, NULL::name
    FROM names_of_columns AS n
    JOIN names_of_keys AS of_key
        ON (of_key.name, of_key.is_own) = (n.name, n.is_own)
       AND NOT (is_elsewhere AND n.relation = of_key.relation)
       -- A suffix of a column that is the key's own name says little unless that is one of an ID.
       AND NOT (n.is_suffix AND n.is_own AND n.name NOT LIKE '%id')
    JOIN integer_columns AS c ON (c.relation, c.number) = (n.relation, n.number)
    JOIN keyed AS k ON k.relation = of_key.relation
    -- Where another schema has such a table too, its columns hold keys of that.
    WHERE (c.schema = k.schema
           OR NOT EXISTS (
               SELECT FROM pg_class WHERE (relname, relnamespace) = (k.relname, c.schema) OFFSET 0
           ))
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
        SELECT DISTINCT attname, keyed.relation AS other
        FROM keyed,
             LATERAL (
                 SELECT k.*
                 FROM pg_depend,
                      LATERAL (SELECT * FROM pg_constraint WHERE oid = objid OFFSET 0) AS k
                 WHERE (classid, refclassid, refobjid)
                       = ('pg_constraint'::regclass, 'pg_class'::regclass, keyed.relation)
                   AND contype = 'f'
                   AND confrelid = keyed.relation
                 OFFSET 0
             ) AS k,
             unnest(conkey, confkey) AS pair (referencing, referenced),
             LATERAL (
                 SELECT attname FROM pg_attribute WHERE (attrelid, attnum) = (conrelid, referencing) OFFSET 0
             ) AS a
        WHERE (conrelid, referencing) <> (confrelid, referenced)
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
    SELECT c.*, format('%s.%I', schema::regnamespace, relname) AS relation_name,
           format('%s.%I.%I', schema::regnamespace, relname, name) AS full_name, why.refers_to, why.beside
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
