-- What stands in the way of a conversion and of a reversion alike. The query begins with keys.sql,
-- depending.sql, objects.sql, bound.sql and trust.sql.
,
-- a row: a retyped column, and what depends on it and cannot be created again, or might not have to
-- be.
in_the_way(relation, number, description, can_be_created) AS (
    SELECT d.relation, d.number,
           CASE
               WHEN adrelid IS NOT NULL THEN pg_describe_object('pg_class'::regclass, adrelid, adnum)
               WHEN partrelid IS NOT NULL
                   THEN 'the partition key of ' || pg_describe_object(d.class, d.object, 0)
               WHEN contypid > 0
                   THEN format(
                       '%s of %s', pg_describe_object(d.class, d.object, 0),
                       pg_describe_object('pg_type'::regclass, contypid, 0))
               ELSE pg_describe_object(d.class, d.object, 0)
           END,
           (d.class, d.object) IN (SELECT class, object FROM wholes)
    FROM dependents AS d
    LEFT JOIN pg_attrdef ON d.class = 'pg_attrdef'::regclass AND pg_attrdef.oid = d.object
    LEFT JOIN pg_partitioned_table ON d.class = 'pg_class'::regclass AND partrelid = d.object
    LEFT JOIN pg_constraint AS k ON d.class = 'pg_constraint'::regclass AND k.oid = d.object
    UNION
    SELECT r.relation, r.number, pg_describe_object('pg_class'::regclass, objid, objsubid), false
    FROM retyped AS r
    JOIN row_types USING (relation),
         LATERAL (
             SELECT objid, objsubid
             FROM pg_depend
             JOIN pg_class AS c ON c.oid = objid AND relkind IN ('r', 'p', 'f')
             WHERE (refclassid, refobjid, classid)
                   = ('pg_type'::regclass, row_types.type, 'pg_class'::regclass)
               AND objsubid > 0
             OFFSET 0
         ) AS of_type
    UNION
    SELECT relation, number, 'the partition key of ' || relation_name, false
    FROM retyped
    -- The columns of the key depend on their own table, those in expressions included.
    JOIN pg_depend
        ON (classid, objid, objsubid, refclassid, refobjid, refobjsubid, deptype)
            = ('pg_class'::regclass, relation, number::integer, 'pg_class'::regclass, relation, 0, 'i')
    WHERE kind = 'p'
),

-- a row: a retyped column, with the names of all that stand in its way: what is to be created again
-- does not.
dependents_of(relation, number, all_of_them, can_be_created) AS (
    SELECT relation, number, string_agg(DISTINCT description, ', ' ORDER BY description),
           bool_and(can_be_created)
    FROM in_the_way
    WHERE NOT ($7::boolean AND can_be_created)
    GROUP BY 1, 2
),

