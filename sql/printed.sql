-- Functions that print statements for tables that exist. They only read the catalog, with the rights of
-- their caller. Their text is executed elsewhere: every name is qualified, whatever search_path is, and no
-- name ends a comment or a block.

-- A script, from its lines and the tables that each owner's locks. It begins with the locks, and asks by a
-- digest whether the same is still printed. Tables are locked in the order of an INSERT, what refers before
-- what it refers to: by the longest chain of references that ends with a table, and then by the longest that
-- begins with it. A circle has all lengths, up to a limit.
CREATE FUNCTION snowflake_internal.snowflake_printed(
    function text, tables regclass[], schema regnamespace, lines jsonb) RETURNS SETOF text
    LANGUAGE sql STABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp SET jit = off AS $sql$
WITH RECURSIVE raw AS MATERIALIZED (
    SELECT * FROM jsonb_to_recordset(lines) l (owner oid, step int, name text, kind text, text text, rel oid)
),
-- a row: a table that a statement or its plan looks at
below (owner, rel) AS (
    SELECT owner, rel FROM raw WHERE rel IS NOT NULL
    UNION SELECT owner, inhrelid FROM below JOIN pg_inherits ON inhparent = rel
),
-- a row: an owner of tables on which code of users can run: a change of types calls that of constraints, and
-- the plan of a query that of indexes and statistics, too
calling AS (
    SELECT owner FROM raw WHERE kind = 'code'
    UNION SELECT owner FROM below, LATERAL (
        SELECT 'pg_class'::regclass, rel
        UNION ALL SELECT 'pg_class'::regclass, indexrelid FROM pg_index WHERE indrelid = rel
        UNION ALL SELECT 'pg_constraint'::regclass, c.oid FROM pg_constraint c WHERE conrelid = rel
        UNION ALL SELECT 'pg_statistic_ext'::regclass, s.oid FROM pg_statistic_ext s WHERE stxrelid = rel
    ) o (class, oid) JOIN pg_depend ON (classid, objid, objsubid) = (class, o.oid, 0), LATERAL (
        SELECT proowner FROM pg_proc WHERE (refclassid, refobjid) = ('pg_proc'::regclass, oid)
        UNION ALL SELECT oprowner FROM pg_operator
            WHERE (refclassid, refobjid) = ('pg_operator'::regclass, oid)
        UNION ALL SELECT typowner FROM pg_type WHERE (refclassid, refobjid) = ('pg_type'::regclass, oid)
    ) c (role) WHERE role NOT IN (SELECT oid FROM pg_roles WHERE rolsuper)
),
given AS MATERIALIZED (
    SELECT * FROM raw WHERE kind <> 'code'
    UNION ALL SELECT owner, 2, '', 'DO', format($$IF session_user OPERATOR(pg_catalog.<>) %L THEN
        RAISE insufficient_privilege USING MESSAGE = %L,
            HINT = 'Connect as this role; or, if you trust its functions, take this block out.';
    END IF;$$, pg_get_userbyid(owner),
        format('these statements can run code of %s with your rights', owner::regrole)), NULL FROM calling
),
locked AS (SELECT DISTINCT owner, rel FROM given WHERE rel IS NOT NULL),
link AS MATERIALIZED (
    SELECT DISTINCT v.* FROM pg_constraint, LATERAL (
        VALUES (conrelid, confrelid, true), (confrelid, conrelid, false)) v (rel, next, is_up)
    WHERE contype = 'f' AND conrelid <> confrelid AND conrelid = ANY (ARRAY(SELECT rel FROM locked))
        AND confrelid = ANY (ARRAY(SELECT rel FROM locked))
),
chain (rel, is_up, length) AS (
    SELECT DISTINCT rel, is_up, 0 FROM locked, (VALUES (true), (false)) v (is_up)
    UNION SELECT next, is_up, length + 1 FROM chain JOIN link USING (rel, is_up) WHERE length < 40
),
longest AS (
    SELECT rel, max(length) FILTER (WHERE is_up) AS up, max(length) FILTER (WHERE NOT is_up) AS down
    FROM chain GROUP BY rel
),
ordered AS (
    SELECT owner, concat(CASE WHEN relkind = 'r' AND relhassubclass THEN 'ONLY ' END, rel::regclass) AS name,
        relrowsecurity, least(up, down) = 40 AS in_circle,
        row_number() OVER (ORDER BY up, down DESC, rel::regclass::text) AS place
    FROM locked JOIN longest USING (rel) JOIN pg_class ON pg_class.oid = rel
),
head AS (
    SELECT owner, string_agg(name, ', ' ORDER BY place) AS names, bool_or(relrowsecurity) AS has_policies,
        string_agg(name, ', ' ORDER BY place) FILTER (WHERE in_circle) AS circle,
        (SELECT md5(string_agg(concat(rel, text), E'\n' ORDER BY step, g.name, text, rel))
            FROM given g WHERE g.owner = o.owner AND kind <> '--') AS digest,
        (SELECT least(500, setting::int / 2) FROM pg_settings s WHERE s.name = 'deadlock_timeout') AS ms
    FROM ordered o GROUP BY owner
),
line AS (
    SELECT owner, step, name, kind, text FROM given
    UNION ALL SELECT owner, step, '', kind, text FROM head, LATERAL (VALUES
        (1, '--', format('tables of %s, in one transaction', owner::regrole)),
        (3, '', format('SET LOCAL lock_timeout = %s', ms)),
        (4, '', CASE WHEN has_policies THEN 'SET LOCAL row_security = off' END),
        (5, '--', 'these refer to each other, and are locked in any order: ' || circle),
        (6, '', format('LOCK TABLE %s IN ACCESS EXCLUSIVE MODE', names)),
        (7, 'DO', format($$IF pg_catalog.current_setting('transaction_isolation')
                OPERATOR(pg_catalog.<>) 'read committed'
            OR NOT EXISTS (SELECT FROM @extschema@.%I(%s, %s) AS line
                           WHERE pg_catalog.strpos(line, '%s') OPERATOR(pg_catalog.>) 0) THEN
        RAISE object_not_in_prerequisite_state USING
            MESSAGE = 'the tables have changed since these statements were printed',
            HINT = 'Print them again, and execute them in a READ COMMITTED transaction.';
    END IF;$$, function, coalesce(quote_literal(tables) || '::pg_catalog.regclass[]', 'NULL'),
            coalesce(quote_literal(schema) || '::pg_catalog.regnamespace', 'NULL'), digest))
    ) v (step, kind, text)
)
SELECT CASE WHEN kind = '--' THEN '-- ' || regexp_replace(text, E'[\n\r]+', ' ', 'g')
    WHEN kind = '' THEN text || ';'
    WHEN strpos(text, '$do$') = 0 THEN format(E'DO $do$ BEGIN\n    %s\nEND $do$;', text)
    ELSE format('DO %L;', format('BEGIN %s END', text)) END
FROM line WHERE text IS NOT NULL ORDER BY owner NULLS FIRST, step, name, text
$sql$;
