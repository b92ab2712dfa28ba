-- The keys to convert or revert, and what belongs to them. The queries in plan.sql, dependents.sql
-- and report.sql go on from here.
--
-- $1 is the relation and $2 the column; or $1 alone, for all its keys; or $3 alone, a schema, for
-- the keys of all its tables. $4 is the schema of this extension, $5 the next ID, $6 whether keys
-- are to be reverted, $7 whether dependents are created again, $8 whether foreign keys are validated
-- in the same transaction, $9 the OIDs of the schemas in the session's search_path, as an array, and
-- $10 whether dependents are judged that are not created again, too. Paste this, objects.sql,
-- bound.sql, trust.sql, rebuilt.sql and plan.sql into psql 16 or later, followed by, for example,
-- \bind orders id - public 1 false false false {2200} false \g
--
-- They run with search_path = pg_catalog, pg_temp.
WITH RECURSIVE
-- Columns that take values of a sequence.
key_columns AS (
    SELECT a.attrelid AS relation, a.attnum AS number
    FROM pg_class AS c
    JOIN pg_attribute AS a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
    LEFT JOIN pg_attrdef AS d ON (d.adrelid, d.adnum) = (a.attrelid, a.attnum) AND a.attgenerated = ''
    WHERE $2::name IS NULL AND (c.oid = $1::regclass OR c.relnamespace = $3::regnamespace) AND c.relkind IN ('r', 'p')
      AND a.attinhcount = 0 AND a.atttypid IN ('smallint'::regtype, 'integer'::regtype, 'bigint'::regtype)
      AND (a.attidentity <> '' OR pg_get_expr(d.adbin, d.adrelid) LIKE 'nextval(%')
      AND ($3 IS NULL OR NOT EXISTS (SELECT FROM pg_depend WHERE (classid, objid, deptype) = ('pg_class'::regclass, c.oid, 'e')))
),
-- Columns that refer to another column. They take its values, and have none of their own to give.
referring(relation, number, name, other) AS (
    SELECT conrelid, referencing, conname, confrelid
    FROM pg_constraint, unnest(conkey, confkey) AS pair (referencing, referenced)
    WHERE contype = 'f' AND (conrelid, referencing) <> (confrelid, referenced)
),
named AS (
    SELECT attrelid AS relation, attnum AS number FROM pg_attribute
    WHERE attrelid = $1 AND attname = $2 AND attnum > 0 AND NOT attisdropped
    UNION ALL
    SELECT * FROM key_columns WHERE (relation, number) NOT IN (SELECT relation, number FROM referring)
),
-- The keys in their relations and in everything that inherits them: partitions, or children.
family(relation, number, root, root_number) AS (
    SELECT *, * FROM named
    UNION
    SELECT child.attrelid, child.attnum, root, root_number
    FROM family
    JOIN pg_attribute AS parent ON (parent.attrelid, parent.attnum) = (family.relation, family.number)
    JOIN pg_inherits ON inhparent = family.relation
    JOIN pg_attribute AS child ON child.attrelid = inhrelid AND child.attname = parent.attname
),
-- The family, and all other columns that hold its values: the columns of foreign keys that refer to
-- it. The children and the parents of all these tables count too, and so on.
connected(relation, number) AS (
    SELECT relation, number FROM family
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
           format('%I.%I', n.nspname, c.relname) AS relation_name, format('%I', a.attname) AS column_name, a.attname AS name,
           a.atttypid AS type, format_type(a.atttypid, a.atttypmod) AS type_name,
           a.attidentity AS identity, a.attgenerated AS generated, a.attnotnull AS not_null, a.attinhcount > 0 AS inherited,
           pg_get_expr(d.adbin, d.adrelid) AS default_expression,
           (a.attrelid, a.attnum) IN (SELECT relation, number FROM family) AS in_family,
           (a.attrelid, a.attnum) IN (SELECT * FROM named) AS is_named,
           sequence.oid AS sequence, quote_ident(sequence_schema.nspname) || '.' || quote_ident(sequence.relname) AS sequence_name
    FROM connected
    JOIN pg_attribute AS a ON (a.attrelid, a.attnum) = (connected.relation, connected.number)
    JOIN pg_class AS c ON c.oid = a.attrelid
    JOIN pg_namespace AS n ON n.oid = c.relnamespace
    LEFT JOIN pg_attrdef AS d ON (d.adrelid, d.adnum) = (a.attrelid, a.attnum)
    -- The sequence that the identity or the default takes values of, else the one that the column owns.
    LEFT JOIN LATERAL (
        SELECT s.oid, s.relname, s.relnamespace
        FROM (SELECT objid, CASE deptype WHEN 'i' THEN 1 ELSE 3 END FROM pg_depend
              WHERE (refclassid, refobjid, refobjsubid, classid) = ('pg_class'::regclass, a.attrelid, a.attnum::integer, 'pg_class'::regclass)
                AND deptype IN ('a', 'i')
              UNION ALL
              SELECT refobjid, 2 FROM pg_depend
              WHERE (classid, objid, refclassid) = ('pg_attrdef'::regclass, d.oid, 'pg_class'::regclass)) AS p (sequence, rank)
        JOIN pg_class AS s ON s.oid = p.sequence AND s.relkind = 'S'
        ORDER BY p.rank, s.oid
        LIMIT 1
    ) AS sequence ON true
    LEFT JOIN pg_namespace AS sequence_schema ON sequence_schema.oid = sequence.relnamespace
),
target AS (SELECT * FROM columns WHERE is_named),
-- The role whose rights all of it has: that of the table, or of most keys of a schema.
the_owner(role) AS (SELECT owner FROM target GROUP BY owner ORDER BY count(*) DESC, owner LIMIT 1),
-- The columns that have to become bigint.
retyped AS (SELECT * FROM columns WHERE NOT $6::boolean AND type IN ('smallint'::regtype, 'integer'::regtype)),
-- The foreign keys that are dropped and added again, since their columns change.
foreign_keys AS (
    SELECT DISTINCT k.oid, k.conname, k.conrelid, k.confrelid, k.confkey, k.convalidated, c.relkind, c.relowner AS owner,
           c.relpersistence = 't' AS is_temporary, format('%I.%I', n.nspname, c.relname) AS relation_name
    FROM retyped
    JOIN pg_constraint AS k ON k.contype = 'f' AND k.conparentid = 0
         AND (k.conrelid = retyped.relation AND retyped.number = ANY (k.conkey) OR k.confrelid = retyped.relation AND retyped.number = ANY (k.confkey))
    JOIN pg_class AS c ON c.oid = k.conrelid
    JOIN pg_namespace AS n ON n.oid = c.relnamespace
),
-- Objects that can be dropped and created again as a whole, with the parts that others depend on, or
-- that depend on others: views with their rules and types, and so on.
trigger_roots(oid, root) AS (
    SELECT oid, oid FROM pg_trigger WHERE tgparentid = 0 AND NOT tgisinternal
    UNION ALL
    SELECT clone.oid, root FROM trigger_roots JOIN pg_trigger AS clone ON clone.tgparentid = trigger_roots.oid
),
wholes(part_class, part, class, object) AS (
    SELECT 'pg_class'::regclass, oid, 'pg_class'::regclass, oid FROM pg_class WHERE relkind IN ('v', 'm') AND oid >= 16384
    UNION ALL
    SELECT 'pg_type'::regclass, type, 'pg_class'::regclass, c.oid
    FROM pg_class AS c JOIN pg_type AS t ON t.oid = c.reltype, unnest(ARRAY[t.oid, t.typarray]) AS type
    WHERE relkind IN ('v', 'm') AND c.oid >= 16384
    UNION ALL
    SELECT 'pg_rewrite'::regclass, r.oid,
           CASE WHEN c.relkind IN ('v', 'm') AND rulename = '_RETURN' THEN 'pg_class'::regclass ELSE 'pg_rewrite'::regclass END,
           CASE WHEN c.relkind IN ('v', 'm') AND rulename = '_RETURN' THEN ev_class ELSE r.oid END
    FROM pg_rewrite AS r JOIN pg_class AS c ON c.oid = ev_class WHERE r.oid >= 16384
    UNION ALL
    SELECT 'pg_attrdef'::regclass, d.oid, 'pg_class'::regclass, c.oid
    FROM pg_attrdef AS d JOIN pg_class AS c ON c.oid = adrelid AND relkind = 'v'
    UNION ALL
    SELECT 'pg_class'::regclass, part, 'pg_class'::regclass, c.oid
    FROM pg_class AS c, LATERAL (SELECT indexrelid FROM pg_index WHERE indrelid IN (c.oid, reltoastrelid)
                                 UNION ALL SELECT reltoastrelid WHERE reltoastrelid <> 0) AS parts (part)
    WHERE relkind = 'm'
    UNION ALL
    SELECT 'pg_statistic_ext'::regclass, s.oid, 'pg_class'::regclass, c.oid
    FROM pg_statistic_ext AS s JOIN pg_class AS c ON c.oid = stxrelid AND relkind = 'm'
    UNION ALL
    SELECT 'pg_trigger'::regclass, oid, 'pg_trigger'::regclass, root FROM trigger_roots
    UNION ALL
    SELECT 'pg_constraint'::regclass, tgconstraint, 'pg_trigger'::regclass, root
    FROM trigger_roots JOIN pg_trigger USING (oid) WHERE tgconstraint <> 0
    UNION ALL
    SELECT 'pg_policy'::regclass, oid, 'pg_policy'::regclass, oid FROM pg_policy
    UNION ALL
    SELECT 'pg_proc'::regclass, oid, 'pg_proc'::regclass, oid FROM pg_proc WHERE oid >= 16384 AND prokind <> 'a'
),
-- The row types of tables, and the types that consist of them: arrays, domains, ranges and composite
-- types, the row types of views and foreign tables included.
consists_of(part, type) AS (
    SELECT typelem, oid FROM pg_type WHERE typsubscript = 'array_subscript_handler'::regproc
    UNION ALL
    SELECT typbasetype, oid FROM pg_type WHERE typbasetype <> 0
    UNION ALL
    SELECT part, type FROM pg_range, LATERAL (VALUES (rngsubtype, rngtypid), (rngtypid, rngmultitypid)) AS of_range (part, type)
    UNION ALL
    SELECT atttypid, reltype FROM pg_attribute JOIN pg_class AS c ON c.oid = attrelid AND relkind IN ('c', 'v', 'f')
    WHERE NOT attisdropped
),
row_types(relation, type) AS (
    SELECT relation, row_type FROM retyped WHERE row_type <> 0
    UNION
    SELECT relation, consists_of.type FROM row_types JOIN consists_of ON part = row_types.type
),
-- Operator classes for integers that an index cannot have on the column once it is bigint: those that
-- its definition names, and those of access methods without one for bigint.
narrow_classes(class) AS (
    SELECT c.oid
    FROM pg_opclass AS c JOIN pg_type AS t ON t.oid = opcintype
    WHERE opcintype IN ('smallint'::regtype, 'integer'::regtype, 'smallint[]'::regtype, 'integer[]'::regtype)
      AND NOT (opcdefault AND EXISTS (
          SELECT FROM pg_opclass AS other
          WHERE other.opcmethod = c.opcmethod AND other.opcdefault
            AND other.opcintype = ANY (CASE typcategory WHEN 'A' THEN ARRAY['bigint[]'::regtype, 'anyarray'::regtype] ELSE ARRAY['bigint'::regtype] END)))
),
-- What depends on the type of a column, so that PostgreSQL refuses to change it, and what depends
-- on that. Where object is no whole, it cannot be created again.
--
-- Expressions that use the row type count, too: from 15.20, 16.16, 17.12 and 18.7 on, PostgreSQL
-- refuses to change it under them, and earlier releases leave them with the old one. Functions,
-- operators and casts that only have it in their signature find it anew in each call.
dependents(relation, number, class, object) AS (
    SELECT r.relation, r.number, coalesce(w.class, p.classid), coalesce(w.object, p.objid)
    FROM retyped AS r
    JOIN pg_depend AS p ON (p.refclassid, p.refobjid, p.refobjsubid) = ('pg_class'::regclass, r.relation, r.number::integer)
         AND (p.classid IN ('pg_rewrite'::regclass, 'pg_policy'::regclass, 'pg_trigger'::regclass, 'pg_proc'::regclass, 'pg_publication_rel'::regclass)
              -- A generated column's expression.
              OR p.classid = 'pg_attrdef'::regclass
                 AND NOT EXISTS (SELECT FROM pg_attrdef AS d WHERE d.oid = p.objid AND (d.adrelid, d.adnum) = (r.relation, r.number)))
    LEFT JOIN wholes AS w ON (w.part_class, w.part) = (p.classid, p.objid)
    UNION ALL
    SELECT r.relation, r.number, coalesce(w.class, p.classid), coalesce(w.object, p.objid)
    FROM retyped AS r
    JOIN row_types ON row_types.relation = r.relation
    JOIN pg_depend AS p ON (p.refclassid, p.refobjid, p.deptype) = ('pg_type'::regclass, row_types.type, 'n')
    LEFT JOIN pg_class AS c ON p.classid = 'pg_class'::regclass AND c.oid = p.objid
    LEFT JOIN pg_proc AS f ON p.classid = 'pg_proc'::regclass AND f.oid = p.objid
    LEFT JOIN pg_type AS d ON p.classid = 'pg_type'::regclass AND d.oid = p.objid
    LEFT JOIN wholes AS w ON (w.part_class, w.part) = (p.classid, p.objid)
    WHERE CASE p.classid
        -- Indexes and partition keys. A column of a table stands in the way by itself.
        WHEN 'pg_class'::regclass THEN c.relkind = 'm' OR p.objsubid = 0 AND c.reloftype = 0
        WHEN 'pg_proc'::regclass THEN concat(f.prosqlbody, f.proargdefaults) ~ format('\m%s\M', row_types.type)
        WHEN 'pg_type'::regclass THEN d.typdefaultbin::text ~ format('\m%s\M', row_types.type)
        ELSE p.classid NOT IN ('pg_operator'::regclass, 'pg_cast'::regclass) END
    UNION
    SELECT d.relation, d.number, coalesce(w.class, p.classid), coalesce(w.object, p.objid)
    FROM dependents AS d
    JOIN wholes AS part ON (part.class, part.object) = (d.class, d.object)
    JOIN pg_depend AS p ON (p.refclassid, p.refobjid) = (part.part_class, part.part)
    LEFT JOIN wholes AS w ON (w.part_class, w.part) = (p.classid, p.objid)
)
