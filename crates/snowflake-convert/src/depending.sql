-- What depends on the type of a column that becomes bigint. The query begins with keys.sql.
,
-- a row: a foreign key that is dropped and added again, since one of its columns is retyped.
foreign_keys AS (
    SELECT DISTINCT k.oid, k.conname, k.conrelid, k.confrelid, k.confkey, k.convalidated, c.relkind,
           c.relowner AS owner,
           c.relpersistence = 't' AS is_temporary, format('%I.%I', n.nspname, c.relname) AS relation_name
    FROM retyped,
         -- It depends on its own columns and on those that it refers to.
         LATERAL (
             SELECT k.*
             FROM pg_depend,
                  LATERAL (SELECT * FROM pg_constraint WHERE oid = objid OFFSET 0) AS k
             WHERE (classid, refclassid, refobjid, refobjsubid)
                   = ('pg_constraint'::regclass, 'pg_class'::regclass, relation, number::integer)
               AND contype = 'f'
               AND conparentid = 0
             OFFSET 0
         ) AS k,
         LATERAL (SELECT * FROM pg_class WHERE oid = k.conrelid OFFSET 0) AS c
    JOIN pg_namespace AS n ON n.oid = c.relnamespace
),

-- a row: a retyped column's relation, and its row type or a type that consists of this: an array, a
-- domain, a range or a composite type, the row types of views and foreign tables included. Each
-- depends on its parts.
row_types(relation, type) AS (
    SELECT relation, row_type FROM retyped WHERE row_type <> 0
    UNION
    SELECT relation, built.type
    FROM row_types,
         LATERAL (
             SELECT CASE classid
                        WHEN 'pg_type'::regclass THEN objid
                        ELSE (SELECT reltype FROM pg_class WHERE oid = objid AND relkind IN ('c', 'v', 'f'))
                    END
             FROM pg_depend
             WHERE (refclassid, refobjid) = ('pg_type'::regclass, row_types.type)
               AND (classid = 'pg_type'::regclass OR classid = 'pg_class'::regclass AND objsubid > 0)
             OFFSET 0
         ) AS built (type)
    WHERE built.type <> 0
),

-- a row: an operator class for integers that an index cannot have on the column once it is bigint:
-- one that the definition of an index names, or one of an access method without one for bigint.
narrow_classes(class) AS (
    SELECT c.oid
    FROM pg_opclass AS c
    JOIN pg_type AS t ON t.oid = opcintype
    WHERE opcintype IN ('smallint'::regtype, 'integer'::regtype, 'smallint[]'::regtype, 'integer[]'::regtype)
      AND NOT (opcdefault
               AND EXISTS (
                   SELECT
                   FROM pg_opclass AS other
                   WHERE other.opcmethod = c.opcmethod
                     AND other.opcdefault
                     AND other.opcintype = ANY (
                         CASE typcategory
                             WHEN 'A' THEN ARRAY['bigint[]'::regtype, 'anyarray'::regtype]
                             ELSE ARRAY['bigint'::regtype]
                         END)
               ))
),

