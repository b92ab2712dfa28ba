-- What refers to columns by foreign keys, directly, and what these refer to. $1 and $2 are the columns:
-- their relations and numbers. A row that has a number is a column that refers to the one in place
-- `place`; a row without is a relation that this one refers to, whose foreign key PostgreSQL creates
-- again if the column gets another type.
-- Every step looks rows up by an index, so the time grows with what is asked for.
WITH RECURSIVE
-- The columns, and those that inherit them.
heirs(place, relation, name) AS (
    SELECT place, attrelid, attname
    FROM unnest($1, $2) WITH ORDINALITY AS asked (relation, number, place)
    JOIN pg_attribute ON (attrelid, attnum) = (relation, number)
    UNION
    SELECT place, inhrelid, name FROM heirs JOIN pg_inherits ON inhparent = relation
),
columns AS (
    SELECT place, relation, attnum AS number
    FROM heirs JOIN pg_attribute ON (attrelid, attname) = (relation, name)
),
-- The columns that refer to them, and those that they are inherited from.
referring(place, relation, name) AS (
    SELECT place, conrelid, attname
    FROM columns
    -- There is no index on confrelid, but a foreign key depends on what it refers to.
    JOIN pg_depend ON (classid, refclassid, refobjid, refobjsubid)
        = ('pg_constraint'::regclass, 'pg_class'::regclass, columns.relation, columns.number)
    JOIN pg_constraint AS k ON k.oid = objid AND contype = 'f' AND confrelid = columns.relation
    CROSS JOIN unnest(conkey, confkey) AS pair (own, other)
    JOIN pg_attribute ON (attrelid, attnum) = (conrelid, own)
    WHERE other = columns.number
    UNION
    SELECT place, inhparent, name
    FROM referring
    JOIN pg_inherits ON inhrelid = relation
    JOIN pg_attribute ON (attrelid, attname) = (inhparent, name)
)
SELECT place, attrelid, attnum
FROM referring JOIN pg_attribute ON (attrelid, attname) = (relation, name)
WHERE attinhcount = 0
UNION ALL
SELECT place, confrelid, NULL
FROM columns JOIN pg_constraint ON conrelid = relation AND contype = 'f' AND number = ANY (conkey)
