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

-- a row: an object of a kind that is called or read, with its owner and its schema.
owners(class, object, owner, schema) AS (
    SELECT 'pg_class'::regclass, oid, relowner, relnamespace FROM pg_class
    UNION ALL SELECT 'pg_proc'::regclass, oid, proowner, pronamespace FROM pg_proc
    UNION ALL SELECT 'pg_type'::regclass, oid, typowner, typnamespace FROM pg_type
    UNION ALL SELECT 'pg_operator'::regclass, oid, oprowner, oprnamespace FROM pg_operator
    UNION ALL SELECT 'pg_opclass'::regclass, oid, opcowner, opcnamespace FROM pg_opclass
    UNION ALL SELECT 'pg_opfamily'::regclass, oid, opfowner, opfnamespace FROM pg_opfamily
    UNION ALL SELECT 'pg_collation'::regclass, oid, collowner, collnamespace FROM pg_collation
    UNION ALL SELECT 'pg_ts_config'::regclass, oid, cfgowner, cfgnamespace FROM pg_ts_config
    UNION ALL SELECT 'pg_ts_dict'::regclass, oid, dictowner, dictnamespace FROM pg_ts_dict
    UNION ALL SELECT 'pg_language'::regclass, oid, lanowner, NULL FROM pg_language
),

-- a row: an object, and one that is called or read where it is evaluated or parsed again: by the
-- rule of a view, the constraints of a domain, the checks, indexes, statistics and virtual columns
-- of a table and of what inherits it, by policies that hold for the owner, and by everything else
-- by itself.
needs(class, object, needed_class, needed) AS (
    SELECT CASE
               WHEN relation IS NOT NULL THEN 'pg_class'::regclass
               WHEN contypid <> 0 THEN 'pg_type'::regclass
               ELSE p.classid
           END,
           coalesce(relation, nullif(contypid, 0), p.objid), p.refclassid, p.refobjid
    FROM pg_depend AS p
    LEFT JOIN pg_constraint AS k ON p.classid = 'pg_constraint'::regclass AND k.oid = p.objid
    LEFT JOIN LATERAL (
        SELECT ev_class
        FROM pg_rewrite
        WHERE p.classid = 'pg_rewrite'::regclass AND oid = p.objid AND rulename = '_RETURN'
        UNION ALL
        SELECT indrelid FROM pg_index WHERE p.classid = 'pg_class'::regclass AND indexrelid = p.objid
        UNION ALL
        SELECT stxrelid
        FROM pg_statistic_ext
        WHERE p.classid = 'pg_statistic_ext'::regclass AND oid = p.objid
        UNION ALL
        SELECT adrelid
        FROM pg_attrdef AS d
        WHERE p.classid = 'pg_attrdef'::regclass
          AND d.oid = p.objid
          AND (SELECT attgenerated FROM pg_attribute WHERE (attrelid, attnum) = (adrelid, adnum)) = 'v'
        UNION ALL
        SELECT polrelid
        FROM pg_policy JOIN pg_class AS c ON c.oid = polrelid
        WHERE p.classid = 'pg_policy'::regclass
          AND pg_policy.oid = p.objid
          AND relrowsecurity
          AND (relforcerowsecurity OR relowner <> (SELECT role FROM the_owner))
        UNION ALL SELECT conrelid WHERE conrelid <> 0 AND contype IN ('c', 'x')
    ) AS whole (relation) ON true
    -- What initdb created has the OIDs below this one.
    WHERE p.deptype IN ('n', 'a')
      AND p.refobjid >= 16384
      AND (p.classid <> 'pg_class'::regclass OR relation IS NOT NULL)
    UNION ALL
    SELECT 'pg_class'::regclass, inhparent, 'pg_class'::regclass, inhrelid FROM pg_inherits
    UNION ALL
    -- Types bring casts with them, which an expression need not depend on, and which it can get later.
    SELECT 'pg_class'::regclass, attrelid, 'pg_type'::regclass, atttypid
    FROM pg_attribute
    WHERE attnum > 0 AND NOT attisdropped AND atttypid >= 16384
    UNION ALL
    SELECT 'pg_type'::regclass, oid, 'pg_type'::regclass, typelem FROM pg_type WHERE typelem >= 16384
    UNION ALL
    SELECT 'pg_type'::regclass, t.oid, 'pg_type'::regclass, atttypid
    FROM pg_type AS t
    JOIN pg_attribute ON attrelid = typrelid AND attnum > 0 AND NOT attisdropped AND atttypid >= 16384
    UNION ALL
    SELECT 'pg_type'::regclass, rngmultitypid, 'pg_type'::regclass, rngtypid
    FROM pg_range
    WHERE rngtypid >= 16384
    UNION ALL
    -- Who owns one of the two types creates a cast. That of a type which is not called by anything is
    -- nobody's concern.
    SELECT 'pg_type'::regclass, one.oid, 'pg_proc'::regclass, castfunc
    FROM pg_cast
    JOIN pg_type AS one ON one.oid IN (castsource, casttarget) AND one.oid >= 16384
    JOIN pg_type AS other ON other.oid = castsource::bigint + casttarget::bigint - one.oid::bigint
    WHERE castfunc >= 16384 AND (other.oid < 16384 OR other.typowner = one.typowner)
),

-- a row: an object that is called or read, directly or not, by what is executed.
uses(class, object) AS (
    SELECT needed_class, needed FROM executed JOIN needs USING (class, object)
    UNION
    SELECT needed_class, needed FROM uses JOIN needs USING (class, object)
),

-- a row: such an object with its owner, unless it is bound, and so has been judged by that already.
used(class, object, owner, schema, description) AS (
    SELECT class, object, owner, schema, pg_describe_object(class, object, 0)
    FROM uses
    JOIN owners USING (class, object)
    WHERE (class, object) NOT IN (SELECT class, object FROM bound)
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
