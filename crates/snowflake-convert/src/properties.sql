-- The statements that give objects what CREATE does not: privileges, comments, security labels, and
-- the extensions that they depend on.
--
-- $1 names the objects: the OIDs of their catalog and of themselves, as in 1259:16400, with spaces
-- between them. A row without a key is an obstacle: privileges that others have granted.
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
    JOIN pg_class ON class = 'pg_class'::regclass AND pg_class.oid = object AND relkind IN ('v', 'm'),
         LATERAL (
             SELECT attname, attacl FROM pg_attribute WHERE attrelid = object AND attacl IS NOT NULL OFFSET 0
         ) AS a
),

-- a row: a privilege that a role has, and who has granted it.
grants AS (
    SELECT key, keyword, identity, of_column, owner, grantor, grantee, privilege_type, is_grantable, place,
           privilege_type || coalesce(' (' || of_column || ')', '') AS privilege,
           CASE grantee WHEN 0 THEN 'PUBLIC' ELSE quote_ident(pg_get_userbyid(grantee)) END AS name
    FROM acls,
         aclexplode(coalesce(acl, acldefault(kind, owner)))
             WITH ORDINALITY AS entry (grantor, grantee, privilege_type, is_grantable, place)
),

-- a row: a grant that the object has to have: to one role, by one role, with all privileges of
-- these, and with the owner's statement for it.
wanted AS (
    SELECT key, of_column, owner, grantee, grantor, is_grantable, privileges, place,
           format(
               'GRANT %s ON %s %s TO %s%s;', privileges, keyword, identity, name,
               CASE WHEN is_grantable THEN ' WITH GRANT OPTION' END) AS statement
    FROM (
        SELECT key, keyword, identity, of_column, owner, grantee, name, grantor, is_grantable,
               string_agg(privilege, ', ' ORDER BY privilege_type) AS privileges, min(place) AS place
        FROM grants
        GROUP BY 1, 2, 3, 4, 5, 6, 7, 8, 9
    ) AS grouped
),

-- a row: a statement of the owner's, in the order of rank and place. After all of them, the
-- privileges that others have granted are the owner's grants. The option to grant is taken from those
-- who have it from the owner, and what they and others have granted goes with it. Who has granted a
-- privilege on a column might have the option for the whole relation alone, which PostgreSQL does not
-- look at: it is given for the column first.
mending(key, rank, place, statement) AS (
    SELECT key, 1, min(place),
           format(
               'REVOKE GRANT OPTION FOR %s ON %s %s FROM %s CASCADE;',
               string_agg(privilege, ', ' ORDER BY privilege_type), keyword, identity, name)
    FROM grants AS g
    WHERE grantor = owner
      AND of_column IS NULL
      AND EXISTS (
          SELECT
          FROM grants AS other
          WHERE (other.key, other.grantor, other.privilege_type) = (g.key, g.grantee, g.privilege_type)
            AND other.of_column IS NULL
            AND other.grantor <> other.owner
      )
    GROUP BY key, keyword, identity, name
    UNION ALL
    SELECT key, 2, min(place),
           format(
               'GRANT %1$s ON %2$s %3$s TO %4$I WITH GRANT OPTION; '
               'REVOKE GRANT OPTION FOR %1$s ON %2$s %3$s FROM %4$I CASCADE;',
               privilege, keyword, identity, pg_get_userbyid(grantor))
    FROM grants
    WHERE grantor <> owner AND of_column IS NOT NULL
    GROUP BY key, keyword, identity, privilege, grantor
    UNION ALL
    SELECT key, 3, place, statement FROM wanted WHERE grantor <> owner
),

-- a row: an object on which others than the owner have granted privileges, with these roles.
of_others AS (
    SELECT key, owner, string_agg(DISTINCT quote_ident(pg_get_userbyid(grantor)), ', ') AS grantors
    FROM grants
    WHERE grantor <> owner
    GROUP BY 1, 2
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

-- a row: a statement, in the order of rank and place.
statements(key, rank, place, statement) AS (
    SELECT key, 2, 0,
           format(
               'REVOKE ALL ON %s %s FROM %s;',
               keyword, identity,
               CASE grantee WHEN 0 THEN 'PUBLIC' ELSE quote_ident(pg_get_userbyid(grantee)) END)
    FROM revoked
    UNION ALL
    SELECT key, 3, place, statement
    FROM wanted
    WHERE of_column IS NOT NULL
       OR (key, grantee) IN (SELECT key, grantee FROM revoked)
       OR (key, grantee, grantor, is_grantable, privileges) NOT IN (
           SELECT key, grantee, grantor, is_grantable, privileges FROM given WHERE NOT by_default_privileges
       )
    UNION ALL
    SELECT key, 5, 0, format('COMMENT ON %s %s IS %L;', keyword, identity, description)
    FROM parts
    JOIN pg_description ON (classoid, objoid, objsubid) = (class, object, number)
    UNION ALL
    SELECT key, 6, 0, format('SECURITY LABEL FOR %I ON %s %s IS %L;', provider, keyword, identity, label)
    FROM parts
    JOIN pg_seclabel ON (classoid, objoid, objsubid) = (class, object, number)
    UNION ALL
    SELECT key, 7, 0, format('ALTER %s %s DEPENDS ON EXTENSION %I;', keyword, identity, extname)
    FROM objects
    JOIN pg_depend AS d ON (d.classid, d.objid, d.deptype) = (class, object, 'x')
    JOIN pg_extension AS e ON (d.refclassid, d.refobjid) = ('pg_extension'::regclass, e.oid)
)

SELECT key, text, object, message, detail, hint
FROM (
    SELECT key, statement AS text, NULL AS object, NULL AS message, NULL AS detail, NULL AS hint,
           key AS place_of, rank, place
    FROM statements
    UNION ALL
    SELECT NULL, '2BP01', format('%s %s', type, identity),
           format('privileges on %s %s were granted by others than its owner: %s', type, identity, grantors),
           format(
               'It is created again as its owner, %I, and nobody but a grantor can grant in his own name.',
               pg_get_userbyid(owner)),
           format(
               'Execute as %I: %s', pg_get_userbyid(owner),
               (
                   SELECT string_agg(statement, ' ' ORDER BY rank, place, statement)
                   FROM mending
                   WHERE mending.key = of_others.key
               )),
           key, 0, 0
    FROM of_others
    JOIN objects USING (key)
) AS rows
ORDER BY place_of, rank, place, text
