-- How objects are created again after they were dropped so that PostgreSQL changes the type of
-- columns. The query begins with keys.sql, depending.sql and objects.sql.
,
-- a row: in which sessions a rule or a trigger is fired, as the catalog and ALTER TABLE say it.
states(code, state) AS (
    VALUES ('O'::"char", 'ENABLE'), ('D', 'DISABLE'), ('R', 'ENABLE REPLICA'), ('A', 'ENABLE ALWAYS')
),

-- a row: a view or a materialized view, with the options that its definition does not show.
views AS (
    SELECT objects.*, c.relkind, c.relispopulated, c.reltoastrelid, am.amname, spcname,
           (
               SELECT string_agg(
                          format('%s%I=%L', prefix, split_part(o, '=', 1), substr(o, strpos(o, '=') + 1)),
                          ', ')
               FROM (
                   SELECT '', unnest(c.reloptions)
                   UNION ALL SELECT 'toast.', unnest(t.reloptions)
               ) AS options (prefix, o)
           ) AS options
    FROM objects
    JOIN pg_class AS c ON c.oid = object
    LEFT JOIN pg_class AS t ON t.oid = c.reltoastrelid
    LEFT JOIN pg_am AS am ON am.oid = c.relam
    LEFT JOIN pg_tablespace AS s ON s.oid = c.reltablespace
    WHERE class = 'pg_class'::regclass
),

