-- Functions of the extension's names, which a role with CREATE on its schema has made, are called by no script, nor
-- do they make one fail: of each function that was there, one with a parameter more that has a default, and a
-- variadic one.
\needs PostgreSQL 15
CREATE ROLE clerk; CREATE SCHEMA ids; GRANT CREATE, USAGE ON SCHEMA ids TO clerk;
CREATE TABLE functions (name name, arguments text, number integer); GRANT SELECT ON functions TO clerk;
CREATE FUNCTION note() RETURNS void LANGUAGE sql AS $$
    INSERT INTO functions SELECT proname, pg_get_function_identity_arguments(p.oid), pronargs FROM pg_proc AS p
    JOIN pg_depend ON objid = p.oid AND classid = 'pg_proc'::regclass AND deptype = 'e' AND refclassid = 'pg_extension'::regclass
    JOIN pg_extension AS e ON e.oid = refobjid AND extname = 'snowflake' WHERE provariadic = 0 AND p.proargmodes IS NULL
        AND NOT 'internal'::regtype = ANY (proargtypes) AND NOT prorettype = 'trigger'::regtype $$;
CREATE FUNCTION trap() RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    f record; types text;
BEGIN
    SET LOCAL ROLE clerk;
    FOR f IN SELECT DISTINCT name, arguments, number FROM public.functions LOOP
        types := CASE WHEN f.number > 0 THEN (
            SELECT string_agg(split_part(trim(a), ' ', -1), ', ') FROM string_to_table(f.arguments, ',') AS a) || ', ' ELSE '' END;
        types := replace(types, 'zone', 'timestamptz');
        FOREACH types IN ARRAY ARRAY[types || 'x text DEFAULT ''1''', types || 'VARIADIC x text[]'] LOOP
            EXECUTE format('CREATE FUNCTION ids.%I(%s) RETURNS boolean LANGUAGE plpgsql AS %L', f.name, types,
                'BEGIN RAISE EXCEPTION $s$trap sprung$s$; END');
        END LOOP;
    END LOOP;
    RESET ROLE;
END $$;
-- A new extension. The functions of both versions are known first.
SELECT note(); DROP EXTENSION snowflake; CREATE EXTENSION snowflake VERSION '0.4.0' SCHEMA ids; SELECT note();
DROP EXTENSION snowflake;
SELECT trap();
SELECT count(*) > 60 FROM pg_proc WHERE pronamespace = 'ids'::regnamespace; --> t
CREATE EXTENSION snowflake SCHEMA ids;
SELECT count(*) FROM ids.pg_stat_snowflake, ids.snowflake_status; --> 1
SELECT count(*) FROM ids.snowflake_horizon_holders; --> 0
SELECT count(*) FROM snowflake_internal.snowflake_layout; --> 1
DROP OWNED BY clerk; GRANT CREATE, USAGE ON SCHEMA ids TO clerk; GRANT SELECT ON functions TO clerk;
SELECT ids.snowflake_within(1268118639732232192, '2020-06-03 00:00:00+00', '2020-06-04 00:00:00+00'); --> t

-- An extension that is updated.
DROP EXTENSION snowflake; CREATE EXTENSION snowflake VERSION '0.4.0' SCHEMA ids;
SELECT trap();
ALTER EXTENSION snowflake UPDATE;
SELECT count(*) FROM ids.pg_stat_snowflake, ids.snowflake_status; --> 1
SELECT count(*) FROM ids.snowflake_horizon_holders; --> 0
DROP OWNED BY clerk;
SELECT ids.snowflake_within(1268118639732232192, '2020-06-03 00:00:00+00', '2020-06-04 00:00:00+00'); --> t
