-- What depends on the type of a column that becomes bigint. The query begins with keys.sql.
,
-- a row: a trigger, and the one that it was cloned from for a partition, or itself.
trigger_roots(oid, root) AS (
    SELECT oid, oid FROM pg_trigger WHERE tgparentid = 0 AND NOT tgisinternal
    UNION ALL
    SELECT clone.oid, root
    FROM trigger_roots JOIN pg_trigger AS clone ON clone.tgparentid = trigger_roots.oid
),

-- a row: a part, and the object that it is dropped and created again with: views with their rules
-- and types, and so on. Others depend on parts, and parts on others.
wholes(part_class, part, class, object) AS (
    SELECT 'pg_class'::regclass, oid, 'pg_class'::regclass, oid
    FROM pg_class
    WHERE relkind IN ('v', 'm') AND oid >= 16384
    UNION ALL
    SELECT 'pg_type'::regclass, type, 'pg_class'::regclass, c.oid
    FROM pg_class AS c
    JOIN pg_type AS t ON t.oid = c.reltype,
         unnest(ARRAY[t.oid, t.typarray]) AS type
    WHERE relkind IN ('v', 'm') AND c.oid >= 16384
    UNION ALL
    SELECT 'pg_rewrite'::regclass, r.oid,
           CASE
               WHEN c.relkind IN ('v', 'm') AND rulename = '_RETURN' THEN 'pg_class'::regclass
               ELSE 'pg_rewrite'::regclass
           END,
           CASE WHEN c.relkind IN ('v', 'm') AND rulename = '_RETURN' THEN ev_class ELSE r.oid END
    FROM pg_rewrite AS r
    JOIN pg_class AS c ON c.oid = ev_class
    WHERE r.oid >= 16384
    UNION ALL
    SELECT 'pg_attrdef'::regclass, d.oid, 'pg_class'::regclass, c.oid
    FROM pg_attrdef AS d
    JOIN pg_class AS c ON c.oid = adrelid AND relkind = 'v'
    UNION ALL
    SELECT 'pg_class'::regclass, part, 'pg_class'::regclass, c.oid
    FROM pg_class AS c,
         LATERAL (
             SELECT indexrelid FROM pg_index WHERE indrelid IN (c.oid, reltoastrelid)
             UNION ALL SELECT reltoastrelid WHERE reltoastrelid <> 0
         ) AS parts (part)
    WHERE relkind = 'm'
    UNION ALL
    SELECT 'pg_statistic_ext'::regclass, s.oid, 'pg_class'::regclass, c.oid
    FROM pg_statistic_ext AS s
    JOIN pg_class AS c ON c.oid = stxrelid AND relkind = 'm'
    UNION ALL
    SELECT 'pg_trigger'::regclass, oid, 'pg_trigger'::regclass, root FROM trigger_roots
    UNION ALL
    SELECT 'pg_constraint'::regclass, tgconstraint, 'pg_trigger'::regclass, root
    FROM trigger_roots
    JOIN pg_trigger USING (oid)
    WHERE tgconstraint <> 0
    UNION ALL
    SELECT 'pg_policy'::regclass, oid, 'pg_policy'::regclass, oid FROM pg_policy
    UNION ALL
    SELECT 'pg_proc'::regclass, oid, 'pg_proc'::regclass, oid
    FROM pg_proc
    WHERE oid >= 16384 AND prokind <> 'a'
),

-- a row: a type, and one that has it as a part: an array, a domain, a range or a composite type,
-- the row types of views and foreign tables included.
consists_of(part, type) AS (
    SELECT typelem, oid FROM pg_type WHERE typsubscript = 'array_subscript_handler'::regproc
    UNION ALL
    SELECT typbasetype, oid FROM pg_type WHERE typbasetype <> 0
    UNION ALL
    SELECT part, type
    FROM pg_range,
         LATERAL (VALUES (rngsubtype, rngtypid), (rngtypid, rngmultitypid)) AS of_range (part, type)
    UNION ALL
    SELECT atttypid, reltype
    FROM pg_attribute
    JOIN pg_class AS c ON c.oid = attrelid AND relkind IN ('c', 'v', 'f')
    WHERE NOT attisdropped
),

-- a row: a retyped column's relation, and its row type or a type that consists of this.
row_types(relation, type) AS (
    SELECT relation, row_type FROM retyped WHERE row_type <> 0
    UNION
    SELECT relation, consists_of.type FROM row_types JOIN consists_of ON part = row_types.type
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

-- a row: a retyped column, and an object that depends on its type, so that PostgreSQL refuses to
-- change it, or that depends on such an object. Where object is no whole, it cannot be created
-- again.
--
-- Expressions that use the row type count, too: from 15.20, 16.16, 17.12 and 18.7 on, PostgreSQL
-- refuses to change it under them, and earlier releases leave them with the old one. Functions,
-- operators and casts that only have it in their signature find it anew in each call.
dependents(relation, number, class, object) AS (
    SELECT r.relation, r.number, coalesce(w.class, p.classid), coalesce(w.object, p.objid)
    FROM retyped AS r
    JOIN pg_depend AS p
        ON (p.refclassid, p.refobjid, p.refobjsubid) = ('pg_class'::regclass, r.relation, r.number::integer)
       AND (p.classid IN (
                'pg_rewrite'::regclass, 'pg_policy'::regclass, 'pg_trigger'::regclass, 'pg_proc'::regclass,
                'pg_publication_rel'::regclass)
            -- A generated column's expression.
            OR p.classid = 'pg_attrdef'::regclass
               AND NOT EXISTS (
                   SELECT
                   FROM pg_attrdef AS d
                   WHERE d.oid = p.objid AND (d.adrelid, d.adnum) = (r.relation, r.number)
               ))
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
              WHEN 'pg_proc'::regclass
                  THEN concat(f.prosqlbody, f.proargdefaults) ~ format('\m%s\M', row_types.type)
              WHEN 'pg_type'::regclass THEN d.typdefaultbin::text ~ format('\m%s\M', row_types.type)
              ELSE p.classid NOT IN ('pg_operator'::regclass, 'pg_cast'::regclass)
          END
    UNION
    SELECT d.relation, d.number, coalesce(w.class, p.classid), coalesce(w.object, p.objid)
    FROM dependents AS d
    JOIN wholes AS part ON (part.class, part.object) = (d.class, d.object)
    JOIN pg_depend AS p ON (p.refclassid, p.refobjid) = (part.part_class, part.part)
    LEFT JOIN wholes AS w ON (w.part_class, w.part) = (p.classid, p.objid)
)
