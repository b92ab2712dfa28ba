-- What else depends on the sequence of a key, and what rules write keys into. The query begins with
-- keys.sql and depending.sql.
,
-- a row: the sequence of keys that are to be converted, with these, and an object that depends on it
-- and is not the default of one of them. Where it does not hold back the conversion, it only reads the
-- sequence, or the body of a function does, of which nobody can tell what it does with it.
takers(relation_name, keys, sequence_name, description, remedy, is_obstacle) AS (
    SELECT min(c.relation_name),
           string_agg(DISTINCT format('%s.%s', c.relation_name, c.column_name), ', '), c.sequence_name,
           CASE
               WHEN d.relation IS NOT NULL
                   THEN 'the default of ' || pg_describe_object('pg_class'::regclass, d.relation, d.number)
               WHEN is_view THEN pg_describe_object('pg_class'::regclass, ev_class, 0)
               ELSE pg_describe_object(p.class, p.object, 0)
           END,
           format(
               CASE
                   WHEN d.kind IN ('r', 'p')
                       THEN 'Convert its column in the same call, with schema, or run %s first.'
                   WHEN d.relation IS NOT NULL THEN 'Run %s first.'
                   ELSE 'Let it call snowflake_nextval(), or drop it, first.'
               END,
               format(
                   'ALTER TABLE %s ALTER COLUMN %s DROP DEFAULT', d.relation::regclass,
                   quote_ident(d.name))),
           -- The sequence of an identity goes with it.
           bool_or(identity <> '')
           OR CASE p.class
                  -- A column of a domain cannot be converted, and has keys of its own.
                  WHEN 'pg_attrdef'::regclass THEN NOT d.is_domain
                  WHEN 'pg_type'::regclass THEN true
                  ELSE coalesce(
                      tree ~ format(':funcid %s ', 'nextval(regclass)'::regprocedure::oid) OR NOT is_view,
                      false)
              END
    FROM columns AS c,
         LATERAL (
             SELECT classid, objid
             FROM pg_depend
             WHERE (refclassid, refobjid, deptype) = ('pg_class'::regclass, c.sequence, 'n')
             OFFSET 0
         ) AS p (class, object)
    LEFT JOIN LATERAL (
        SELECT adrelid, adnum, kind, attname,
               kind <> 'v' AND (SELECT typbasetype FROM pg_type WHERE oid = atttypid) <> 0
        FROM pg_attrdef,
             LATERAL (SELECT relkind FROM pg_class WHERE oid = adrelid OFFSET 0) AS c (kind),
             LATERAL (
                 SELECT attname, atttypid
                 FROM pg_attribute
                 WHERE (attrelid, attnum) = (adrelid, adnum)
                 OFFSET 0
             ) AS a
        WHERE p.class = 'pg_attrdef'::regclass AND oid = p.object
        OFFSET 0
    ) AS d (relation, number, kind, name, is_domain) ON true
    LEFT JOIN LATERAL (
        SELECT ev_class, rulename = '_RETURN', concat(ev_qual, ev_action)
        FROM pg_rewrite
        WHERE p.class = 'pg_rewrite'::regclass AND oid = p.object
        UNION ALL
        SELECT NULL, NULL, conbin::text
        FROM pg_constraint
        WHERE p.class = 'pg_constraint'::regclass AND oid = p.object
        UNION ALL
        SELECT NULL, NULL, concat(polqual, polwithcheck)
        FROM pg_policy
        WHERE p.class = 'pg_policy'::regclass AND oid = p.object
        UNION ALL
        SELECT NULL, NULL, tgqual::text
        FROM pg_trigger
        WHERE p.class = 'pg_trigger'::regclass AND oid = p.object
        UNION ALL
        SELECT NULL, NULL, proargdefaults::text
        FROM pg_proc
        WHERE p.class = 'pg_proc'::regclass AND oid = p.object
        OFFSET 0
    ) AS r (ev_class, is_view, tree) ON true
    WHERE c.in_family
      AND NOT takes_ids
      AND NOT is_passed_over
      AND (d.relation IS NULL
           OR (d.relation, d.number) NOT IN (SELECT relation, number FROM columns WHERE in_family))
    GROUP BY c.sequence_name, p.class, p.object, d.relation, d.number, d.kind, d.name, d.is_domain,
             ev_class, is_view, tree
),

