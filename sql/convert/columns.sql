-- What a conversion deals with. Every query has the same parameters: $1 is the relation, $2 the column, $3 the schema of
-- this extension, $4 the value that new rows start with. They run with search_path = pg_catalog, pg_temp. What is
-- converted adds "retyped": the columns whose type is changed.
WITH RECURSIVE
-- The column in the relation and in everything that inherits it: partitions, or children.
family(relation, number) AS (
    SELECT attrelid, attnum FROM pg_attribute WHERE attrelid = $1 AND attname = $2 AND attnum > 0 AND NOT attisdropped
    UNION
    SELECT child.attrelid, child.attnum
    FROM family
    JOIN pg_inherits ON inhparent = family.relation
    JOIN pg_attribute AS child ON child.attrelid = inhrelid AND child.attname = $2
),
-- The same, and all columns that hold its values: those of foreign keys, in turn with what inherits them and what they
-- inherit from.
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
-- Why a column can be neither converted nor reverted; the first row counts.
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
    SELECT child.relation, parent.relation
    FROM retyped AS child
    JOIN pg_inherits ON inhrelid = child.relation
    JOIN retyped AS parent ON parent.relation = inhparent
),
