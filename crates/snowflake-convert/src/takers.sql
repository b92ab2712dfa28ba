-- What else depends on the sequence of a key, and what rules write keys into. The query begins with
-- keys.sql and depending.sql.
,
-- a row: the sequence of keys that are to be converted, with these, and an object that depends on it
-- and is not the default of one of them. Where it does not hold back the conversion, it only reads the
-- sequence, or it is a function, of which nobody can tell what it does with it.
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
                  WHEN 'pg_proc'::regclass THEN false
                  -- A column of a domain cannot be converted, and has keys of its own.
                  WHEN 'pg_attrdef'::regclass THEN NOT d.is_domain
                  WHEN 'pg_type'::regclass THEN true
                  ELSE coalesce(calls_nextval OR NOT is_view, false)
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
        SELECT ev_class, rulename = '_RETURN',
               concat(ev_qual, ev_action) ~ format(':funcid %s ', 'nextval(regclass)'::regprocedure::oid)
        FROM pg_rewrite
        WHERE p.class = 'pg_rewrite'::regclass AND oid = p.object
        OFFSET 0
    ) AS r (ev_class, is_view, calls_nextval) ON true
    WHERE c.in_family
      AND NOT takes_ids
      AND NOT is_passed_over
      AND (d.relation IS NULL
           OR (d.relation, d.number) NOT IN (SELECT relation, number FROM columns WHERE in_family))
    GROUP BY c.sequence_name, p.class, p.object, d.relation, d.number, d.kind, d.name, d.is_domain,
             ev_class, is_view, calls_nextval
),

-- a row: a rule that writes a column which becomes bigint into one that stays an integer, as it is.
-- The rule depends on both columns, and its tree has a target of that number, whose expression is
-- nothing but the other column in the old or the new row.
narrow_rules(relation_name, column_name, description, other_name, written_name, type) AS (
    SELECT DISTINCT r.relation_name, r.column_name, pg_describe_object('pg_rewrite'::regclass, rule.oid, 0),
           format('%I.%I', nspname, c.relname), quote_ident(a.attname), a.atttypid::regtype
    FROM retyped AS r,
         LATERAL (
             SELECT objid
             FROM pg_depend
             WHERE (refclassid, refobjid, refobjsubid, classid)
                   = ('pg_class'::regclass, r.relation, r.number::integer, 'pg_rewrite'::regclass)
             OFFSET 0
         ) AS p,
         LATERAL (
             SELECT oid, ev_action
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
             SELECT attname, atttypid
             FROM pg_attribute
             WHERE (attrelid, attnum) = (written.refobjid, written.refobjsubid)
               AND atttypid IN ('smallint'::regtype, 'integer'::regtype)
             OFFSET 0
         ) AS a,
         LATERAL (SELECT relname, relnamespace FROM pg_class WHERE oid = written.refobjid OFFSET 0) AS c
    JOIN pg_namespace AS n ON n.oid = c.relnamespace
    WHERE (written.refobjid, written.refobjsubid) NOT IN (SELECT relation, number FROM retyped)
      AND rule.ev_action::text ~ format(
          '\{TARGETENTRY :expr \{VAR :varno [12] :varattno %s [^{}]*\} :resno %s ',
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
           format('%s writes column %s into an integer', description, column_name),
           format('Column %s of table %s has type %s.', written_name, other_name, type),
           format(
               'Drop the rule, run ALTER TABLE %s ALTER COLUMN %s TYPE bigint, and create the rule again.',
               other_name, written_name)
    FROM narrow_rules
)