-- a row: a rule that writes a column which becomes bigint into one that cannot hold a key: an integer, an
-- OID, a number or a text of fewer characters than the next ID has, or a real, which rounds it. The rule
-- depends on both columns and changes the other, and its tree has a target of that number, whose expression
-- is nothing but the column in the old or the new row, or a cast of it. What the rule returns is no target.
narrow_rules(relation_name, column_name, description, other_name, is_view, written_name, type) AS (
    SELECT DISTINCT r.relation_name, r.column_name, pg_describe_object('pg_rewrite'::regclass, rule.oid, 0),
           format('%I.%I', nspname, c.relname), relkind = 'v', quote_ident(a.attname), a.type
    FROM retyped AS r,
         coalesce(length($5::text), 19) AS next (digits),
         LATERAL (
             SELECT objid
             FROM pg_depend
             WHERE (refclassid, refobjid, refobjsubid, classid)
                   = ('pg_class'::regclass, r.relation, r.number::integer, 'pg_rewrite'::regclass)
             OFFSET 0
         ) AS p,
         LATERAL (
             SELECT oid,
                    regexp_replace(ev_action::text, ':returningList .*?:groupClause ', '', 'g') AS action
             FROM pg_rewrite
             WHERE oid = p.objid AND rulename <> '_RETURN' AND ev_class = r.relation
             OFFSET 0
         ) AS rule,
         LATERAL (
             SELECT refobjid, refobjsubid
             FROM pg_depend
             WHERE (classid, objid, refclassid) = ('pg_rewrite'::regclass, rule.oid, 'pg_class'::regclass)
               AND refobjsubid > 0
             OFFSET 0
         ) AS written,
         LATERAL (
             SELECT attname, format_type(atttypid, atttypmod)
             FROM pg_attribute
             WHERE (attrelid, attnum) = (written.refobjid, written.refobjsubid)
               AND CASE
                       WHEN atttypid IN ('varchar'::regtype, 'bpchar'::regtype)
                           THEN atttypmod BETWEEN 4 AND digits + 3
                       -- The precision without the scale, which might be negative.
                       WHEN atttypid = 'numeric'::regtype
                           THEN atttypmod > 3
                                AND ((atttypmod - 4) >> 16) - ((((atttypmod - 4) & 2047) # 1024) - 1024)
                                    < digits
                       ELSE atttypid IN (
                           'smallint'::regtype, 'integer'::regtype, 'oid'::regtype, 'real'::regtype)
                   END
             OFFSET 0
         ) AS a (attname, type),
         LATERAL (
             SELECT relname, relnamespace, relkind FROM pg_class WHERE oid = written.refobjid OFFSET 0
         ) AS c
    JOIN pg_namespace AS n ON n.oid = c.relnamespace
    WHERE (written.refobjid, written.refobjsubid) NOT IN (SELECT relation, number FROM retyped)
      -- The numbers of columns that are changed begin above those of system columns.
      AND rule.action ~ format(
          ':relid %s [^{}]*:(insertedCols|updatedCols) \(b[ \d]* %s\M',
          written.refobjid, written.refobjsubid + 7)
      AND rule.action ~ format(
          '\{TARGETENTRY :expr '
          '(\{FUNCEXPR [^{}]*:funcformat [12] [^{}]*:args \(|\{(COERCEVIAIO|RELABELTYPE) :arg )*'
          '\{VAR :varno [12] :varattno %s [^{}]*\}([^{]|\{CONST [^{}]*\})*? :resno %s ',
          r.number, written.refobjsubid)
),

-- a row: a reason why keys cannot be converted, as in common_obstacles.
key_obstacles(rank, sqlstate, object, message, detail, hint) AS (
    SELECT 10, '2BP01', relation_name,
           format('%s depends on sequence %s', description, sequence_name),
           format('It would go on with keys of the old kind, while these take snowflake IDs: %s.', keys),
           remedy
    FROM takers
    WHERE is_obstacle
    UNION ALL
    SELECT 10, '2BP01', relation_name,
           format(
               '%s writes column %s into %s', description, column_name,
               CASE WHEN type IN ('smallint', 'integer') THEN 'an integer' ELSE type END),
           format(
               'Column %s of %s %s has type %s.', written_name,
               CASE WHEN is_view THEN 'view' ELSE 'table' END, other_name, type),
           format(
               CASE
                   WHEN is_view THEN 'Drop the rule, let %2$s of view %1$s be a bigint, and create it again.'
                   ELSE
                       'Drop the rule, run ALTER TABLE %s ALTER COLUMN %s TYPE bigint, and create the rule '
                       'again.'
               END,
               other_name, written_name)
    FROM narrow_rules
)
