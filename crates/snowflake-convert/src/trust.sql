-- The rule that keeps a conversion from running anybody's code with the rights of another role: it
-- has one owner, as whom all of it runs. What it changes belongs to this role. What that calls or
-- reads, and the schemas in which names are looked up, belong to this role or to a superuser.
--
-- The query defines before: the_owner(role); bound(class, object, owner, schema), what is changed;
-- and executed(class, object), what has expressions that are evaluated, or parsed again.
,
-- a row: a role that may own the rest. pg_database_owner stands for the owner of the database.
trusted(role) AS (
    SELECT role FROM the_owner
    UNION
    SELECT oid FROM pg_roles WHERE rolsuper
    UNION
    SELECT 'pg_database_owner'::regrole
    FROM pg_database
    JOIN pg_roles AS r ON r.oid = datdba
    WHERE datname = current_database() AND (r.rolsuper OR r.oid = (SELECT role FROM the_owner))
),

-- a row: a schema with its owner, and the roles that are not trusted and may create objects in it.
schemas(schema, name, owner, is_trusted, creators) AS (
    SELECT oid, quote_ident(nspname), nspowner, nspowner IN (SELECT role FROM trusted),
           (
               SELECT string_agg(
                          DISTINCT CASE grantee
                                       WHEN 0 THEN 'PUBLIC'
                                       ELSE quote_ident(pg_get_userbyid(grantee))
                                   END,
                          ', ')
               FROM aclexplode(coalesce(nspacl, acldefault('n', nspowner)))
               WHERE privilege_type = 'CREATE' AND grantee NOT IN (SELECT role FROM trusted)
           )
    FROM pg_namespace
),

-- a row: what is executed, or what that calls or reads, directly or not: where an object is evaluated
-- or parsed again, this is done by the rule of a view, the constraints of a domain, the checks,
-- indexes, statistics and virtual columns of a table and of what inherits it, by policies that hold
-- for the owner, and by everything else by itself. The planner expects few rows, as of the recursions
-- in depending.sql.
uses(class, object, is_used) AS (
    SELECT class, object, false FROM executed WHERE object = object::bigint::oid
    UNION
    SELECT needed.*, true
    FROM uses,
         LATERAL (
             SELECT refclassid, refobjid
             FROM (
                 SELECT uses.class, uses.object WHERE class <> 'pg_class'::regclass
                 UNION ALL
                 SELECT 'pg_constraint'::regclass, oid
                 FROM pg_constraint
                 WHERE class = 'pg_type'::regclass AND contypid = object
                 UNION ALL
                 SELECT part.*
                 FROM (
                     SELECT 'pg_rewrite'::regclass, oid
                     FROM pg_rewrite
                     WHERE ev_class = object AND rulename = '_RETURN'
                     UNION ALL
                     SELECT class, indexrelid FROM pg_index WHERE indrelid = object
                     UNION ALL
                     SELECT 'pg_statistic_ext'::regclass, oid FROM pg_statistic_ext WHERE stxrelid = object
                     UNION ALL
                     SELECT 'pg_attrdef'::regclass, oid
                     FROM pg_attrdef
                     JOIN pg_attribute ON (attrelid, attnum) = (adrelid, adnum)
                     WHERE adrelid = object AND attgenerated = 'v'
                     UNION ALL
                     SELECT 'pg_policy'::regclass, p.oid
                     FROM pg_policy AS p
                     JOIN pg_class AS c ON c.oid = polrelid
                     WHERE polrelid = object
                       AND relrowsecurity
                       AND (relforcerowsecurity OR relowner <> (SELECT role FROM the_owner))
                     UNION ALL
                     SELECT 'pg_constraint'::regclass, oid
                     FROM pg_constraint
                     WHERE conrelid = object AND contype IN ('c', 'x')
                 ) AS part
                 WHERE class = 'pg_class'::regclass
             ) AS parts (part_class, part),
                  LATERAL (
                      SELECT refclassid, refobjid
                      FROM pg_depend
                      WHERE (classid, objid) = (part_class, part)
                        AND deptype IN ('n', 'a')
                        -- What initdb created has the OIDs below this one.
                        AND refobjid >= 16384
                      OFFSET 0
                  ) AS p
             UNION ALL
             SELECT 'pg_class'::regclass, inhrelid
             FROM pg_inherits
             WHERE class = 'pg_class'::regclass AND inhparent = object
             UNION ALL
             -- Types bring casts with them, which an expression need not depend on, and which it can
             -- get later.
             SELECT 'pg_type'::regclass, atttypid
             FROM pg_attribute
             WHERE attrelid = CASE class
                                  WHEN 'pg_class'::regclass THEN object
                                  WHEN 'pg_type'::regclass
                                      THEN (SELECT typrelid FROM pg_type WHERE oid = object)
                              END
               AND attnum > 0
               AND NOT attisdropped
               AND atttypid >= 16384
             UNION ALL
             SELECT class, typelem
             FROM pg_type
             WHERE class = 'pg_type'::regclass AND oid = object AND typelem >= 16384
             UNION ALL
             SELECT class, rngtypid
             FROM pg_range
             WHERE class = 'pg_type'::regclass AND rngmultitypid = object AND rngtypid >= 16384
             UNION ALL
             -- Who owns one of the two types creates a cast. That of a type which is not called by
             -- anything is nobody's concern.
             SELECT 'pg_proc'::regclass, castfunc
             FROM pg_cast
             JOIN pg_type AS one ON one.oid = object
             JOIN pg_type AS other ON other.oid = castsource::bigint + casttarget::bigint - object::bigint
             WHERE class = 'pg_type'::regclass
               AND object IN (castsource, casttarget)
               AND castfunc >= 16384
               AND (other.oid < 16384 OR other.typowner = one.typowner)
         ) AS needed
    WHERE uses.object = uses.object::bigint::oid
),