-- a row: a retyped column, and what depends on its type, so that PostgreSQL refuses to change it.
--
-- Expressions that use the row type count, too: from 15.20, 16.16, 17.12 and 18.7 on, PostgreSQL
-- refuses to change it under them, and earlier releases leave them with the old one. Functions,
-- operators and casts that only have it in their signature find it anew in each call.
depending(relation, number, class, object) AS (
    SELECT r.relation, r.number, p.classid, p.objid
    FROM retyped AS r,
         LATERAL (
             SELECT classid, objid
             FROM pg_depend
             WHERE (refclassid, refobjid, refobjsubid) = ('pg_class'::regclass, r.relation, r.number::integer)
               AND (classid IN (
                        'pg_rewrite'::regclass, 'pg_policy'::regclass, 'pg_trigger'::regclass,
                        'pg_proc'::regclass, 'pg_publication_rel'::regclass)
                    -- A generated column's expression.
                    OR classid = 'pg_attrdef'::regclass
                       AND NOT EXISTS (
                           SELECT
                           FROM pg_attrdef AS d
                           WHERE d.oid = objid AND (d.adrelid, d.adnum) = (r.relation, r.number)
                       ))
             OFFSET 0
         ) AS p
    UNION ALL
    SELECT r.relation, r.number, p.classid, p.objid
    FROM retyped AS r
    JOIN row_types USING (relation),
         LATERAL (
             SELECT classid, objid
             FROM pg_depend
             WHERE (refclassid, refobjid, deptype) = ('pg_type'::regclass, row_types.type, 'n')
               AND CASE classid
                       -- Indexes and partition keys. A column of a table stands in the way by itself.
                       WHEN 'pg_class'::regclass
                           THEN (
                               SELECT relkind = 'm' OR objsubid = 0 AND reloftype = 0
                               FROM pg_class
                               WHERE oid = objid
                           )
                       WHEN 'pg_proc'::regclass
                           THEN (
                               SELECT concat(prosqlbody, proargdefaults) ~ format('\m%s\M', row_types.type)
                               FROM pg_proc
                               WHERE oid = objid
                           )
                       WHEN 'pg_type'::regclass
                           THEN (
                               SELECT typdefaultbin::text ~ format('\m%s\M', row_types.type)
                               FROM pg_type
                               WHERE oid = objid
                           )
                       ELSE classid NOT IN ('pg_operator'::regclass, 'pg_cast'::regclass)
                   END
             OFFSET 0
         ) AS p
),

-- a row: such an object, what depends on one of them, and what one of them is a part of. The parts
-- of an object depend on it.
--
-- From PostgreSQL 19 on, a recursion reserves memory for as many rows as the planner expects, and it
-- would expect billions here and below. It takes a comparison of a value with itself, as long as it
-- does not see through it, to be true for one row of 200.
reached(class, object) AS (
    SELECT class, object FROM depending WHERE object = object::bigint::oid
    UNION
    SELECT next.*
    FROM reached,
         LATERAL (
             SELECT classid, objid FROM pg_depend WHERE (refclassid, refobjid) = (class, object)
             UNION ALL
             SELECT refclassid, refobjid
             FROM pg_depend
             WHERE (classid, objid) = (class, object)
               AND deptype IN ('i', 'P')
               AND classid <> 'pg_attrdef'::regclass
         ) AS next (class, object)
    WHERE reached.object = reached.object::bigint::oid
),

-- a row: a trigger among these, and the one that it was cloned from for a partition, or itself.
trigger_roots(oid, root) AS (
    SELECT t.oid, t.oid
    FROM reached
    JOIN pg_trigger AS t ON t.oid = object
    WHERE class = 'pg_trigger'::regclass AND tgparentid = 0 AND NOT tgisinternal
    UNION ALL
    SELECT clone.oid, root
    FROM trigger_roots
    JOIN pg_depend
        ON (refclassid, refobjid, classid) = ('pg_trigger'::regclass, trigger_roots.oid, refclassid)
    JOIN pg_trigger AS clone ON clone.oid = objid AND clone.tgparentid = trigger_roots.oid
),

