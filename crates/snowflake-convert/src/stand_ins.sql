-- What stands in for relations where texts are parsed as if keys were bigint already. The query defines
-- stood_in_for(relation).
,
-- a row: such a relation, and the columns of a query that stands in for it, with the new types and with
-- those that there are.
stand_ins(relation, name, schema, owner, bigints, integers) AS (
    SELECT c.oid, c.relname, n.nspname, c.relowner, bigints, integers
    FROM (SELECT DISTINCT relation FROM stood_in_for) AS s,
         LATERAL (SELECT * FROM pg_class WHERE oid = s.relation OFFSET 0) AS c
    JOIN pg_namespace AS n ON n.oid = c.relnamespace,
         LATERAL (
             SELECT string_agg(
                        format(
                            'NULL::%s AS %I',
                            CASE
                                WHEN (attrelid, attnum) IN (SELECT relation, number FROM retyped)
                                    THEN 'bigint'
                                ELSE format_type(atttypid, atttypmod)
                            END,
                            attname),
                        ', '),
                    string_agg(format('NULL::%s AS %I', format_type(atttypid, atttypmod), attname), ', ')
             FROM pg_attribute
             WHERE attrelid = c.oid AND NOT attisdropped
         ) AS columns_of (bigints, integers)
)