-- a row: an object that is called or read, with its owner and its schema, unless it is bound, and so
-- has been judged by that already.
used(class, object, owner, schema, description) AS (
    SELECT class, object, owner, schema, pg_describe_object(class, object, 0)
    FROM uses,
         LATERAL (
             SELECT relowner, relnamespace FROM pg_class WHERE class = 'pg_class'::regclass AND oid = object
             UNION ALL
             SELECT proowner, pronamespace FROM pg_proc WHERE class = 'pg_proc'::regclass AND oid = object
             UNION ALL
             SELECT typowner, typnamespace FROM pg_type WHERE class = 'pg_type'::regclass AND oid = object
             UNION ALL
             SELECT oprowner, oprnamespace
             FROM pg_operator
             WHERE class = 'pg_operator'::regclass AND oid = object
             UNION ALL
             SELECT opcowner, opcnamespace
             FROM pg_opclass
             WHERE class = 'pg_opclass'::regclass AND oid = object
             UNION ALL
             SELECT opfowner, opfnamespace
             FROM pg_opfamily
             WHERE class = 'pg_opfamily'::regclass AND oid = object
             UNION ALL
             SELECT collowner, collnamespace
             FROM pg_collation
             WHERE class = 'pg_collation'::regclass AND oid = object
             UNION ALL
             SELECT cfgowner, cfgnamespace
             FROM pg_ts_config
             WHERE class = 'pg_ts_config'::regclass AND oid = object
             UNION ALL
             SELECT dictowner, dictnamespace
             FROM pg_ts_dict
             WHERE class = 'pg_ts_dict'::regclass AND oid = object
             UNION ALL
             SELECT lanowner, NULL FROM pg_language WHERE class = 'pg_language'::regclass AND oid = object
         ) AS of_object (owner, schema)
    WHERE is_used AND (class, object) NOT IN (SELECT class, object FROM bound)
),

-- a row: a role or a schema that is in the way.
trust_obstacles(rank, sqlstate, object, message, detail, hint) AS (
    SELECT 2, '42501', format('role %I', pg_get_userbyid(bound.owner)),
           format(
               'objects to be changed belong to %I and to %I',
               pg_get_userbyid(role), pg_get_userbyid(bound.owner)),
           format(
               'A conversion runs as one role, which must own everything that it changes. Of %I: %s.',
               pg_get_userbyid(bound.owner),
               string_agg(
                   DISTINCT pg_describe_object(class, object, 0), ', '
                   ORDER BY pg_describe_object(class, object, 0))),
           'Give all of these objects one owner, or drop what connects them. Tables that are not connected '
           'can be converted one by one.'
    FROM the_owner, bound
    WHERE bound.owner <> role
    GROUP BY role, bound.owner
    UNION ALL
    SELECT 3, '42501', format('schema %s', name),
           format(
               'schema %s belongs to %I, and not to %I or a superuser',
               name, pg_get_userbyid(owner), pg_get_userbyid(role)),
           'The owner of a schema can put other objects in the place of those that the statements name.',
           format(
               'Give all objects to be changed to %I, or run ALTER SCHEMA %s OWNER TO %I, first.',
               CASE owner
                   WHEN 'pg_database_owner'::regrole
                       THEN (
                           SELECT pg_get_userbyid(datdba)
                           FROM pg_database
                           WHERE datname = current_database()
                       )
                   ELSE pg_get_userbyid(owner)
               END,
               name, pg_get_userbyid(role))
    FROM the_owner, schemas
    WHERE NOT is_trusted AND schema IN (SELECT schema FROM bound UNION SELECT schema FROM used)
    UNION ALL
    SELECT 3, '42501', format('role %I', pg_get_userbyid(owner)),
           format(
               'objects that are called or read belong to %I, and not to %I or a superuser',
               pg_get_userbyid(owner), pg_get_userbyid(role)),
           format(
               'They would be used with the rights of %I: %s.',
               pg_get_userbyid(role), string_agg(description, ', ' ORDER BY description)),
           format(
               'Change their owner to %I, or drop the objects that use them first.',
               pg_get_userbyid(role))
    FROM the_owner, used
    WHERE owner NOT IN (SELECT * FROM trusted)
    GROUP BY role, owner
    UNION ALL
    -- Which function or operator a name is that of depends on the types of arguments, which change.
    SELECT 4, '42501', format('schema %s', schemas.name),
           format('others than %I can create objects in schema %s', pg_get_userbyid(role), schemas.name),
           format(
               'After columns change their type, another function or operator could '
               'be called in place of: %s.',
               string_agg(description, ', ' ORDER BY description)),
           format('Run REVOKE CREATE ON SCHEMA %s FROM %s first.', schemas.name, creators)
    FROM the_owner, used
    JOIN schemas USING (schema)
    WHERE creators <> ''
      AND (class = 'pg_operator'::regclass
           OR class = 'pg_proc'::regclass AND (SELECT pronargs FROM pg_proc WHERE oid = object) > 0)
    GROUP BY role, schemas.name, creators
)
