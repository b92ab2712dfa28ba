-- What is dropped so that PostgreSQL changes the type of columns, how it is created again, and what
-- stands in the way of this. The query goes on from creation.sql.
,
-- a row: a reason why an object cannot be dropped, or not be created again.
obstacles(class, object, sqlstate, message, detail) AS (
    SELECT class, object, '2BP01', format('cannot drop %s %s', type, identity),
           format('Extension %I needs it.', extname)
    FROM objects
    JOIN pg_depend AS p ON (p.classid, p.objid, p.deptype) = (class, object, 'e')
    JOIN pg_extension AS e ON (p.refclassid, p.refobjid) = ('pg_extension'::regclass, e.oid)
    UNION ALL
    SELECT class, object, '42501',
           format(
               'owner %I of %s %s lacks CREATE on schema %s',
               pg_get_userbyid(owner), type, identity, schema::regnamespace),
           'It is created again as its owner.'
    FROM objects
    WHERE class IN ('pg_class'::regclass, 'pg_proc'::regclass)
      AND NOT is_temporary
      AND NOT has_schema_privilege(owner, schema, 'CREATE')
    UNION ALL
    SELECT DISTINCT class, object, '42501',
           format(
               'owner %I of %s %s lacks SELECT on %s',
               pg_get_userbyid(owner), type, identity, p.refobjid::regclass),
           'It is refreshed as its owner.'
    FROM views
    JOIN pg_rewrite AS r ON ev_class = object
    JOIN pg_depend AS p
        ON (p.classid, p.objid, p.refclassid) = ('pg_rewrite'::regclass, r.oid, 'pg_class'::regclass)
    JOIN pg_class AS c ON c.oid = p.refobjid AND c.relkind <> 'S'
    WHERE views.relkind = 'm'
      AND views.relispopulated
      AND p.refobjid <> object
      AND NOT CASE p.refobjsubid
                  WHEN 0 THEN has_any_column_privilege(owner, p.refobjid, 'SELECT')
                  ELSE has_column_privilege(owner, p.refobjid, p.refobjsubid::smallint, 'SELECT')
              END
    UNION ALL
    SELECT class, object, '2BP01', format('cannot drop %s %s', type, identity),
           'It is temporary, and belongs to another session.'
    FROM objects
    WHERE is_temporary AND schema <> pg_my_temp_schema()
)

SELECT section, key, text, detail, sqlstate, is_temporary
FROM (
    SELECT 1 AS number, 'drop' AS section, class, object, 0 AS rank,
           format(
               'DROP %s %s;', CASE WHEN type IN ('function', 'procedure') THEN 'ROUTINE' ELSE upper(type) END,
               identity) AS text,
           NULL AS detail, NULL AS sqlstate, is_temporary
    FROM objects
    UNION ALL
    SELECT 2, CASE WHEN rank < 4 THEN 'create' ELSE 'finish' END, class, object, rank, statement, NULL, NULL,
           NULL
    FROM creation
    UNION ALL
    SELECT 3, 'part', class, object, 0, format('%s:%s', w.part_class::oid, w.part), NULL, NULL, NULL
    FROM objects
    JOIN wholes AS w USING (class, object)
    WHERE w.part_class IN ('pg_class'::regclass, 'pg_statistic_ext'::regclass)
          AND NOT EXISTS (
              SELECT
              FROM pg_class
              WHERE w.part_class = 'pg_class'::regclass
                AND oid = w.part
                AND relnamespace = 'pg_toast'::regnamespace
          )
       OR (w.part_class, w.part) = (class, object)
    UNION ALL
    -- What finds it again, once it has been created.
    SELECT 4, 'address', class, object, 0,
           format('pg_get_object_address(%L, %L, %L)', a.type, object_names, object_args), NULL, NULL, NULL
    FROM objects, pg_identify_object_as_address(class, object, 0) AS a
    UNION ALL
    SELECT 4, 'refresh', class, object, 0, format('REFRESH MATERIALIZED VIEW %s;', identity), NULL, NULL,
           NULL
    FROM views
    WHERE relkind = 'm' AND relispopulated
    UNION ALL
    SELECT DISTINCT 5, 'need', one.class, one.object, 0, format('%s:%s', other.class::oid, other.object),
           NULL, NULL, NULL::boolean
    FROM objects AS one
    JOIN wholes AS part ON (part.class, part.object) = (one.class, one.object)
    JOIN pg_depend AS p ON (p.classid, p.objid) = (part.part_class, part.part)
    JOIN wholes AS needed ON (needed.part_class, needed.part) = (p.refclassid, p.refobjid)
    JOIN objects AS other ON (other.class, other.object) = (needed.class, needed.object)
    WHERE (one.class, one.object) <> (other.class, other.object)
    UNION ALL
    SELECT 6, 'obstacle', class, object, 0, message, detail, sqlstate, NULL FROM obstacles
) AS rows,
     LATERAL (SELECT format('%s:%s', class::oid, object) AS key) AS keys
ORDER BY number, key, rank, text
