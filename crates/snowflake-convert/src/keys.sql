-- The keys to convert or revert, and the columns that hold their values. All queries of a
-- conversion begin here: the files that follow in each are listed where the Rust beside them puts
-- them together.
--
-- $1 is the relation and $2 the column; or $1 alone, for all its keys; or $3 alone, a schema, for
-- the keys of all its tables. $4 is the schema of the extension snowflake, $5 the next ID, $6 whether keys
-- are to be reverted, $7 whether dependents are created again, $8 whether foreign keys are
-- validated in the same transaction, $9 the OIDs of the schemas in the session's search_path, as an
-- array, $10 whether this is for a report, which also judges keys that a conversion passes over, and
-- dependents that are not created again, and $11 names columns beside the keys, as in 16400:2 with spaces
-- between them. Paste the files of a query into psql 16 or later,
-- followed by, for example,
--
-- \bind orders id - public 1 false false false {2200} false '' \g
--
-- They run with search_path = pg_catalog, pg_temp.
--
-- The planner does not know how many rows a part of a WITH clause has, and would read whole catalogs
-- once for all rows, or once for each. LATERAL (... OFFSET 0) lets it look up each row by an index, so
-- that the time for one table does not grow with the database, nor that for a schema with its square.
WITH RECURSIVE
-- a row: where a relation or a schema is given without a column, a column that takes values of a
-- sequence, and for a report, a primary key, and a column that takes snowflake IDs already, too.
key_columns AS (
    SELECT c.oid AS relation, a.attnum AS number, takes_sequence,
           takes_sequence OR takes_ids OR atttypid = 'bigint'::regtype AS is_likely
    FROM (
        SELECT * FROM pg_class WHERE oid = $1::regclass
        UNION ALL
        SELECT * FROM pg_class WHERE $3 IS NOT NULL AND relnamespace = $3::regnamespace
    ) AS c,
         LATERAL (
             SELECT attnum, attidentity, atttypid
             FROM pg_attribute
             WHERE attrelid = c.oid AND attnum > 0 AND NOT attisdropped AND attinhcount = 0
               AND atttypid IN ('smallint'::regtype, 'integer'::regtype, 'bigint'::regtype)
             OFFSET 0
         ) AS a
    LEFT JOIN LATERAL (
        SELECT pg_get_expr(adbin, adrelid) FROM pg_attrdef WHERE (adrelid, adnum) = (c.oid, attnum) OFFSET 0
    ) AS of (expression) ON true,
         LATERAL (
             SELECT attidentity <> '' OR coalesce(expression LIKE 'nextval(%', false),
                    coalesce(expression = format('%I.snowflake_nextval()', $4::text), false)
         ) AS takes (takes_sequence, takes_ids)
    WHERE $2::name IS NULL
      AND c.relkind IN ('r', 'p')
      AND (takes_sequence
           OR $10::boolean
              AND (takes_ids
                   OR EXISTS (
                       SELECT FROM pg_index
                       WHERE indrelid = c.oid AND indisprimary
                         AND (indnkeyatts = 1 AND indkey[0] = attnum
                              OR attnum = ANY (indkey) AND expression LIKE '%(%')
                   )))
      AND ($3 IS NULL
           OR NOT EXISTS (
               SELECT FROM pg_depend WHERE (classid, objid, deptype) = ('pg_class'::regclass, c.oid, 'e')
           ))
),

-- a row: a key that is asked for: the column that is given, or each of these.
named AS (
    SELECT attrelid AS relation, attnum AS number
    FROM pg_attribute
    WHERE attrelid = $1 AND attname = $2 AND attnum > 0 AND NOT attisdropped
    UNION ALL
    SELECT relation, number
    FROM (
        SELECT *, bool_or(is_likely) OVER () AS has_likely
        FROM key_columns
        -- A column with a foreign key takes the values of another, and has none of its own to give.
        WHERE NOT EXISTS (
                  SELECT FROM pg_constraint, unnest(conkey, confkey) AS pair (referencing, referenced)
                  WHERE conrelid = relation
                    AND contype = 'f'
                    AND referencing = number
                    AND (conrelid, referencing) <> (confrelid, referenced)
                  OFFSET 0
              )
    ) AS keys
    -- A primary key of type integer that takes no values of a sequence might be a number from outside.
    WHERE is_likely OR NOT has_likely
),

