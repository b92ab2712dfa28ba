-- The indexes on columns to be widened. The query goes on from rebuilt.sql.
,
-- a row: such an index, by a column of it or by its expressions.
key_indexes AS (
    SELECT i.*
    FROM indexes AS i
    WHERE EXISTS (
        SELECT FROM retyped AS r
        WHERE r.relation = i.indrelid
          AND (r.number = ANY (i.indkey)
               OR EXISTS (
                   SELECT FROM pg_depend
                   WHERE (classid, objid, refclassid, refobjid, refobjsubid)
                       = ('pg_class'::regclass, i.indexrelid, 'pg_class'::regclass, r.relation,
                          r.number::integer)
               ))
    )
)
