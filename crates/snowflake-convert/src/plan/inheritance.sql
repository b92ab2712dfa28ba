-- Which retyped columns inherit which. The query goes on from obstacles.sql.
,
-- a row: a retyped column, and one that inherits it.
inheriting(relation, number, child, child_number) AS (
    SELECT relation, number, attrelid, attnum
    FROM retyped,
         LATERAL (
             SELECT attrelid, attnum
             FROM pg_inherits
             JOIN pg_attribute ON (attrelid, attname) = (inhrelid, name)
             WHERE inhparent = relation
             OFFSET 0
         ) AS of_child
),

-- a row: a retyped column that is not inherited, or one that inherits it, with the relation of the
-- first: one statement changes all of a tree.
trees(root, relation, number) AS (
    SELECT relation, relation, number FROM retyped WHERE NOT inherited
    UNION
    SELECT root, child, child_number FROM trees JOIN inheriting USING (relation, number)
)
