-- Columns that have to become bigint.
retyped AS (SELECT * FROM columns WHERE type IN ('smallint'::regtype, 'integer'::regtype)),
obstacles AS (
    SELECT * FROM common_obstacles
    UNION ALL
    SELECT 21, '42501', format('owner %I of table %s lacks USAGE on schema %I', pg_get_userbyid(owner), relation_name, $3),
           'The statements run as the owner of the table, and name snowflake_nextval() in that schema.', NULL
    FROM target WHERE NOT has_schema_privilege(owner, $3, 'USAGE')
    UNION ALL
    SELECT 5, '42P16', format('column %s of table %s is a generated column', column_name, relation_name),
           'It takes no default.', NULL
    FROM target WHERE generated <> ''
    UNION ALL
    SELECT 6, '42804', format('column %s of table %s has type %s', column_name, relation_name, type_name),
           'What can be converted is smallint, integer and bigint.', NULL
    FROM target
    WHERE type NOT IN ('smallint'::regtype, 'integer'::regtype, 'bigint'::regtype,
                       to_regtype(format('%I.snowflake', $3)))
    UNION ALL
    SELECT 7, '42804', format('column %s of table %s has type %s', column_name, relation_name, type_name),
           'A foreign key refers to the column that is to be converted, and the type may not hold its new values.',
           'Change the type to bigint first.'
    FROM columns
    WHERE NOT in_family
      AND type NOT IN ('smallint'::regtype, 'integer'::regtype, 'bigint'::regtype,
                       to_regtype(format('%I.snowflake', $3)))
    UNION ALL
    SELECT 8, '42501', format('must be owner of table %s', relation_name),
           format('Column %s has to become bigint too.', column_name), NULL
    FROM retyped WHERE NOT pg_has_role(owner, 'USAGE')
    UNION ALL
    SELECT 9, '42809', format('cannot change the type of column %s of table %s', column_name, relation_name),
           'The table is of a composite type.', NULL
    FROM retyped WHERE of_type <> 0
    UNION ALL
    SELECT 10, '2BP01', format('cannot change the type of column %s of table %s', column_name, relation_name),
           format('What depends on it: %s.', all_of_them), 'Drop that, convert the column, and create it again.'
    FROM retyped JOIN dependents_of USING (relation, number)
),
is_done AS (
    SELECT NOT EXISTS (SELECT FROM retyped)
           AND (SELECT type = to_regtype(format('%I.snowflake', $3))
                       OR default_expression IS NOT DISTINCT FROM format('%I.snowflake_nextval()', $3) FROM target)
           AND NOT EXISTS (SELECT FROM columns WHERE in_family AND identity <> '') AS is_done
),
statements(rank, statement, owner, is_temporary) AS (
    SELECT 1, format('LOCK TABLE %s IN ACCESS EXCLUSIVE MODE;', string_agg(relation_name, ', ' ORDER BY relation_name)), NULL::oid, NULL::boolean
    FROM (SELECT relation_name FROM target
          UNION SELECT relation_name FROM retyped WHERE NOT inherited) AS locked
    UNION ALL
    -- From PostgreSQL 17 on, a partition's identity goes with its parent's.
    SELECT 2, format('ALTER TABLE %s ALTER COLUMN %s DROP IDENTITY;', relation_name, column_name), owner, is_temporary
    FROM columns
    WHERE in_family AND identity <> '' AND NOT (is_partition AND current_setting('server_version_num')::integer >= 170000)
    UNION ALL
    SELECT 3, format('ALTER SEQUENCE %s OWNED BY NONE;', format('%I.%I', nspname, relname)), owner, is_temporary
    FROM columns
    JOIN pg_depend ON (refclassid, refobjid, refobjsubid) = ('pg_class'::regclass, relation, number)
         AND classid = 'pg_class'::regclass AND deptype = 'a'
    JOIN pg_class AS sequence ON sequence.oid = objid AND relkind = 'S'
    JOIN pg_namespace ON pg_namespace.oid = relnamespace
    WHERE in_family
    UNION ALL
    -- Else the old default would be cast to the new type.
    SELECT 4, format('ALTER TABLE %s ALTER COLUMN %s DROP DEFAULT;', relation_name, column_name), owner, is_temporary
    FROM target
    WHERE EXISTS (SELECT FROM columns WHERE in_family AND default_expression IS NOT NULL)
    UNION ALL
    SELECT 5, format('ALTER TABLE %s ALTER COLUMN %s TYPE bigint;', relation_name, column_name), owner, is_temporary
    FROM retyped WHERE NOT inherited
    UNION ALL
    SELECT 6, format('ALTER TABLE %s ALTER COLUMN %s SET DEFAULT %I.snowflake_nextval();', relation_name, column_name, $3), owner, is_temporary
    FROM target
)
