-- What a conversion evaluates or parses again. The query goes on from bound.sql.
,
-- a row: an object with expressions that are evaluated or parsed again. Of what refers to a bigint
-- key, nothing is changed, but its checks are tried with the next ID.
executed(class, object) AS (
    SELECT class, object FROM bound
    UNION
    SELECT 'pg_class'::regclass, relation FROM columns JOIN the_owner ON role = owner WHERE NOT $6
)
