-- Checks, foreign keys and statistics objects of columns to be widened, and those that are to take their
-- places. The query goes on from indexes.sql. Each of these has a name that is made of the definition of
-- the other.
,
-- a row: a check that reads a column to be widened, with the one that is to take its place.
wide_checks AS (
    SELECT k.oid, t.relation, relation_name, k.conname, k.convalidated, other_name,
           o.convalidated AS is_validated, o.oid IS NOT NULL AS is_there,
           format(
               'ALTER TABLE %s ADD CONSTRAINT %I CHECK (%s)%s%s;', relation_name, other_name,
               (SELECT expression FROM expressions WHERE key = format('check:%s', k.oid)),
               CASE WHEN connoinherit THEN ' NO INHERIT' END,
               CASE WHEN definition LIKE '% NOT ENFORCED' THEN ' NOT ENFORCED' ELSE ' NOT VALID' END)
               AS statement
    FROM widened_tables AS t,
         LATERAL (SELECT * FROM pg_constraint WHERE conrelid = relation AND contype = 'c' OFFSET 0) AS k,
         LATERAL pg_get_constraintdef(k.oid) AS definition,
         LATERAL (
             SELECT format(
                        'snowflake_widen_%s',
                        lpad(to_hex(hashtextextended(concat(k.conname, ' ', definition), 0)), 16, '0'))::name
         ) AS names (other_name)
    LEFT JOIN LATERAL (
        SELECT oid, convalidated
        FROM pg_constraint
        WHERE conrelid = t.relation AND conname = other_name
        OFFSET 0
    ) AS o ON true
    WHERE k.conname NOT LIKE 'snowflake\_widen\_%'
      AND EXISTS (SELECT FROM shadows AS s WHERE s.relation = t.relation AND s.number = ANY (conkey))
),

-- a row: an action of a foreign key, as the catalog and SQL say it.
actions(code, action) AS (
    VALUES ('a'::"char", 'NO ACTION'), ('r', 'RESTRICT'), ('c', 'CASCADE'), ('n', 'SET NULL'),
           ('d', 'SET DEFAULT')
),

-- a row: a foreign key with a column to be widened, with the one that is to take its place.
wide_keys AS (
    SELECT f.oid, f.conname, f.conrelid, f.confrelid, f.relation_name, f.convalidated, parent_name,
           other_name,
           o.convalidated AS is_validated, o.oid IS NOT NULL AS is_there,
           format(
               'ALTER TABLE %s ADD CONSTRAINT %I FOREIGN KEY (%s) REFERENCES %s (%s)%s ON UPDATE %s '
               'ON DELETE %s%s%s%s;',
               f.relation_name, other_name, referring, parent_name, referred,
               CASE WHEN confmatchtype = 'f' THEN ' MATCH FULL' END,
               (SELECT action FROM actions WHERE code = confupdtype),
               (SELECT action FROM actions WHERE code = confdeltype), ' (' || deleted || ')',
               CASE
                   WHEN condeferrable
                       THEN ' DEFERRABLE' || CASE WHEN condeferred THEN ' INITIALLY DEFERRED' ELSE '' END
               END,
               CASE WHEN definition LIKE '% NOT ENFORCED' THEN ' NOT ENFORCED' ELSE ' NOT VALID' END)
               AS statement
    FROM foreign_keys AS f,
         LATERAL (SELECT * FROM pg_constraint WHERE oid = f.oid OFFSET 0) AS k,
         LATERAL (
             SELECT format('%I.%I', nspname, relname)
             FROM pg_class AS p JOIN pg_namespace AS n ON n.oid = relnamespace
             WHERE p.oid = f.confrelid
         ) AS parent (parent_name),
         LATERAL pg_get_constraintdef(f.oid) AS definition,
         LATERAL (
             SELECT format(
                        'snowflake_widen_%s',
                        lpad(to_hex(hashtextextended(concat(f.conname, ' ', definition), 0)), 16, '0'))::name
         ) AS names (other_name),
         LATERAL (
             SELECT string_agg(quote_ident(attname), ', ' ORDER BY place) FILTER (WHERE side = 1),
                    string_agg(quote_ident(attname), ', ' ORDER BY place) FILTER (WHERE side = 2),
                    string_agg(quote_ident(attname), ', ' ORDER BY place) FILTER (WHERE side = 3)
             FROM (
                 SELECT 1, f.conrelid, * FROM unnest(k.conkey) WITH ORDINALITY
                 UNION ALL SELECT 2, f.confrelid, * FROM unnest(k.confkey) WITH ORDINALITY
                 UNION ALL SELECT 3, f.conrelid, * FROM unnest(k.confdelsetcols) WITH ORDINALITY
             ) AS of_key (side, relation, number, place)
             LEFT JOIN shadows AS s USING (relation, number)
             JOIN pg_attribute ON attrelid = relation AND attnum = coalesce(s.shadow, number)
         ) AS column_names (referring, referred, deleted)
    LEFT JOIN LATERAL (
        SELECT oid, convalidated
        FROM pg_constraint
        WHERE conrelid = f.conrelid AND conname = other_name
        OFFSET 0
    ) AS o ON true
),

