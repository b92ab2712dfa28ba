-- The columns that are to be widened, and those that are to take their places. The query begins with
-- keys.sql and depending.sql. $12 is the schema of the extension snowflake_convert.
,
-- a row: a column to be widened, with the name that its shadow has or is to have, and with the number of
-- this as far as it is there: a check says that the two have the same value. Its name ends with the OID of
-- the table whose key is widened, so that later calls need not name the column again. It fits if it says of
-- NULL what the column says.
shadows(relation, relation_name, number, name, not_null, shadow_name, shadow, same, is_same, fits) AS (
    SELECT r.relation, r.relation_name, r.number, r.name, r.not_null,
           coalesce(k.attname, format('snowflake_widen_%s', r.number)::name), k.attnum,
           coalesce(k.conname, format('snowflake_widen_same_%s_%s', r.number, $1::oid)::name),
           coalesce(k.convalidated, false), coalesce(k.refuses_null = r.not_null, false)
    FROM retyped AS r
    LEFT JOIN LATERAL (
        SELECT conname, convalidated, attname, attnum, conbin::text LIKE '%{NULLTEST%' AS refuses_null
        FROM pg_constraint
        JOIN pg_attribute
            ON attrelid = conrelid
           AND attnum = ANY (conkey)
           AND attnum <> r.number
           AND atttypid = 'bigint'::regtype
        WHERE conrelid = r.relation
          AND contype = 'c'
          AND conname LIKE 'snowflake\_widen\_same\_%'
          AND r.number = ANY (conkey)
        LIMIT 1
    ) AS k ON true
),

-- a row: a column to be widened, with what its shadow has to have of its properties, a statement that gives
-- it these, and whether the shadow has them.
of_shadows(relation, number, statement, is_done) AS (
    SELECT s.relation, s.number,
           concat_ws(
               ' ',
               (
                   SELECT string_agg(
                              format(
                                  'REVOKE ALL (%I) ON TABLE %s FROM %s;', shadow_name, relation_name,
                                  grantee),
                              ' ' ORDER BY grantee)
                   FROM (
                       SELECT CASE e.grantee WHEN 0 THEN 'PUBLIC' ELSE quote_ident(r.rolname) END
                       FROM aclexplode(shadow.attacl) AS e
                       LEFT JOIN pg_roles AS r ON r.oid = e.grantee
                       GROUP BY 1
                   ) AS holders (grantee)
               ),
               (
                   SELECT string_agg(
                              format(
                                  'GRANT %s (%I) ON TABLE %s TO %s%s;', privilege_type, shadow_name,
                                  relation_name,
                                  CASE e.grantee WHEN 0 THEN 'PUBLIC' ELSE quote_ident(r.rolname) END,
                                  CASE WHEN is_grantable THEN ' WITH GRANT OPTION' END),
                              ' ' ORDER BY rolname, privilege_type)
                   FROM aclexplode(a.attacl) AS e
                   LEFT JOIN pg_roles AS r ON r.oid = e.grantee
               ),
               CASE
                   WHEN description IS DISTINCT FROM shadow_description
                       THEN format('COMMENT ON COLUMN %s.%I IS %L;', relation_name, shadow_name, description)
               END,
               CASE
                   WHEN coalesce(a.attstattarget, -1) <> coalesce(shadow.attstattarget, -1)
                       THEN format(
                           'ALTER TABLE %s ALTER COLUMN %I SET STATISTICS %s;', relation_name, shadow_name,
                           coalesce(a.attstattarget, -1))
               END,
               CASE
                   WHEN options IS DISTINCT FROM shadow_options
                       THEN format(
                           'ALTER TABLE %s ALTER COLUMN %I RESET (n_distinct, n_distinct_inherited)%s;',
                           relation_name, shadow_name,
                           CASE
                               WHEN options IS NOT NULL
                                   THEN format(
                                       ', ALTER COLUMN %I SET (%s)', shadow_name,
                                       array_to_string(options, ', '))
                           END)
               END),
           granted IS NOT DISTINCT FROM shadow_granted
           AND description IS NOT DISTINCT FROM shadow_description
           AND coalesce(a.attstattarget, -1) = coalesce(shadow.attstattarget, -1)
           AND options IS NOT DISTINCT FROM shadow_options
    FROM shadows AS s
    JOIN pg_attribute AS a ON (a.attrelid, a.attnum) = (s.relation, s.number)
    LEFT JOIN pg_attribute AS shadow ON (shadow.attrelid, shadow.attnum) = (s.relation, s.shadow),
         LATERAL (
             SELECT col_description(s.relation, s.number), col_description(s.relation, s.shadow)
         ) AS described (description, shadow_description),
         -- Newer minor releases, such as 15.20, keep a number of their own among the options.
         LATERAL (
             SELECT array_agg(o ORDER BY o) FROM unnest(a.attoptions) AS o WHERE o NOT LIKE 'pg\_%'
         ) AS settable (options),
         LATERAL (
             SELECT array_agg(o ORDER BY o) FROM unnest(shadow.attoptions) AS o WHERE o NOT LIKE 'pg\_%'
         ) AS shadow_settable (shadow_options),
         LATERAL (
             SELECT array_agg((grantee, privilege_type, is_grantable) ORDER BY grantee, privilege_type)
             FROM aclexplode(a.attacl)
         ) AS of_column (granted),
         LATERAL (
             SELECT array_agg((grantee, privilege_type, is_grantable) ORDER BY grantee, privilege_type)
             FROM aclexplode(shadow.attacl)
         ) AS of_shadow (shadow_granted)
),