-- a row: a part, and the object that it is dropped and created again with: views with their rules
-- and types, and so on. Others depend on parts, and parts on others.
wholes(part_class, part, class, object) AS (
    SELECT reached.class, reached.object, whole.*
    FROM reached,
         LATERAL (
             SELECT 'pg_class'::regclass, c.oid
             FROM pg_class AS c
             WHERE reached.class = 'pg_class'::regclass AND c.oid = reached.object AND relkind IN ('v', 'm')
             UNION ALL
             SELECT 'pg_class'::regclass, c.oid
             FROM pg_type AS t
             LEFT JOIN pg_type AS element ON element.typarray = t.oid AND element.oid = t.typelem
             JOIN pg_class AS c ON c.oid = coalesce(element.typrelid, t.typrelid) AND relkind IN ('v', 'm')
             WHERE reached.class = 'pg_type'::regclass AND t.oid = reached.object
             UNION ALL
             SELECT CASE WHEN is_of_view THEN 'pg_class'::regclass ELSE 'pg_rewrite'::regclass END,
                    CASE WHEN is_of_view THEN ev_class ELSE r.oid END
             FROM pg_rewrite AS r
             JOIN pg_class AS c ON c.oid = ev_class,
                  LATERAL (SELECT c.relkind IN ('v', 'm') AND rulename = '_RETURN') AS of (is_of_view)
             WHERE reached.class = 'pg_rewrite'::regclass AND r.oid = reached.object
             UNION ALL
             SELECT 'pg_class'::regclass, c.oid
             FROM pg_attrdef AS d
             JOIN pg_class AS c ON c.oid = adrelid AND relkind = 'v'
             WHERE reached.class = 'pg_attrdef'::regclass AND d.oid = reached.object
             UNION ALL
             -- An index of a materialized view, its TOAST table, or the index of that.
             SELECT 'pg_class'::regclass, c.oid
             FROM (
                 SELECT reached.object
                 UNION ALL SELECT indrelid FROM pg_index WHERE indexrelid = reached.object
             ) AS one (part)
             LEFT JOIN pg_depend AS p
                 ON (p.classid, p.objid, p.refclassid, p.deptype)
                     = ('pg_class'::regclass, part, 'pg_class'::regclass, 'i')
             JOIN pg_class AS c
                 ON relkind = 'm' AND (c.oid = p.refobjid OR c.oid = part AND part <> reached.object)
             WHERE reached.class = 'pg_class'::regclass
             UNION ALL
             SELECT 'pg_class'::regclass, c.oid
             FROM pg_statistic_ext AS s
             JOIN pg_class AS c ON c.oid = stxrelid AND relkind = 'm'
             WHERE reached.class = 'pg_statistic_ext'::regclass AND s.oid = reached.object
             UNION ALL
             SELECT reached.class, reached.object
             WHERE reached.class = 'pg_policy'::regclass
             UNION ALL
             SELECT reached.class, oid
             FROM pg_proc
             WHERE reached.class = 'pg_proc'::regclass
               AND oid = reached.object
               AND oid >= 16384
               AND prokind <> 'a'
         ) AS whole (class, object)
    UNION ALL
    SELECT 'pg_trigger'::regclass, oid, 'pg_trigger'::regclass, root FROM trigger_roots
    UNION ALL
    SELECT 'pg_constraint'::regclass, tgconstraint, 'pg_trigger'::regclass, root
    FROM trigger_roots
    JOIN pg_trigger USING (oid)
    WHERE tgconstraint <> 0
),

-- a row: a retyped column, and an object that depends on its type, or that depends on such an
-- object. Where object is no whole, it cannot be created again.
dependents(relation, number, class, object) AS (
    SELECT d.relation, d.number, coalesce(w.class, d.class), coalesce(w.object, d.object)
    FROM depending AS d
    LEFT JOIN wholes AS w ON (w.part_class, w.part) = (d.class, d.object)
    WHERE d.object = d.object::bigint::oid
    UNION
    SELECT d.relation, d.number, coalesce(w.class, p.classid), coalesce(w.object, p.objid)
    FROM dependents AS d
    JOIN wholes AS part ON (part.class, part.object) = (d.class, d.object),
         LATERAL (
             SELECT classid, objid
             FROM pg_depend
             WHERE (refclassid, refobjid) = (part.part_class, part.part)
             OFFSET 0
         ) AS p
    LEFT JOIN wholes AS w ON (w.part_class, w.part) = (p.classid, p.objid)
    WHERE d.object = d.object::bigint::oid AND part.part = part.part::bigint::oid
)