-- a row: a key, which is the root, in its own relation or in one that inherits it: a partition, or
-- a child.
family(relation, number, root, root_number) AS (
    SELECT *, * FROM named
    UNION
    SELECT child.attrelid, child.attnum, root, root_number
    FROM family
    JOIN pg_attribute AS parent ON (parent.attrelid, parent.attnum) = (family.relation, family.number)
    JOIN pg_inherits ON inhparent = family.relation
    JOIN pg_attribute AS child ON child.attrelid = inhrelid AND child.attname = parent.attname
),

-- a row: a column of the family, or another one that holds its values: one that is named for it, or those
-- of foreign keys that refer to it. The children and the parents of all these tables count too, and so on.
connected(relation, number) AS (
    SELECT relation, number FROM named
    UNION
    SELECT split_part(key, ':', 1)::oid, split_part(key, ':', 2)::int2
    FROM string_to_table($11::text, ' ') AS key
    -- What is compared with itself lets the planner expect one row of 200, and in the end one.
    WHERE key <> '' AND key = key || '' AND split_part(key, ':', 1) = split_part(key, ':', 1) || ''
    UNION
    SELECT next.*
    FROM connected,
         LATERAL (
             -- There is no index on confrelid, but a foreign key depends on what it refers to.
             SELECT conrelid, referencing
             FROM pg_depend,
                  LATERAL (SELECT * FROM pg_constraint WHERE oid = objid OFFSET 0) AS k,
                  unnest(conkey, confkey) AS pair (referencing, referenced)
             WHERE (classid, refclassid, refobjid, refobjsubid)
                   = ('pg_constraint'::regclass, 'pg_class'::regclass, connected.relation,
                      connected.number::integer)
               AND contype = 'f'
               AND confrelid = connected.relation
               AND referenced = connected.number
             UNION ALL
             SELECT parent.attrelid, parent.attnum
             FROM pg_attribute AS child
             JOIN pg_inherits ON inhrelid = child.attrelid AND child.attinhcount > 0
             JOIN pg_attribute AS parent ON parent.attrelid = inhparent AND parent.attname = child.attname
             WHERE child.attrelid = connected.relation AND child.attnum = connected.number
             UNION ALL
             SELECT child.attrelid, child.attnum
             FROM pg_attribute AS parent
             JOIN pg_inherits ON inhparent = parent.attrelid
             JOIN pg_attribute AS child ON child.attrelid = inhrelid AND child.attname = parent.attname
             WHERE parent.attrelid = connected.relation AND parent.attnum = connected.number
         ) AS next
),