-- a row: a table with columns to be widened, with its trigger of this library as far as it is there, and
-- with the arguments that the trigger is to have: for each column, its name and number and the name of its
-- shadow.
widened_tables(relation, relation_name, arguments, is_copied) AS (
    SELECT s.relation, s.relation_name,
           string_agg(
               format('%L, %L, %L', s.name, s.number::text, s.shadow_name), ', ' ORDER BY s.number),
           bool_and(s.fits)
           AND coalesce(bool_and(t.tgenabled = 'A' AND t.tgnargs = 3 * of_table.count), false)
    FROM shadows AS s
    JOIN (SELECT relation, count(*)::integer FROM retyped GROUP BY 1) AS of_table (relation, count)
        USING (relation)
    LEFT JOIN LATERAL (
        SELECT tgenabled, tgnargs
        FROM pg_trigger
        WHERE tgrelid = s.relation AND tgname = '~snowflake_widen'
        OFFSET 0
    ) AS t ON true
    GROUP BY 1, 2
),

-- a row: a table, and the statement that gives it the shadows and the trigger that it lacks.
shadow_steps(relation, relation_name, statement, is_done) AS (
    SELECT relation, relation_name,
           concat_ws(
               ' ',
               (
                   SELECT format(
                              'ALTER TABLE %s %s;', t.relation_name,
                              string_agg(
                                  format(
                                      CASE
                                          WHEN s.shadow IS NULL
                                              THEN 'ADD COLUMN %1$I bigint, '
                                                   'ADD CONSTRAINT %2$I CHECK (%3$s) NOT VALID'
                                          ELSE 'ALTER COLUMN %1$I DROP NOT NULL, DROP CONSTRAINT %2$I, '
                                               'ADD CONSTRAINT %2$I CHECK (%3$s) NOT VALID'
                                      END,
                                      s.shadow_name, s.same,
                                      format(
                                          CASE
                                              WHEN s.not_null
                                                  THEN '%1$I IS NOT NULL AND %1$I OPERATOR(pg_catalog.=) %2$I'
                                              ELSE '%1$I IS NOT DISTINCT FROM %2$I'
                                          END,
                                          s.shadow_name, s.name)),
                                  ', ' ORDER BY s.number))
                   FROM shadows AS s
                   WHERE s.relation = t.relation AND NOT s.fits
                   HAVING count(*) > 0
               ),
               (
                   SELECT string_agg(p.statement, ' ' ORDER BY p.number)
                   FROM shadows AS s
                   JOIN of_shadows AS p USING (relation, number)
                   WHERE s.relation = t.relation AND s.shadow IS NULL AND p.statement <> ''
               ),
               format(
                   'CREATE OR REPLACE TRIGGER "~snowflake_widen" BEFORE INSERT OR UPDATE ON %1$s '
                   'FOR EACH ROW EXECUTE FUNCTION %2$I.snowflake_widen_copy(%3$s); '
                   'ALTER TABLE %1$s ENABLE ALWAYS TRIGGER "~snowflake_widen";',
                   relation_name, $12::text, arguments)),
           is_copied
    FROM widened_tables AS t
)
