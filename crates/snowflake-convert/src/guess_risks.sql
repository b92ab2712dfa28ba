-- What is to be done about columns that might hold keys. The query goes on from guesses.sql.
,
-- a row: a type of such columns, or one that it consists of: of these, domains have to be replaced.
guessed_domains(type) AS (
    SELECT type FROM guesses
    UNION
    SELECT part
    FROM guessed_domains
    JOIN pg_type ON oid = type,
         unnest(ARRAY[typbasetype, typelem]) AS part
    WHERE type >= 16384 AND part <> 0
),

-- a row: a guessed attribute, and its composite type or one that consists of this.
composed(relation, number, type) AS (
    SELECT relation, number, (SELECT reltype FROM pg_class WHERE oid = relation) FROM guesses WHERE kind = 'c'
    UNION
    SELECT relation, number, built.type
    FROM composed,
         LATERAL (
             SELECT CASE classid
                        WHEN 'pg_type'::regclass THEN objid
                        ELSE (SELECT reltype FROM pg_class WHERE oid = objid AND relkind IN ('c', 'v', 'f'))
                    END
             FROM pg_depend
             WHERE (refclassid, refobjid) = ('pg_type'::regclass, composed.type)
               AND (classid = 'pg_type'::regclass OR classid = 'pg_class'::regclass AND objsubid > 0)
             OFFSET 0
         ) AS built (type)
    WHERE built.type <> 0
),

-- a row: a guessed column or attribute, with all for which PostgreSQL refuses to change it.
users(relation, number, used_by) AS (
    SELECT relation, number, string_agg(DISTINCT description, ', ' ORDER BY description)
    FROM (
        SELECT relation, number, pg_describe_object('pg_class'::regclass, attrelid, attnum)
        FROM composed
        JOIN pg_attribute ON atttypid = type AND NOT attisdropped
        UNION ALL
        SELECT g.relation, g.number, pg_describe_object('pg_class'::regclass, adrelid, adnum)
        FROM guesses AS g,
             LATERAL (
                 SELECT d.*
                 FROM pg_depend,
                      LATERAL (SELECT * FROM pg_attrdef WHERE oid = objid OFFSET 0) AS d
                 WHERE (refclassid, refobjid, refobjsubid, classid)
                       = ('pg_class'::regclass, g.relation, g.number::integer, 'pg_attrdef'::regclass)
                   AND (adrelid, adnum) <> (g.relation, g.number)
                 OFFSET 0
             ) AS d
        UNION ALL
        SELECT g.relation, g.number, pg_describe_object('pg_class'::regclass, indexrelid, 0)
        FROM guesses AS g,
             LATERAL (SELECT * FROM pg_index WHERE indrelid = g.relation OFFSET 0) AS i,
             LATERAL unnest(indkey::int2[], indclass::oid[]) AS part (number, class)
        JOIN narrow_classes USING (class)
        WHERE part.number = g.number
        UNION ALL
        SELECT g.relation, g.number,
               CASE
                   WHEN ev_class IS NULL THEN pg_describe_object(classid, objid, 0)
                   ELSE pg_describe_object('pg_class'::regclass, ev_class, 0)
               END
        FROM guesses AS g,
             LATERAL (
                 SELECT classid, objid
                 FROM pg_depend
                 WHERE (refclassid, refobjid, refobjsubid)
                       = ('pg_class'::regclass, g.relation, g.number::integer)
                   AND classid IN (
                       'pg_rewrite'::regclass, 'pg_policy'::regclass, 'pg_trigger'::regclass,
                       'pg_proc'::regclass, 'pg_publication_rel'::regclass)
                 OFFSET 0
             ) AS p
        -- A view is named, and not the rule in it.
        LEFT JOIN pg_rewrite AS r
            ON classid = 'pg_rewrite'::regclass AND r.oid = objid AND rulename = '_RETURN'
    ) AS users (relation, number, description)
    GROUP BY relation, number
),

