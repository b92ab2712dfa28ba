-- What widening evaluates or parses again. The query goes on from bound.sql.
,
-- a row: an object with expressions that are evaluated, or what the backfill fires.
executed(class, object) AS (
    SELECT class, object FROM bound
    UNION
    SELECT 'pg_trigger'::regclass, t.oid
    FROM retyped
    JOIN pg_trigger AS t ON tgrelid = relation AND NOT tgisinternal
    UNION
    SELECT 'pg_rewrite'::regclass, r.oid
    FROM retyped
    JOIN pg_rewrite AS r ON ev_class = relation
)
