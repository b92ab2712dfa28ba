-- What stands in the way of converting or reverting a column, and the statements that it takes.
--
-- $1 is the relation, $2 the column, $3 the schema of this extension, $4 the value that new rows start with, and $5 whether
-- the column is to be reverted. Paste it into psql 16 or later, followed by, for example,
-- \bind orders id public 1 false \g
--
-- It runs with search_path = pg_catalog, pg_temp. A row with a SQLSTATE is an obstacle. If there is
-- one, only the first row counts.
WITH RECURSIVE
-- The column in the relation and in everything that inherits it: partitions, or children.
family(relation, number) AS (
    SELECT attrelid, attnum FROM pg_attribute WHERE attrelid = $1::regclass AND attname = $2::name AND attnum > 0 AND NOT attisdropped
    UNION
    SELECT child.attrelid, child.attnum
    FROM family
    JOIN pg_inherits ON inhparent = family.relation
    JOIN pg_attribute AS child ON child.attrelid = inhrelid AND child.attname = $2
),
-- The family, and all other columns that hold its values: the columns of foreign keys that refer to
-- it. The children and the parents of all these tables count too, and so on.
connected(relation, number) AS (
    SELECT * FROM family
    UNION
    SELECT next.*
    FROM connected, LATERAL (
        SELECT conrelid, referencing
        FROM pg_constraint, unnest(conkey, confkey) AS pair (referencing, referenced)
        WHERE contype = 'f' AND confrelid = connected.relation AND referenced = connected.number
        UNION ALL
        SELECT parent.attrelid, parent.attnum
        FROM pg_attribute AS child
        JOIN pg_inherits ON inhrelid = child.attrelid AND child.attinhcount > 0
        JOIN pg_attribute AS parent ON parent.attrelid = inhparent AND parent.attname = child.attname
        WHERE child.attrelid = connected.relation AND child.attnum = connected.number
        UNION ALL
        SELECT child.attrelid, child.attnum
        FROM pg_attribute AS parent
        JOIN pg_inherits ON inhparent = parent.attrelid
        JOIN pg_attribute AS child ON child.attrelid = inhrelid AND child.attname = parent.attname
        WHERE parent.attrelid = connected.relation AND parent.attnum = connected.number
    ) AS next
),
columns AS (
    SELECT a.attrelid AS relation, a.attnum AS number,
           c.relkind AS kind, c.relpersistence = 't' AS is_temporary, c.relnamespace AS schema, c.relispartition AS is_partition, c.relowner AS owner, c.reloftype AS of_type, c.reltype AS row_type,
           format('%I.%I', n.nspname, c.relname) AS relation_name, format('%I', a.attname) AS column_name,
           a.atttypid AS type, format_type(a.atttypid, a.atttypmod) AS type_name,
           a.attidentity AS identity, a.attgenerated AS generated, a.attnotnull AS not_null, a.attinhcount > 0 AS inherited,
           pg_get_expr(d.adbin, d.adrelid) AS default_expression,
           (a.attrelid, a.attnum) IN (SELECT * FROM family) AS in_family
    FROM connected
    JOIN pg_attribute AS a ON (a.attrelid, a.attnum) = (connected.relation, connected.number)
    JOIN pg_class AS c ON c.oid = a.attrelid
    JOIN pg_namespace AS n ON n.oid = c.relnamespace
    LEFT JOIN pg_attrdef AS d ON (d.adrelid, d.adnum) = (a.attrelid, a.attnum)
),
target AS (SELECT * FROM columns WHERE relation = $1 AND in_family),
-- What else depends on the type of a column, so that PostgreSQL refuses to change it.
dependents AS (
    SELECT refobjid AS relation, refobjsubid AS number, pg_describe_object(classid, objid, objsubid) AS description
    FROM pg_depend
    WHERE refclassid = 'pg_class'::regclass AND refobjsubid > 0
      AND (classid IN ('pg_rewrite'::regclass, 'pg_policy'::regclass, 'pg_trigger'::regclass, 'pg_proc'::regclass,
                       'pg_publication_rel'::regclass)
           OR classid = 'pg_class'::regclass AND objid = refobjid AND objsubid > 0)
    UNION ALL
    -- A generated column's expression.
    SELECT refobjid, refobjsubid, pg_describe_object('pg_class'::regclass, adrelid, adnum)
    FROM pg_depend JOIN pg_attrdef ON pg_attrdef.oid = objid
    WHERE classid = 'pg_attrdef'::regclass AND refclassid = 'pg_class'::regclass AND (refobjid, refobjsubid) <> (adrelid, adnum)
    UNION ALL
    SELECT columns.relation, columns.number, pg_describe_object(classid, objid, objsubid)
    FROM columns JOIN pg_depend ON refclassid = 'pg_type'::regclass AND refobjid = row_type AND deptype = 'n'
    UNION ALL
    SELECT relation, number, 'the partition key of ' || relation_name
    FROM columns JOIN pg_partitioned_table ON partrelid = relation AND number = ANY (partattrs)
),
dependents_of(relation, number, all_of_them) AS (
    SELECT relation, number, string_agg(DISTINCT description, ', ' ORDER BY description) FROM dependents GROUP BY 1, 2
),
-- Why a column can be neither converted nor reverted. Of all obstacles, the first by rank counts.
common_obstacles(rank, sqlstate, message, detail, hint) AS (
    SELECT 1, '42809', format('%s is not a table', $1), NULL, NULL
    FROM pg_class WHERE oid = $1 AND relkind NOT IN ('r', 'p')
    UNION ALL
    SELECT 2, '42501', format('must be owner of table %s', $1), NULL, NULL
    FROM pg_class WHERE oid = $1 AND NOT pg_has_role(relowner, 'USAGE')
    UNION ALL
    -- What initdb created has the OIDs below this one.
    SELECT 2, '42501', format('permission denied: "%s" is a system catalog', $1), NULL, NULL
    FROM pg_class WHERE oid = $1 AND oid < 16384
    UNION ALL
    SELECT 3, '42703', format('column %I of table %s does not exist', $2, $1), NULL, NULL
    WHERE NOT EXISTS (SELECT FROM target)
    UNION ALL
    SELECT 4, '42P16', format('column %s of table %s is inherited', column_name, relation_name),
           format('The table has it from %s.', string_agg(inhparent::regclass::text, ', ')), 'Name that table instead.'
    FROM target JOIN pg_inherits ON inhrelid = relation
    WHERE inherited
    GROUP BY column_name, relation_name
    UNION ALL
    SELECT 20, '42501', format('column %s of table %s belongs to tables of several owners', column_name, relation_name),
           format('One statement would change or check tables of all of them: %s.', string_agg(
               DISTINCT format('%s (owner %I)', c.oid::regclass, pg_get_userbyid(c.relowner)), ', ')),
           'Give the tables one owner, or drop what connects them first.'
    FROM target, reached, pg_class AS c
    WHERE c.oid IN (reached.relation, reached.other)
      AND (SELECT count(DISTINCT relowner) FROM pg_class WHERE oid IN (reached.relation, reached.other)) > 1
    GROUP BY column_name, relation_name
    UNION ALL
    SELECT 21, '42501', format('owner %I of table %s lacks USAGE on schema %s', pg_get_userbyid(owner), relation_name, schema::regnamespace),
           'The statements run as the owner of the table.', NULL
    FROM (SELECT * FROM target UNION SELECT * FROM retyped) AS changed
    WHERE NOT has_schema_privilege(owner, schema, 'USAGE')
    UNION ALL
    SELECT 21, '42501', format('owner %I of table %s is subject to its row-level security', pg_get_userbyid(owner), relation_name),
           'The values of the column are read as the owner of the table, who cannot see all of them.',
           format('First run ALTER TABLE %s NO FORCE ROW LEVEL SECURITY.', relation_name)
    FROM target
    JOIN pg_class ON pg_class.oid = relation AND relrowsecurity AND relforcerowsecurity
    JOIN pg_roles ON pg_roles.oid = owner AND NOT rolsuper AND NOT rolbypassrls
    UNION ALL
    SELECT 22, '42501', format('owner %I of table %s lacks REFERENCES on table %s',
                               pg_get_userbyid(owner), conrelid::regclass, confrelid::regclass),
           format('The statements run as the owner of the table, and create foreign key %I again.', conname), NULL
    FROM foreign_keys
    WHERE NOT has_table_privilege(owner, confrelid, 'REFERENCES')
      AND NOT (SELECT bool_and(has_column_privilege(owner, confrelid, number, 'REFERENCES')) FROM unnest(confkey) AS number)
),
-- The foreign keys that a change of type creates again.
foreign_keys AS (
    SELECT DISTINCT owner, relation, conname, conrelid, confrelid, confkey
    FROM retyped
    JOIN pg_constraint ON contype = 'f'
         AND (conrelid = relation AND number = ANY (conkey) OR confrelid = relation AND number = ANY (confkey))
),
-- Pairs of tables that one statement changes or checks.
reached(relation, other) AS (
    SELECT target.relation, columns.relation FROM target, columns WHERE columns.in_family
    UNION
    SELECT conrelid, confrelid FROM foreign_keys
    UNION
    SELECT conrelid, relid FROM foreign_keys, pg_partition_tree(confrelid)
    UNION
    SELECT conrelid, relid FROM foreign_keys, pg_partition_tree(conrelid)
    UNION
    SELECT child.relation, parent.relation
    FROM retyped AS child
    JOIN pg_inherits ON inhrelid = child.relation
    JOIN retyped AS parent ON parent.relation = inhparent
),
-- The columns whose type is changed: those that have to become bigint or, in a reversion, the one
-- whose type is the domain.
retyped AS (
    SELECT * FROM columns
    WHERE CASE WHEN $5::boolean THEN relation = $1 AND in_family AND type <> 'bigint'::regtype
               ELSE type IN ('smallint'::regtype, 'integer'::regtype) END
),
conversion_obstacles AS (
    SELECT 21, '42501', format('owner %I of table %s lacks USAGE on schema %I', pg_get_userbyid(owner), relation_name, $3::text),
           'The statements run as the owner of the table, and name snowflake_nextval() in that schema.', NULL
    FROM target WHERE NOT has_schema_privilege(owner, $3::text, 'USAGE')
    UNION ALL
    SELECT 5, '42P16', format('column %s of table %s is a generated column', column_name, relation_name),
           'It takes no default.', NULL
    FROM target WHERE generated <> ''
    UNION ALL
    SELECT 6, '42804', format('column %s of table %s has type %s', column_name, relation_name, type_name),
           'What can be converted is smallint, integer and bigint.', NULL
    FROM target
    WHERE type NOT IN ('smallint'::regtype, 'integer'::regtype, 'bigint'::regtype,
                       to_regtype(format('%I.snowflake', $3::text)))
    UNION ALL
    SELECT 7, '42804', format('column %s of table %s has type %s', column_name, relation_name, type_name),
           'A foreign key refers to the column that is to be converted, and the type may not hold its new values.',
           'Change the type to bigint first.'
    FROM columns
    WHERE NOT in_family
      AND type NOT IN ('smallint'::regtype, 'integer'::regtype, 'bigint'::regtype,
                       to_regtype(format('%I.snowflake', $3::text)))
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
is_converted AS (
    SELECT NOT EXISTS (SELECT FROM retyped)
           AND (SELECT type = to_regtype(format('%I.snowflake', $3::text))
                       OR default_expression IS NOT DISTINCT FROM format('%I.snowflake_nextval()', $3::text) FROM target)
           AND NOT EXISTS (SELECT FROM columns WHERE in_family AND identity <> '') AS is_converted
),
conversion(rank, statement, owner, is_temporary) AS (
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
    SELECT 6, format('ALTER TABLE %s ALTER COLUMN %s SET DEFAULT %I.snowflake_nextval();', relation_name, column_name, $3::text), owner, is_temporary
    FROM target
),
-- Before PostgreSQL 17, identity does not reach partitions, but a default does.
takes_sequence AS (
    SELECT target.*, nspname AS schema_name,
           CASE WHEN octet_length(usual.name) < 64 AND to_regclass(format('%I.%I', nspname, usual.name)) IS NULL THEN usual.name
                ELSE format('snowflake_%s_seq', relation::oid) END AS sequence_name
    FROM target
    JOIN pg_class ON pg_class.oid = relation
    JOIN pg_namespace ON pg_namespace.oid = relnamespace,
    LATERAL (SELECT format('%s_%s_seq', relname, $2)) AS usual (name)
    WHERE kind = 'p' AND current_setting('server_version_num')::integer < 170000
),
reversion_obstacles AS (
    SELECT 23, '42501', format('owner %I of table %s lacks CREATE on schema %s', pg_get_userbyid(owner), relation_name, schema::regnamespace),
           'The statements run as the owner of the table, and create a sequence.', NULL
    FROM target
    WHERE NOT is_temporary AND NOT has_schema_privilege(owner, schema, 'CREATE')
    UNION ALL
    SELECT 5, '55000', format('column %s of table %s does not take snowflake IDs', column_name, relation_name),
           'Its default is not snowflake_nextval().', NULL
    FROM target
    WHERE default_expression IS DISTINCT FROM format('%I.snowflake_nextval()', $3::text)
      AND type IS DISTINCT FROM to_regtype(format('%I.snowflake', $3::text))
    UNION ALL
    SELECT 6, '0A000', format('column %s of table %s is inherited by other tables', target.column_name, target.relation_name),
           format('Identity would not reach %s.', string_agg(columns.relation_name, ', ' ORDER BY columns.relation_name)), NULL
    FROM target, columns
    WHERE columns.in_family AND columns.relation <> target.relation AND NOT columns.is_partition
    GROUP BY target.column_name, target.relation_name
    UNION ALL
    SELECT 7, '2BP01', format('cannot change the type of column %s of table %s', column_name, relation_name),
           format('What depends on it: %s.', all_of_them), 'Drop that, revert the column, and create it again.'
    FROM target JOIN dependents_of USING (relation, number)
    WHERE type <> 'bigint'::regtype
),
reversion(rank, statement, owner, is_temporary) AS (
    SELECT 1, format('LOCK TABLE %s IN ACCESS EXCLUSIVE MODE;', relation_name), NULL::oid, NULL::boolean FROM target
    UNION ALL
    SELECT 2, format('ALTER TABLE %s ALTER COLUMN %s DROP DEFAULT;', relation_name, column_name), owner, is_temporary
    FROM target
    WHERE EXISTS (SELECT FROM columns WHERE in_family AND default_expression IS NOT NULL)
    UNION ALL
    SELECT 3, format('ALTER TABLE %s ALTER COLUMN %s TYPE bigint;', relation_name, column_name), owner, is_temporary
    FROM retyped
    UNION ALL
    SELECT 4, format('ALTER TABLE %s ALTER COLUMN %s SET NOT NULL;', relation_name, column_name), owner, is_temporary
    FROM target WHERE NOT not_null
    UNION ALL
    SELECT 5, format('ALTER TABLE %s ALTER COLUMN %s ADD GENERATED BY DEFAULT AS IDENTITY (START WITH %s);',
                     relation_name, column_name, $4::bigint), owner, is_temporary
    FROM target WHERE relation NOT IN (SELECT relation FROM takes_sequence)
    UNION ALL
    SELECT 6, format('CREATE SEQUENCE %I.%I START WITH %s OWNED BY %s.%s;', schema_name, sequence_name, $4::bigint, relation_name, column_name),
           owner, is_temporary
    FROM takes_sequence
    UNION ALL
    SELECT 7, format('ALTER TABLE %s ALTER COLUMN %s SET DEFAULT pg_catalog.nextval(%L::pg_catalog.regclass);',
                     relation_name, column_name, format('%I.%I', schema_name, sequence_name)), owner, is_temporary
    FROM takes_sequence
)
SELECT sqlstate, text, detail, hint, owner, is_temporary
FROM (
    SELECT 0 AS kind, rank, sqlstate, message AS text, detail, hint, NULL::oid AS owner, NULL::boolean AS is_temporary
    FROM (SELECT * FROM common_obstacles
          UNION ALL SELECT * FROM conversion_obstacles WHERE NOT $5
          UNION ALL SELECT * FROM reversion_obstacles WHERE $5) AS obstacles
    UNION ALL
    SELECT 1, rank, NULL, statement, NULL, NULL, owner, is_temporary FROM conversion, is_converted WHERE NOT $5 AND NOT is_converted
    UNION ALL
    SELECT 1, rank, NULL, statement, NULL, NULL, owner, is_temporary FROM reversion WHERE $5
) AS plan
ORDER BY kind, rank, text
