-- The relations that a conversion of the column $2 of the table $1 reads, with their names. They are
-- locked before any other query is executed, so this query reads only the catalog.
--
-- It runs with search_path = pg_catalog, pg_temp.
WITH RECURSIVE
-- a row: a foreign key's column, and the one that it refers to.
referring(relation, number, other, other_number) AS (
    SELECT conrelid, referencing, confrelid, referenced
    FROM pg_constraint, unnest(conkey, confkey) AS pair (referencing, referenced)
    WHERE contype = 'f'
),

-- a row: the column, or one that is connected with it by foreign keys that refer to it, or by
-- inheritance.
connected(relation, number) AS (
    SELECT attrelid, attnum FROM pg_attribute WHERE attrelid = $1 AND attname = $2
    UNION
    SELECT next.*
    FROM connected AS c,
         LATERAL (
             SELECT r.relation, r.number
             FROM referring AS r
             WHERE (r.other, r.other_number) = (c.relation, c.number)
             UNION ALL
             SELECT other.attrelid, other.attnum
             FROM pg_attribute AS a
             JOIN (
                 SELECT inhparent, inhrelid FROM pg_inherits
                 UNION ALL SELECT inhrelid, inhparent FROM pg_inherits
             ) AS related (relation, other) ON related.relation = a.attrelid
             JOIN pg_attribute AS other ON (other.attrelid, other.attname) = (related.other, a.attname)
             WHERE (a.attrelid, a.attnum) = (c.relation, c.number)
         ) AS next
),

-- a row: a table of these columns, a table that a foreign key of these columns refers to, or a view
-- that reads such a table or view.
concerned(relation) AS (
    SELECT relation FROM connected
    UNION
    SELECT r.other
    FROM connected AS c
    JOIN referring AS r ON (r.relation, r.number) = (c.relation, c.number)
    UNION
    SELECT r.ev_class
    FROM concerned AS c
    JOIN pg_depend AS d
        ON (d.classid, d.refclassid, d.refobjid) = ('pg_rewrite'::regclass, 'pg_class'::regclass, c.relation)
    JOIN pg_rewrite AS r ON r.oid = d.objid
)

SELECT c.oid, format('%I.%I', n.nspname, c.relname)
FROM (
    SELECT relation FROM concerned
    UNION
    SELECT d.refobjid
    FROM concerned
    JOIN pg_rewrite AS r ON r.ev_class = relation
    JOIN pg_depend AS d
        ON (d.classid, d.objid, d.refclassid) = ('pg_rewrite'::regclass, r.oid, 'pg_class'::regclass)
) AS read (relation)
JOIN pg_class AS c ON c.oid = read.relation AND c.relkind IN ('r', 'p', 'v', 'm', 'f')
JOIN pg_namespace AS n ON n.oid = c.relnamespace
ORDER BY c.oid