-- a row: a statistics object of a column to be widened, with the one that is to take its place.
wide_statistics AS (
    SELECT s.oid, t.relation, relation_name, stxname, nspname, stxstattarget, other_name,
           format('%I.%I', nspname, other_name) AS other, o.oid IS NOT NULL AS is_there,
           concat_ws(
               ' ',
               format(
                   'CREATE STATISTICS %I.%I (%s) ON %s FROM %s;', nspname, other_name,
                   (
                       SELECT string_agg(
                                  CASE kind
                                      WHEN 'd' THEN 'ndistinct'
                                      WHEN 'f' THEN 'dependencies'
                                      ELSE 'mcv'
                                  END,
                                  ', ')
                       FROM unnest(stxkind) AS kind
                       WHERE kind IN ('d', 'f', 'm')
                   ),
                   (
                       SELECT string_agg(quote_ident(attname), ', ' ORDER BY place)
                       FROM unnest(stxkeys::int2[]) WITH ORDINALITY AS of_object (number, place)
                       LEFT JOIN shadows AS other
                           ON (other.relation, other.number) = (t.relation, of_object.number)
                       JOIN pg_attribute
                           ON attrelid = t.relation AND attnum = coalesce(other.shadow, of_object.number)
                   ),
                   relation_name),
               CASE
                   WHEN stxstattarget >= 0
                       THEN format(
                           'ALTER STATISTICS %I.%I SET STATISTICS %s;', nspname, other_name, stxstattarget)
               END) AS statement
    FROM widened_tables AS t,
         LATERAL (SELECT * FROM pg_statistic_ext WHERE stxrelid = relation OFFSET 0) AS s
    JOIN pg_namespace AS n ON n.oid = stxnamespace,
         LATERAL pg_get_statisticsobjdef(s.oid) AS definition,
         LATERAL (
             SELECT format(
                        'snowflake_widen_%s',
                        lpad(to_hex(hashtextextended(concat(definition, stxstattarget), 0)), 16, '0'))::name
         ) AS names (other_name)
    LEFT JOIN LATERAL (
        SELECT oid FROM pg_statistic_ext AS e
        WHERE e.stxname = other_name AND e.stxnamespace = n.oid AND e.stxrelid = relation
        OFFSET 0
    ) AS o ON true
    WHERE EXISTS (
        SELECT
        FROM shadows AS other
        WHERE other.relation = t.relation AND other.number = ANY (stxkeys::int2[])
    )
),

-- a row: what has a name of these and takes the place of nothing that is there, since that was dropped or
-- changed, with a statement that drops it.
leftovers(relation_name, locked, statement) AS (
    SELECT relation_name, concat_ws(', ', parent, relation_name),
           format('ALTER TABLE %s DROP CONSTRAINT %I;', relation_name, conname)
    FROM widened_tables AS t,
         LATERAL (
             SELECT *
             FROM pg_constraint
             WHERE conrelid = relation
               AND conname ~ '^snowflake_widen_[0-9a-f]{16}$'
               AND contype IN ('c', 'f')
             OFFSET 0
         ) AS k
    LEFT JOIN LATERAL (
        SELECT format('%I.%I', nspname, relname)
        FROM pg_class AS p JOIN pg_namespace AS n ON n.oid = relnamespace
        WHERE p.oid = confrelid AND confrelid <> relation
    ) AS parents (parent) ON true
    WHERE (relation, conname) NOT IN (
              SELECT relation, other_name FROM wide_checks
              UNION ALL SELECT conrelid, other_name FROM wide_keys
          )
    UNION ALL
    SELECT relation_name, relation_name, format('DROP STATISTICS %I.%I;', nspname, stxname)
    FROM widened_tables AS t
    JOIN pg_statistic_ext AS s ON stxrelid = relation AND stxname ~ '^snowflake_widen_[0-9a-f]{16}$'
    JOIN pg_namespace AS n ON n.oid = stxnamespace
    WHERE (relation, stxname) NOT IN (SELECT relation, other_name FROM wide_statistics)
),

-- a row: an index that is to be dropped, since it is not valid, or takes the place of nothing that is there.
useless_indexes(relation_name, index_name, is_created) AS (
    SELECT i.relation_name, i.index_name,
           EXISTS (SELECT FROM pg_stat_progress_create_index AS p WHERE p.index_relid = i.indexrelid)
    FROM indexes AS i
    WHERE i.name ~ '^snowflake_widen_[0-9a-f]{16}(_ccnew\d*)?$'
      AND (NOT i.indisvalid
           OR i.indexrelid NOT IN (SELECT other_oid FROM wide_indexes WHERE other_oid IS NOT NULL))
)