-- a row: a connected column, with what the queries need to know of it, of its relation and of its
-- sequence.
columns AS (
    SELECT a.attrelid AS relation, a.attnum AS number,
           c.relkind AS kind, c.relpersistence = 't' AS is_temporary, c.relnamespace AS schema,
           c.relispartition AS is_partition, c.relowner AS owner, c.reloftype AS of_type,
           c.reltype AS row_type,
           format('%I.%I', n.nspname, c.relname) AS relation_name, format('%I', a.attname) AS column_name,
           a.attname AS name,
           a.atttypid AS type, format_type(a.atttypid, a.atttypmod) AS type_name,
           a.atttypid IN ('smallint'::regtype, 'integer'::regtype) AS is_integer,
           a.attidentity AS identity, a.attgenerated AS generated, a.attnotnull AS not_null,
           a.attinhcount > 0 AS inherited,
           pg_get_expr(d.adbin, d.adrelid) AS default_expression,
           coalesce(
               pg_get_expr(d.adbin, d.adrelid) = format('%I.snowflake_nextval()', $4), false) AS takes_ids,
           (a.attrelid, a.attnum)
               IN (SELECT relation, number FROM key_columns WHERE NOT takes_sequence) AS is_passed_over,
           (a.attrelid, a.attnum) IN (SELECT relation, number FROM family) AS in_family,
           (a.attrelid, a.attnum) IN (SELECT * FROM named) AS is_named,
           sequence.oid AS sequence,
           quote_ident(sequence_schema.nspname) || '.' || quote_ident(sequence.relname) AS sequence_name
    FROM connected,
         LATERAL (SELECT * FROM pg_class WHERE oid = relation OFFSET 0) AS c
    JOIN pg_namespace AS n ON n.oid = c.relnamespace,
         LATERAL (SELECT * FROM pg_attribute WHERE (attrelid, attnum) = (relation, number) OFFSET 0) AS a
    LEFT JOIN LATERAL (
        SELECT * FROM pg_attrdef WHERE (adrelid, adnum) = (a.attrelid, a.attnum) OFFSET 0
    ) AS d ON true
    -- The sequence that the identity or the default takes values of, else the one that the column
    -- owns.
    LEFT JOIN LATERAL (
        SELECT s.oid, s.relname, s.relnamespace
        FROM (
            SELECT objid, CASE deptype WHEN 'i' THEN 1 ELSE 3 END
            FROM pg_depend
            WHERE (refclassid, refobjid, refobjsubid, classid)
                = ('pg_class'::regclass, a.attrelid, a.attnum::integer, 'pg_class'::regclass)
              AND deptype IN ('a', 'i')
            UNION ALL
            SELECT refobjid, 2
            FROM pg_depend
            WHERE (classid, objid, refclassid) = ('pg_attrdef'::regclass, d.oid, 'pg_class'::regclass)
        ) AS p (sequence, rank),
             LATERAL (SELECT * FROM pg_class WHERE oid = p.sequence AND relkind = 'S' OFFSET 0) AS s
        ORDER BY p.rank, s.oid
        LIMIT 1
    ) AS sequence ON true
    LEFT JOIN pg_namespace AS sequence_schema ON sequence_schema.oid = sequence.relnamespace
),

-- a row: such a column, and another one that it refers to by a foreign key.
referring(relation, number, name, other) AS (
    SELECT relation, referencing, conname, confrelid
    FROM (SELECT DISTINCT relation FROM connected) AS c,
         LATERAL (SELECT * FROM pg_constraint WHERE conrelid = relation AND contype = 'f' OFFSET 0) AS k,
         unnest(conkey, confkey) AS pair (referencing, referenced)
    WHERE (conrelid, referencing) <> (confrelid, referenced)
),

-- a row: a key that is asked for, as one of the columns.
target AS (
    SELECT * FROM columns WHERE is_named
),

-- a row: the role whose rights all of it has, only one: that of the table, or of most keys of a
-- schema.
the_owner(role) AS (
    SELECT owner
    FROM named JOIN columns USING (relation, number)
    GROUP BY owner
    ORDER BY count(*) DESC, owner
    LIMIT 1
),

-- a row: a column that has to become bigint.
retyped AS (
    SELECT * FROM columns WHERE NOT $6::boolean AND is_integer
),

-- a row: a sequence that a column keeps, and that has to become bigint, so that setval() takes any
-- key: that of a key, or one that another column owns.
widened AS (
    SELECT DISTINCT sequence, sequence_name, is_temporary
    FROM columns,
         LATERAL (SELECT * FROM pg_sequence WHERE seqrelid = sequence OFFSET 0) AS s
    WHERE NOT $6
      AND identity = ''
      AND seqincrement > 0
      AND (seqtypid <> 'bigint'::regtype OR seqmax < 9223372036854775807)
      AND (in_family
           OR is_integer
              AND EXISTS (
                  SELECT FROM pg_depend
                  WHERE (classid, objid, deptype) = ('pg_class'::regclass, sequence, 'a')
                    AND (refobjid, refobjsubid) = (relation, number)
                  OFFSET 0
              ))
)
