-- Columns that take values of a sequence, and how far these can go. $1 are the relations, as an array of
-- OIDs, or NULL for all of the database.
WITH RECURSIVE
-- a row: a table that is looked at. Nobody else can read the sequences of temporary ones.
tables(relation) AS (
    SELECT unnest($1::oid[])
    UNION ALL
    SELECT oid FROM pg_class WHERE $1 IS NULL AND relkind IN ('r', 'p') AND relpersistence <> 't'
),

-- a row: a column, and a sequence that its identity or its default takes values of, or that it owns while
-- no default says where its values come from.
takes(relation, number, sequence) AS (
    SELECT relation, adnum, refobjid
    FROM tables,
         LATERAL (SELECT oid, adnum FROM pg_attrdef WHERE adrelid = relation OFFSET 0) AS d,
         LATERAL (
             SELECT refobjid
             FROM pg_depend
             WHERE (classid, objid, refclassid) = ('pg_attrdef'::regclass, d.oid, 'pg_class'::regclass)
               AND refobjid <> relation
             OFFSET 0
         ) AS p
    UNION
    SELECT relation, refobjsubid, objid
    FROM tables,
         LATERAL (
             SELECT refobjsubid, objid, deptype
             FROM pg_depend
             WHERE (refclassid, refobjid, classid) = ('pg_class'::regclass, relation, 'pg_class'::regclass)
               AND refobjsubid > 0
               AND deptype IN ('a', 'i')
             OFFSET 0
         ) AS p
    WHERE deptype = 'i'
       OR NOT EXISTS (
           SELECT
           FROM pg_attrdef
           WHERE (adrelid, adnum) = (relation, refobjsubid)
             AND strpos(adbin::text, format(':funcid %s ', 'nextval(regclass)'::regprocedure::oid)) = 0
           OFFSET 0
       )
),

-- a row: a column of a partition or a child that has such a column from its parent, with the sequence of
-- that.
inherited(relation, number, sequence) AS (
    SELECT inhrelid, child.attnum::integer, sequence
    FROM takes,
         LATERAL (SELECT inhrelid FROM pg_inherits WHERE inhparent = relation OFFSET 0) AS i,
         LATERAL (
             SELECT attname FROM pg_attribute WHERE (attrelid, attnum) = (relation, number) OFFSET 0
         ) AS parent,
         LATERAL (
             SELECT attnum
             FROM pg_attribute
             WHERE attrelid = inhrelid AND attname = parent.attname AND attinhcount > 0
             OFFSET 0
         ) AS child
),

-- a row: a type of integers, or a domain over one, with the smallest and the largest of its values.
limits(type, low, high) AS (
    VALUES ('smallint'::regtype::oid, -32768::bigint, 32767::bigint),
           ('integer'::regtype, -2147483648, 2147483647),
           ('bigint'::regtype, -9223372036854775808, 9223372036854775807)
    UNION
    SELECT t.oid, low, high FROM limits JOIN pg_type AS t ON typbasetype = type AND typtype = 'd'
),

-- a row: a column, and another one that takes its values by foreign keys, directly or not.
feeds(relation, number, fed, fed_number) AS (
    SELECT relation, number, relation, number FROM takes
    UNION
    SELECT relation, number, conrelid, referencing::integer
    FROM feeds,
         -- There is no index on confrelid, but a foreign key depends on what it refers to.
         LATERAL (
             SELECT objid
             FROM pg_depend
             WHERE (classid, refclassid, refobjid, refobjsubid)
                   = ('pg_constraint'::regclass, 'pg_class'::regclass, fed, fed_number)
             OFFSET 0
         ) AS p,
         LATERAL (
             SELECT conrelid, conkey, confkey
             FROM pg_constraint
             WHERE oid = objid AND contype = 'f' AND confrelid = fed AND conparentid = 0
             OFFSET 0
         ) AS k,
         unnest(conkey, confkey) AS pair (referencing, referenced)
    WHERE referenced = fed_number
),

-- a row: a column, and the narrowest of those that take its values.
narrowest AS (
    SELECT DISTINCT ON (relation, number) relation, number, low, high,
           format('%I.%I.%I', nspname, relname, attname) AS name
    FROM feeds,
         LATERAL (
             SELECT attname, atttypid FROM pg_attribute WHERE (attrelid, attnum) = (fed, fed_number) OFFSET 0
         ) AS a
    JOIN limits ON type = atttypid,
         LATERAL (SELECT relname, relnamespace FROM pg_class WHERE oid = fed OFFSET 0) AS c
    JOIN pg_namespace AS n ON n.oid = relnamespace
    WHERE (fed, fed_number) <> (relation, number)
    ORDER BY relation, number, high, name
)

SELECT n.nspname, c.relname, attname, format_type(atttypid, atttypmod), sequence,
       format('%I.%I', of_sequence.nspname, s.relname),
       CASE WHEN seqincrement > 0 THEN seqmin ELSE seqmax END,
       CASE WHEN seqincrement > 0 THEN seqmax ELSE seqmin END,
       CASE WHEN seqincrement > 0 THEN l.high ELSE l.low END,
       narrowest.name,
       CASE WHEN seqincrement > 0 THEN narrowest.high ELSE narrowest.low END
FROM takes
CROSS JOIN LATERAL (SELECT * FROM pg_sequence WHERE seqrelid = sequence OFFSET 0) AS q
CROSS JOIN LATERAL (SELECT * FROM pg_attribute WHERE (attrelid, attnum) = (relation, number) OFFSET 0) AS a
CROSS JOIN LATERAL (SELECT * FROM pg_class WHERE oid = relation OFFSET 0) AS c
CROSS JOIN LATERAL (SELECT * FROM pg_class WHERE oid = sequence OFFSET 0) AS s
JOIN pg_namespace AS n ON n.oid = c.relnamespace
JOIN pg_namespace AS of_sequence ON of_sequence.oid = s.relnamespace
LEFT JOIN limits AS l ON l.type = atttypid
LEFT JOIN narrowest USING (relation, number)
-- Partitions and children that take values of the same sequence are one key with their parent.
WHERE (relation, number, sequence) NOT IN (SELECT * FROM inherited)
ORDER BY 1, 2, 3, 6