-- a row: a reason why keys can be neither converted nor reverted. Of all obstacles, the first by
-- rank counts.
common_obstacles(rank, sqlstate, object, message, detail, hint) AS (
    SELECT 1, '42809', $1::text, format('%s is not a table', $1), NULL, NULL
    FROM pg_class
    WHERE oid = $1 AND relkind NOT IN ('r', 'p')
    UNION ALL
    SELECT 2, '42501', min(relation_name), format('must be owner of table %s', min(relation_name)), NULL,
           format(
               'Execute this as a role with the privileges of %s.',
               string_agg(DISTINCT quote_ident(pg_get_userbyid(owner)), ' and '))
    FROM (
        SELECT relation_name, owner FROM target JOIN the_owner ON role = owner
        UNION
        SELECT $1::text, relowner
        FROM pg_class
        WHERE oid = $1 AND relkind IN ('r', 'p') AND NOT EXISTS (SELECT FROM target)
    ) AS named
    WHERE NOT pg_has_role(owner, 'USAGE')
    HAVING count(*) > 0
    UNION ALL
    SELECT * FROM trust_obstacles
    UNION ALL
    -- What initdb created has the OIDs below this one.
    SELECT 2, '42501', $1::text, format('permission denied: "%s" is a system catalog', $1), NULL, NULL
    FROM pg_class
    WHERE oid = $1 AND oid < 16384
    UNION ALL
    SELECT 3, '42703', $1::text, format('column %I of table %s does not exist', $2, $1), NULL, NULL
    WHERE $1 IS NOT NULL AND $2 IS NOT NULL AND NOT EXISTS (SELECT FROM named)
    UNION ALL
    SELECT 3, '42704', coalesce($1::text, $3::text),
           format('%s has no keys that take values of a sequence', coalesce('table ' || $1, 'schema ' || $3)),
           NULL,
           CASE
               WHEN $1 IS NULL THEN 'Name a table and a column to convert.'
               ELSE 'Name a column to convert, or the table that its foreign keys refer to.'
           END
    WHERE $2 IS NULL AND NOT EXISTS (SELECT FROM target)
    UNION ALL
    SELECT 4, '42P16', relation_name,
           format('column %s of table %s is inherited', column_name, relation_name),
           format('The table has it from %s.', string_agg(inhparent::regclass::text, ', ')),
           'Name that table instead.'
    FROM target
    JOIN pg_inherits ON inhrelid = relation
    WHERE inherited
    GROUP BY column_name, relation_name
    UNION ALL
    SELECT 21, '42501', relation_name,
           format(
               'owner %I of table %s lacks USAGE on schema %s',
               pg_get_userbyid(owner), relation_name, schema::regnamespace),
           'The statements run as the owner of the table.', NULL
    FROM (SELECT * FROM target UNION SELECT * FROM retyped) AS changed
    WHERE NOT has_schema_privilege(owner, schema, 'USAGE')
    UNION ALL
    SELECT 21, '42501', relation_name,
           format(
               'owner %I of table %s is subject to its row-level security',
               pg_get_userbyid(owner), relation_name),
           'The values of the column are read as the owner of the table, who cannot see all of them.',
           format('First run ALTER TABLE %s NO FORCE ROW LEVEL SECURITY.', relation_name)
    FROM target
    JOIN pg_roles ON pg_roles.oid = owner AND NOT rolsuper AND NOT rolbypassrls,
         LATERAL (
             SELECT FROM pg_class WHERE oid = relation AND relrowsecurity AND relforcerowsecurity OFFSET 0
         ) AS forced
    UNION ALL
    SELECT 21, '42501', relation_name,
           format(
               'owner %I of table %s lacks SELECT on column %s',
               pg_get_userbyid(owner), relation_name, column_name),
           'The values of the column are read as the owner of the table.',
           format('First run GRANT SELECT ON %s TO %I.', relation_name, pg_get_userbyid(owner))
    FROM target
    WHERE NOT has_column_privilege(owner, relation, number, 'SELECT')
    UNION ALL
    SELECT 22, '42501', relation_name,
           format(
               'owner %I of table %s lacks REFERENCES on table %s',
               pg_get_userbyid(owner), conrelid::regclass, confrelid::regclass),
           format('The statements run as the owner of the table, and create foreign key %I again.', conname),
           NULL
    FROM foreign_keys
    WHERE NOT has_table_privilege(owner, confrelid, 'REFERENCES')
      AND NOT (
          SELECT bool_and(has_column_privilege(owner, confrelid, number, 'REFERENCES'))
          FROM unnest(confkey) AS number
      )
    UNION ALL
    SELECT 23, '42501', relation_name,
           format(
               'owner %I of table %s lacks CREATE on schema %s',
               pg_get_userbyid(owner), relation_name, schema::regnamespace),
           'The statements run as the owner of the table, and create a sequence.', NULL
    FROM columns
    WHERE NOT is_temporary
      AND NOT has_schema_privilege(owner, schema, 'CREATE')
      AND CASE
              WHEN $6 THEN is_named AND sequence IS NULL
              ELSE in_family AND identity <> '' AND sequence IS NOT NULL
          END
)
