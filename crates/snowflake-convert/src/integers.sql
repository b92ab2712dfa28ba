-- Columns of tables, and attributes of composite types, that hold integers of which nothing tells what
-- they are. The query begins with keys.sql and depending.sql.
,
-- a row: a domain of a user.
domains(type, base, its_array, new_type) AS (
    SELECT t.oid, typbasetype, typarray,
           format('%I.%I', nspname, typname || '_bigint') COLLATE "default"
    FROM pg_type AS t
    JOIN pg_namespace AS n ON n.oid = typnamespace
    WHERE typtype = 'd' AND t.oid >= 16384
),

-- a row: a type that holds integers, and what takes its place: smallint and integer, arrays of
-- them, and domains over all of that. A domain cannot change its type: the new one has another
-- name.
integer_types(type, new_type, is_small, is_array, height) AS (
    SELECT oid,
           format_type(CASE WHEN typcategory = 'A' THEN 'bigint[]'::regtype ELSE 'bigint'::regtype END, NULL),
           oid IN ('smallint'::regtype, 'smallint[]'::regtype), typcategory = 'A', 0
    FROM pg_type
    WHERE oid IN ('smallint'::regtype, 'integer'::regtype, 'smallint[]'::regtype, 'integer[]'::regtype)
    UNION
    SELECT of_domain.type, of_domain.new_type, is_small, of_domain.is_array, height + 1
    FROM integer_types AS i
    JOIN domains AS d ON base = i.type,
         LATERAL (
             VALUES (d.type, d.new_type, i.is_array), (its_array, d.new_type || '[]', true)
         ) AS of_domain (type, new_type, is_array)
),

-- a row: a column that no foreign key, no sequence and no extension says anything of. In its words,
-- orderItemId is order_item_id; the stem leaves out _id and _ids. The name id says nothing of what a
-- column refers to, unless it is the key of what a function returns.
integer_columns AS (
    SELECT attrelid AS relation, attnum AS number, attname AS name, relname, relnamespace AS schema,
           relkind AS kind, atttypid AS type, new_type, is_small, is_array, word,
           word LIKE ANY ('{%_\\_id,%_\\_ids}') AS is_id,
           CASE
               WHEN word LIKE '%_\_id' THEN left(word, -3)
               WHEN word LIKE '%_\_ids' THEN left(word, -4)
               ELSE word
           END AS stem
    FROM (
        SELECT a.*, relname, relnamespace, relkind
        FROM pg_class AS c,
             LATERAL (
                 SELECT attrelid, attnum, attname, atttypid, atthasdef
                 FROM pg_attribute
                 WHERE attrelid = c.oid
                   AND attnum > 0
                   AND (relkind = 'c' OR attname <> 'id')
                   AND NOT attisdropped
                   AND attinhcount = 0
                   AND attidentity = ''
                   AND atttypid = ANY (ARRAY(SELECT type FROM integer_types))
                 OFFSET 0
             ) AS a
        WHERE c.oid >= 16384
          AND relkind IN ('r', 'p', 'c')
          AND relpersistence <> 't'
          AND reloftype = 0
        OFFSET 0
    ) AS a
    JOIN integer_types ON type = atttypid,
         LATERAL (
             SELECT CASE
                        WHEN attname = lower(attname) THEN attname
                        ELSE lower(regexp_replace(attname, '([a-z0-9])([A-Z])', '\1_\2', 'g'))
                    END
         ) AS words (word)
    WHERE NOT EXISTS (SELECT FROM columns WHERE (relation, number) = (attrelid, attnum))
      -- A column that refers to itself refers to nothing.
      AND NOT EXISTS (
          SELECT
          FROM pg_constraint
          WHERE contype = 'f'
            AND conrelid = attrelid
            AND attnum = ANY (conkey)
            AND (confrelid <> conrelid
                 OR EXISTS (
                     SELECT
                     FROM unnest(conkey, confkey) AS pair (referencing, referenced)
                     WHERE referencing = attnum AND referenced <> attnum
                 ))
      )
      AND NOT (atthasdef
               AND EXISTS (
                   SELECT
                   FROM pg_attrdef
                   WHERE (adrelid, adnum) = (attrelid, attnum)
                     AND pg_get_expr(adbin, adrelid) LIKE '%nextval(%'
                   OFFSET 0
               ))
      -- Members of extensions are found by the index.
      AND attrelid NOT IN (
          SELECT objid
          FROM pg_depend
          WHERE (classid, refclassid, deptype) = ('pg_class'::regclass, 'pg_extension'::regclass, 'e')
      )
)
