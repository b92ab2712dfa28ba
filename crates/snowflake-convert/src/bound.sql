-- What the rule in trust.sql is asked of. The query begins with keys.sql, depending.sql and
-- objects.sql.
--
-- Four sets follow from each other. What PostgreSQL says depends on a column might be a part of
-- something (depending). What cannot be created again is refused for a column by its name, so it is
-- looked for as wholes, with all that depends on these (dependents). What can be is dropped once,
-- whichever columns it depends on (objects). Its owner has to own the tables, too (bound).
,
-- a row: an object that a conversion or a reversion changes: all of them belong to one role.
bound(class, object, owner, schema) AS (
    SELECT 'pg_class'::regclass, c.oid, relowner, relnamespace
    FROM (
        SELECT relation FROM columns WHERE in_family
        UNION SELECT sequence FROM columns WHERE in_family
        UNION SELECT sequence FROM widened
        UNION SELECT relation FROM retyped
        -- A foreign key is checked in all partitions of both tables.
        UNION SELECT conrelid FROM foreign_keys
        UNION SELECT confrelid FROM foreign_keys
        UNION SELECT relid FROM foreign_keys, pg_partition_tree(conrelid)
        UNION SELECT relid FROM foreign_keys, pg_partition_tree(confrelid)
    ) AS changed (oid),
         LATERAL (SELECT * FROM pg_class WHERE oid = changed.oid OFFSET 0) AS c
    UNION ALL
    SELECT class, object, owner, schema FROM objects WHERE $7 OR $10::boolean
)