-- a row: a risk and its remedy, in this order.
guess_risks(rank, object, reason, remedy) AS (
    -- A domain comes after the one that it is over.
    SELECT 3 + i.height / 1000.0, format('%I.%I', nspname, typname),
           'Columns that might hold keys are of this domain, whose type cannot be changed. This is a guess.',
           concat_ws(
               ' ', format('CREATE DOMAIN %s AS %s', i.new_type, base.new_type), 'DEFAULT ' || typdefault,
               CASE WHEN typnotnull THEN 'NOT NULL' END,
               (
                   SELECT string_agg(
                              format('CONSTRAINT %I %s', conname, pg_get_constraintdef(oid)), ' '
                              ORDER BY conname)
                   FROM pg_constraint
                   WHERE contypid = t.oid AND contype = 'c'
               ))
           || ';'
    FROM guessed_domains
    JOIN integer_types AS i USING (type)
    JOIN domains AS d USING (type)
    JOIN integer_types AS base ON base.type = d.base,
         LATERAL (SELECT * FROM pg_type WHERE oid = d.type OFFSET 0) AS t
    JOIN pg_namespace AS n ON n.oid = typnamespace
    UNION ALL
    SELECT 4, full_name,
           CASE
               WHEN beside IS NOT NULL
                   THEN format(
                       'It has type %s. Together with %s, it might hold keys of any table. This is a guess.',
                       type::regtype, beside)
               WHEN refers_to IS NULL
                   THEN format(
                       'It has type %s, and its name suggests that it holds keys. This is a guess.',
                       type::regtype)
               ELSE format(
                   'It has type %s, and its name suggests that it holds keys of %s without a '
                   'foreign key. This is a guess.',
                   type::regtype, refers_to)
           END
           || CASE
                  WHEN kind <> 'c' AND used_by <> ''
                      THEN format(
                          ' What uses it has to be dropped before, and created again afterwards: %s.',
                          used_by)
                  ELSE ''
              END,
           CASE
               WHEN EXISTS (
                        SELECT
                        FROM pg_depend
                        WHERE (classid, objid, objsubid, refclassid, refobjid, refobjsubid, deptype) = (
                            'pg_class'::regclass, relation, number::integer, 'pg_class'::regclass, relation,
                            0, 'i')
                    )
                   THEN format(
                       'Create another table that is partitioned by a column of type %s, and move the rows.',
                       new_type)
               WHEN kind <> 'c'
                   THEN format('ALTER TABLE %s ALTER COLUMN %I TYPE %s;', relation_name, name, new_type)
               WHEN used_by IS NULL
                   THEN format(
                       'ALTER TYPE %s ALTER ATTRIBUTE %I TYPE %s%s;',
                       relation_name, name, new_type,
                       CASE
                           WHEN EXISTS (
                                    SELECT
                                    FROM pg_class AS typed
                                    JOIN pg_class AS c ON c.oid = relation
                                    WHERE typed.reloftype = c.reltype
                                )
                               THEN ' CASCADE'
                       END)
               ELSE format('Create another type with %s, and change to it: %s.', new_type, used_by)
           END
    FROM guesses
    LEFT JOIN users USING (relation, number)
    UNION ALL
    SELECT 5, format('%I.%I.%I', nspname, relname, attname),
           format(
               'It takes values of a sequence, and is not converted, since its type is %s.',
               atttypid::regtype),
           'Change its type to bigint, and convert it too.'
    FROM (
        SELECT * FROM pg_class WHERE oid = $1::regclass
        UNION ALL
        SELECT * FROM pg_class WHERE $3 IS NOT NULL AND relnamespace = $3::regnamespace
    ) AS c
    JOIN pg_namespace AS n ON n.oid = relnamespace,
         LATERAL (
             SELECT attrelid, attnum, attname, atttypid
             FROM pg_attribute
             WHERE attrelid = c.oid AND attnum > 0 AND atthasdef AND attinhcount = 0
             OFFSET 0
         ) AS a
    WHERE relkind IN ('r', 'p')
      AND $2 IS NULL
      AND atttypid IN (SELECT type FROM domains)
      AND (
          SELECT pg_get_expr(adbin, adrelid) LIKE '%nextval(%'
          FROM pg_attrdef
          WHERE (adrelid, adnum) = (attrelid, attnum)
      )
    UNION ALL
    SELECT 19, coalesce($1::text, $3::text),
           format(
               'These columns have no foreign key, and their names do not tell what they hold: %s.',
               string_agg(full_name, ', ' ORDER BY full_name)),
           'Change to bigint those that hold converted keys.'
    FROM integer_columns AS i,
         LATERAL format('%s.%I.%I', schema::regnamespace, relname, name) AS full_name
    WHERE is_id
      AND kind <> 'c'
      AND schema IN (SELECT schema FROM keyed)
      AND NOT EXISTS (
          SELECT FROM guesses AS g WHERE (g.relation, g.number) = (i.relation, i.number)
      )
    HAVING count(*) > 0
)
