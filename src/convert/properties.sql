-- The statements that give objects what CREATE does not: privileges, comments, security labels, and
-- the extensions that they depend on.
--
-- $1 names the objects: the OIDs of their catalog and of themselves, as in 1259:16400, with spaces
-- between them.
WITH
-- a row: an object that is named.
objects AS (
    SELECT key, class, object, i.type, i.identity,
           CASE
               WHEN i.type IN ('function', 'procedure') THEN 'ROUTINE'
               WHEN i.type = 'table constraint' THEN 'CONSTRAINT'
               WHEN i.type = 'statistics object' THEN 'STATISTICS'
               ELSE upper(i.type)
           END AS keyword
    FROM (SELECT DISTINCT string_to_table($1::text, ' ')) AS keys (key),
         LATERAL (SELECT split_part(key, ':', 1)::oid, split_part(key, ':', 2)::oid) AS parts (class, object),
         pg_identify_object(class, object, 0) AS i
    WHERE key <> ''
),

-- a row: an object, or a column of one that is a relation.
parts AS (
    SELECT key, class, object, 0 AS number, keyword, identity, NULL AS of_column FROM objects
    UNION ALL
    SELECT key, class, object, attnum, 'COLUMN', format('%s.%I', identity, attname), attname
    FROM objects
    JOIN pg_attribute
        ON class = 'pg_class'::regclass
       AND keyword <> 'INDEX'
       AND attrelid = object
       AND attnum > 0
       AND NOT attisdropped
),

-- a row: an object or a column that has privileges, with these.
acls AS (
    SELECT key, CASE relkind WHEN 'S' THEN 'SEQUENCE' ELSE 'TABLE' END AS keyword, identity,
           NULL AS of_column,
           relowner AS owner, relnamespace AS schema,
           CASE relkind WHEN 'S' THEN 's' ELSE 'r' END::"char" AS kind, relacl AS acl
    FROM objects
    JOIN pg_class ON class = 'pg_class'::regclass AND pg_class.oid = object AND relkind IN ('v', 'm', 'S')
    UNION ALL
    SELECT key, 'ROUTINE', identity, NULL, proowner, pronamespace, 'f'::"char", proacl
    FROM objects
    JOIN pg_proc ON class = 'pg_proc'::regclass AND pg_proc.oid = object
    UNION ALL
    SELECT key, 'TABLE', identity, quote_ident(attname), relowner, NULL, 'c'::"char", attacl
    FROM objects
    JOIN pg_class ON class = 'pg_class'::regclass AND pg_class.oid = object AND relkind IN ('v', 'm')
    JOIN pg_attribute ON attrelid = object AND attacl IS NOT NULL
),

-- a row: a grant that the object has to have: to one role, by one role, with all privileges of
-- these.
wanted AS (
    SELECT key, keyword, identity, of_column, owner, schema, kind, grantee, grantor, is_grantable,
           string_agg(
               privilege_type || coalesce(' (' || of_column || ')', ''), ', '
               ORDER BY privilege_type) AS privileges,
           min(place) AS place
    FROM acls,
         aclexplode(coalesce(acl, acldefault(kind, owner)))
             WITH ORDINALITY AS privilege (grantor, grantee, privilege_type, is_grantable, place)
    GROUP BY 1, 2, 3, 4, 5, 6, 7, 8, 9, 10
),

-- a row: a grant that a new object has by itself. With those of ALTER DEFAULT PRIVILEGES, only the
-- role is known.
given AS (
    SELECT key, keyword, identity, owner, grantee, owner AS grantor, is_grantable,
           string_agg(privilege_type, ', ' ORDER BY privilege_type) AS privileges,
           false AS by_default_privileges
    FROM acls, aclexplode(acldefault(kind, owner))
    WHERE of_column IS NULL
    GROUP BY 1, 2, 3, 4, 5, 6, 7
    UNION ALL
    SELECT DISTINCT key, keyword, identity, owner, grantee, owner, false, NULL, true
    FROM acls
    JOIN pg_default_acl
        ON defaclrole = owner
       AND defaclobjtype = CASE kind WHEN 's' THEN 'S' ELSE kind END
       AND defaclnamespace IN (0, schema),
         LATERAL (
             SELECT grantee FROM aclexplode(defaclacl)
             UNION SELECT grantee FROM aclexplode(acldefault(kind, owner))
         ) AS grantees
    WHERE of_column IS NULL
),

-- a row: a role that would have other privileges than are wanted, and loses all of them first.
revoked AS (
    SELECT DISTINCT key, keyword, identity, owner, grantee
    FROM given
    WHERE by_default_privileges
       OR (key, grantee, grantor, is_grantable, privileges) NOT IN (
           SELECT key, grantee, grantor, is_grantable, privileges FROM wanted WHERE of_column IS NULL
       )
),

-- a row: a statement, and as whom it runs, unless as the owner.
statements(key, rank, place, statement, role) AS (
    SELECT key, 2, 0,
           format(
               'REVOKE ALL ON %s %s FROM %s;',
               keyword, identity,
               CASE grantee WHEN 0 THEN 'PUBLIC' ELSE quote_ident(pg_get_userbyid(grantee)) END),
           NULL::oid
    FROM revoked
    UNION ALL
    -- Those who grant have the right to do so first.
    SELECT key, CASE WHEN grantor = owner THEN 3 ELSE 4 END, place,
           format(
               'GRANT %s ON %s %s TO %s%s;',
               privileges, keyword, identity,
               CASE grantee WHEN 0 THEN 'PUBLIC' ELSE quote_ident(pg_get_userbyid(grantee)) END,
               CASE WHEN is_grantable THEN ' WITH GRANT OPTION' ELSE '' END),
           nullif(grantor, owner)
    FROM wanted
    WHERE of_column IS NOT NULL
       OR (key, grantee) IN (SELECT key, grantee FROM revoked)
       OR (key, grantee, grantor, is_grantable, privileges) NOT IN (
           SELECT key, grantee, grantor, is_grantable, privileges FROM given WHERE NOT by_default_privileges
       )
    UNION ALL
    SELECT key, 5, 0, format('COMMENT ON %s %s IS %L;', keyword, identity, description), NULL
    FROM parts
    JOIN pg_description ON (classoid, objoid, objsubid) = (class, object, number)
    UNION ALL
    SELECT key, 6, 0, format('SECURITY LABEL FOR %I ON %s %s IS %L;', provider, keyword, identity, label),
           NULL
    FROM parts
    JOIN pg_seclabel ON (classoid, objoid, objsubid) = (class, object, number)
    UNION ALL
    SELECT key, 7, 0, format('ALTER %s %s DEPENDS ON EXTENSION %I;', keyword, identity, extname), NULL
    FROM objects
    JOIN pg_depend AS d ON (d.classid, d.objid, d.deptype) = (class, object, 'x')
    JOIN pg_extension AS e ON (d.refclassid, d.refobjid) = ('pg_extension'::regclass, e.oid)
)

SELECT key, statement, role, format('pg_get_object_address(%L, %L, %L)', a.type, object_names, object_args)
FROM statements
JOIN objects USING (key),
     pg_identify_object_as_address(class, object, 0) AS a
ORDER BY key, rank, place, statement