-- a row: a statement that creates an object or sets a property of it, in the order of rank.
creation(class, object, rank, statement) AS (
    SELECT class, object, 1,
           format(
               'CREATE %s %s%s%s%s AS %s%s;',
               CASE WHEN is_temporary THEN 'TEMPORARY VIEW' ELSE upper(type) END, identity,
               CASE WHEN relkind = 'm' THEN ' USING ' || quote_ident(amname) END, ' WITH (' || options || ')',
               CASE WHEN relkind = 'm' THEN ' TABLESPACE ' || quote_ident(spcname) END,
               rtrim(pg_get_viewdef(object), ';'), CASE WHEN relkind = 'm' THEN ' WITH NO DATA' END)
    FROM views
    UNION ALL
    SELECT class, object, 2,
           format(
               'ALTER VIEW %s ALTER COLUMN %I SET DEFAULT %s;',
               identity, attname, pg_get_expr(adbin, adrelid))
    FROM views
    JOIN pg_attrdef ON adrelid = object
    JOIN pg_attribute ON (attrelid, attnum) = (adrelid, adnum)
    WHERE relkind = 'v'
    UNION ALL
    SELECT class, object, 3,
           format('ALTER MATERIALIZED VIEW %s ALTER COLUMN %I %s;', identity, attname, setting)
    FROM views
    JOIN pg_attribute AS a ON attrelid = object AND attnum > 0 AND NOT attisdropped,
         LATERAL (
             SELECT 'SET STATISTICS ' || attstattarget WHERE attstattarget >= 0
             UNION ALL
             SELECT 'SET STORAGE '
                    || CASE attstorage
                           WHEN 'p' THEN 'PLAIN'
                           WHEN 'e' THEN 'EXTERNAL'
                           WHEN 'm' THEN 'MAIN'
                           ELSE 'EXTENDED'
                       END
             FROM pg_type
             WHERE pg_type.oid = atttypid AND typstorage <> attstorage
             UNION ALL
             SELECT 'SET COMPRESSION ' || CASE attcompression WHEN 'p' THEN 'pglz' ELSE 'lz4' END
             WHERE attcompression <> ''
             UNION ALL
             -- Without what newer minor releases keep there, as in widen/shadows.sql.
             SELECT format('SET (%s)', string_agg(o, ', ')) FROM unnest(attoptions) AS o
             WHERE o NOT LIKE 'pg\_%'
             HAVING count(*) > 0
         ) AS settings (setting)
    WHERE relkind = 'm'
    UNION ALL
    -- From here on, expressions are evaluated, or things are there that were created.
    SELECT class, object, 4, pg_get_indexdef(indexrelid) || ';'
    FROM views
    JOIN pg_index ON indrelid = object
    UNION ALL
    SELECT class, object, 5, format('ALTER INDEX %s %s;', i.oid::regclass, setting)
    FROM views
    JOIN pg_index ON indrelid = object
    JOIN pg_class AS i ON i.oid = indexrelid,
         LATERAL (
             SELECT 'SET TABLESPACE ' || quote_ident(s.spcname)
             FROM pg_tablespace AS s
             WHERE s.oid = i.reltablespace
             UNION ALL
             SELECT format('ALTER COLUMN %s SET STATISTICS %s', attnum, attstattarget)
             FROM pg_attribute
             WHERE attrelid = i.oid AND attstattarget >= 0
         ) AS settings (setting)
    UNION ALL
    SELECT class, object, 5, format('ALTER MATERIALIZED VIEW %s CLUSTER ON %I;', identity, i.relname)
    FROM views
    JOIN pg_index ON indrelid = object AND indisclustered
    JOIN pg_class AS i ON i.oid = indexrelid
    UNION ALL
    SELECT class, object, 5, pg_get_statisticsobjdef(oid) || ';'
    FROM views JOIN pg_statistic_ext ON stxrelid = object
    UNION ALL
    SELECT class, object, 6,
           format('ALTER STATISTICS %I.%I SET STATISTICS %s;', nspname, stxname, stxstattarget)
    FROM views
    JOIN pg_statistic_ext ON stxrelid = object AND stxstattarget >= 0
    JOIN pg_namespace AS n ON n.oid = stxnamespace
    UNION ALL
    SELECT class, object, 1, rtrim(pg_get_ruledef(object), ';') || ';'
    FROM objects
    WHERE class = 'pg_rewrite'::regclass
    UNION ALL
    SELECT class, object, 2, format('ALTER TABLE %s %s RULE %I;', ev_class::regclass, state, rulename)
    FROM objects
    JOIN pg_rewrite AS r ON r.oid = object
    JOIN states ON code = ev_enabled
    WHERE class = 'pg_rewrite'::regclass AND ev_enabled <> 'O'
    UNION ALL
    SELECT class, object, 1, pg_get_triggerdef(object) || ';'
    FROM objects
    WHERE class = 'pg_trigger'::regclass
    UNION ALL
    SELECT class, object, 2, format('ALTER TABLE %s %s TRIGGER %I;', tgrelid::regclass, state, tgname)
    FROM objects
    JOIN pg_trigger AS t ON t.oid = object
    JOIN states ON code = tgenabled
    WHERE class = 'pg_trigger'::regclass AND tgenabled <> 'O'
    UNION ALL
    -- Where a partition's differs from that.
    SELECT class, object, 3,
           format('ALTER TABLE %s %s TRIGGER %I;', clone.tgrelid::regclass, state, clone.tgname)
    FROM objects
    JOIN pg_trigger AS t ON t.oid = object
    JOIN trigger_roots AS roots ON roots.root = object
    JOIN pg_trigger AS clone ON clone.oid = roots.oid AND clone.tgenabled <> t.tgenabled
    JOIN states ON code = clone.tgenabled
    WHERE class = 'pg_trigger'::regclass
    UNION ALL
    SELECT class, object, 1,
           format(
               'CREATE POLICY %I ON %s AS %s FOR %s TO %s%s%s;',
               polname, polrelid::regclass, CASE WHEN polpermissive THEN 'PERMISSIVE' ELSE 'RESTRICTIVE' END,
               CASE polcmd
                   WHEN 'r' THEN 'SELECT'
                   WHEN 'a' THEN 'INSERT'
                   WHEN 'w' THEN 'UPDATE'
                   WHEN 'd' THEN 'DELETE'
                   ELSE 'ALL'
               END,
               (
                   SELECT string_agg(
                              CASE role WHEN 0 THEN 'PUBLIC' ELSE quote_ident(pg_get_userbyid(role)) END,
                              ', ')
                   FROM unnest(polroles) AS role
               ),
               ' USING (' || pg_get_expr(polqual, polrelid) || ')',
               ' WITH CHECK (' || pg_get_expr(polwithcheck, polrelid) || ')')
    FROM objects
    JOIN pg_policy AS p ON p.oid = object
    WHERE class = 'pg_policy'::regclass
    UNION ALL
    SELECT class, object, 1, rtrim(pg_get_functiondef(object), E'\n') || ';'
    FROM objects
    WHERE class = 'pg_proc'::regclass
)
