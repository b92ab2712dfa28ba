-- Indexes on columns to be widened, and those that are to take their places. The query goes on from
-- key_indexes.sql and shadows.sql. $16 and $17 are expressions, as expressions.rs finds them.
,
-- a row: an expression with shadows in place of columns, and what it belongs to.
expressions(key, expression) AS (
    SELECT * FROM unnest($16::text::text[], $17::text::text[])
),

-- a row: an index on a column to be widened, with the name of the one that is to take its place, which is
-- made of its definition, and with this one as far as it is there.
wide_indexes AS (
    SELECT i.*, n.nspname, s.spcname, am.amname, k.conname, k.contype, other_name,
           format('%I.%I', n.nspname, other_name) AS other, o.oid AS other_oid, o.indisvalid AS is_valid
    FROM key_indexes AS i
    JOIN pg_class AS c ON c.oid = indexrelid
    JOIN pg_namespace AS n ON n.oid = c.relnamespace
    JOIN pg_am AS am ON am.oid = c.relam
    LEFT JOIN pg_tablespace AS s ON s.oid = c.reltablespace
    LEFT JOIN LATERAL (
        SELECT conname, contype FROM pg_constraint
        WHERE conindid = indexrelid AND conrelid = indrelid AND contype IN ('p', 'u', 'x')
        OFFSET 0
    ) AS k ON true,
         LATERAL (
             SELECT format(
                        'snowflake_widen_%s',
                        lpad(
                            to_hex(
                                hashtextextended(
                                    concat_ws(' ', pg_get_indexdef(indexrelid), spcname, contype), 0)),
                            16, '0'))::name
         ) AS names (other_name)
    LEFT JOIN LATERAL (
        SELECT p.oid, indisvalid
        FROM pg_class AS p
        JOIN pg_index ON indexrelid = p.oid AND indrelid = i.indrelid
        WHERE relname = other_name AND relnamespace = n.oid
        OFFSET 0
    ) AS o ON true
),

-- a row: a column of such an index, as the definition of the other one has it. An operator class that is the
-- default for its type is left out where this type might change.
index_columns(indexrelid, place, is_key, text) AS (
    SELECT i.indexrelid, place, place <= indnkeyatts,
           concat(
               CASE of_index.number
                   WHEN 0
                       THEN (
                           SELECT format('(%s)', expression) FROM expressions
                           WHERE key = format(
                                     'index:%s:%s', indexrelid,
                                     (
                                         SELECT count(*)
                                         FROM unnest(indkey::int2[]) WITH ORDINALITY AS term (number, at)
                                         WHERE term.number = 0 AND at <= place
                                     ))
                       )
                   ELSE (
                       SELECT quote_ident(attname) FROM pg_attribute
                       WHERE attrelid = indrelid AND attnum = coalesce(s.shadow, of_index.number)
                   )
               END,
               ' COLLATE ' || (
                   SELECT format('%I.%I', nspname, collname)
                   FROM pg_collation JOIN pg_namespace AS n ON n.oid = collnamespace
                   WHERE pg_collation.oid = collated
               ),
               ' ' || class_name, '(' || options || ')',
               CASE
                   WHEN amname = 'btree' AND place <= indnkeyatts
                       THEN CASE WHEN option & 1 = 1 THEN ' DESC' ELSE ' ASC' END
                            || CASE WHEN option & 2 = 2 THEN ' NULLS FIRST' ELSE ' NULLS LAST' END
               END)
    FROM wide_indexes AS i
    CROSS JOIN LATERAL unnest(indkey::int2[], indclass::oid[], indcollation::oid[], indoption::int2[])
        WITH ORDINALITY AS of_index (number, class, collated, option, place)
    LEFT JOIN shadows AS s ON (s.relation, s.number) = (i.indrelid, of_index.number)
    -- Without what newer minor releases keep there, as in shadows.sql.
    CROSS JOIN LATERAL (
        SELECT string_agg(
                   format('%I=%L', split_part(o, '=', 1), substr(o, strpos(o, '=') + 1)), ', ')
        FROM pg_attribute, unnest(attoptions) AS o
        WHERE (attrelid, attnum) = (i.indexrelid, place) AND o NOT LIKE 'pg\_%'
    ) AS of_column (options)
    LEFT JOIN pg_opclass AS o ON o.oid = class
    LEFT JOIN LATERAL (
        SELECT format('%I.%I', nspname, given.opcname)
        FROM pg_opclass AS given
        JOIN pg_namespace AS n ON n.oid = given.opcnamespace
        WHERE CASE
                  WHEN o.opcdefault AND of_index.number = 0 AND options IS NULL THEN false
                  WHEN o.opcdefault AND s.relation IS NOT NULL
                      THEN options IS NOT NULL
                           AND given.opcmethod = o.opcmethod
                           AND given.opcdefault
                           AND given.opcintype = 'bigint'::regtype
                  ELSE given.oid = o.oid
              END
        LIMIT 1
    ) AS named (class_name) ON true
),

-- a row: such an index, with the statement that creates the other one.
index_creations(indexrelid, statement) AS (
    SELECT indexrelid,
           format(
               'CREATE %sINDEX CONCURRENTLY %I ON %s USING %I (%s)%s%s%s%s%s;',
               CASE WHEN indisunique THEN 'UNIQUE ' END, other_name, relation_name, amname, keys,
               ' INCLUDE (' || others || ')',
               CASE WHEN indnullsnotdistinct THEN ' NULLS NOT DISTINCT' END,
               ' WITH (' || (
                   SELECT string_agg(
                              format('%I=%L', split_part(o, '=', 1), substr(o, strpos(o, '=') + 1)), ', ')
                   FROM unnest(reloptions) AS o
               ) || ')',
               ' TABLESPACE ' || quote_ident(spcname),
               ' WHERE ' || (
                   SELECT expression FROM expressions WHERE key = format('predicate:%s', indexrelid)
               ))
    FROM wide_indexes
    JOIN (
        SELECT indexrelid, string_agg(text, ', ' ORDER BY place) FILTER (WHERE is_key),
               string_agg(text, ', ' ORDER BY place) FILTER (WHERE NOT is_key)
        FROM index_columns
        GROUP BY 1
    ) AS c (indexrelid, keys, others) USING (indexrelid)
)
