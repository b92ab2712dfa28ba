-- The functions of snowflake_pg without its library, for laptops, CI and hosted services.
--
-- This is one statement, which any client can send as it is, also within a transaction. Where the library is
-- preloaded, it creates the extension, and where that is, it does nothing. Every other database needs numbers
-- from 0 to 31, together different from those of all other databases and servers. Write them here:
DO $snowflake$
DECLARE
    datacenter_id CONSTANT pg_catalog.text := NULL;
    worker_id CONSTANT pg_catalog.text := NULL;

-- In one database, no ID that a committed transaction took and stored comes twice as long as no WAL is lost,
-- whatever sessions, crashes and clocks do. After a failover that loses WAL, an ID can come back if the new
-- server's clock is behind.
--
-- A call gets a value of the counter in one of two ways:
--
--   by nextval()  It reads `reserved`, then takes a value, and uses it if it is below what was read, and at
--                 most 2 ms behind the clock. What overflows 4,095 goes on in the next millisecond.
--   by a move     Otherwise, under an advisory lock, it sets the counter to the clock's millisecond, or to
--                 `reserved` if that is later, then `reserved` to 2 ms more. It uses the counter's value.
--
-- No value is used twice:
--
--   1. `reserved` only grows: only moves write it, and hold the lock from their reading to their writing.
--   2. A used value is below `reserved`: nextval() compares it with an earlier reading, which was not higher,
--      and a move uses its value after it has written `reserved`.
--   3. A move sets the counter to `reserved` or more, so above every value that is used.
--   4. So no value that was used before a move is given after it; between moves, nextval() only counts up.
--
-- A move can fail, or stop for any time, at any point: values that others take meanwhile, and that it brings
-- back, are not below `reserved`, so nobody uses them. This is why nextval() comes after the reading, and why
-- a move sets the counter first. The clock is in none of these sentences, so it can be set at any time: if it
-- is set back, IDs go on from the last one. Without `reserved`, the clock would have to be trusted: if it is
-- set back while a move is stopped, values that the move brings back look fresh to others, who use them.
--
-- After a crash, both sequences are as they were at one place of the WAL, or the counter up to 32 values on.
-- That place is not before any commit that returned, and values are logged before they are given. A value
-- that was taken without storing it might come back, if its transaction wrote no WAL.
--
-- The lock is one of the subtransaction, which always ends with an error, SF000. So it is not held until the
-- commit, and no error or cancellation leaves it behind; a second cancellation could leave a session's lock.
-- setval() and variables are not rolled back, but lock_timeout is.

    objects CONSTANT pg_catalog.text := $objects$
-- Both sequences count (milliseconds since 2010-11-04 01:42:54.657 UTC) << 12 | number in the millisecond.
CREATE SEQUENCE public.snowflake_counter MINVALUE 0 MAXVALUE 9007199254740991;
CREATE SEQUENCE public.snowflake_reserved MINVALUE 0;
CREATE TYPE public.snowflake_parts AS (
    id bigint, "timestamp" timestamptz, datacenter_id integer, worker_id integer, sequence integer);
$objects$;

    functions pg_catalog.text := $functions$
CREATE FUNCTION public.snowflake_id(value bigint) RETURNS bigint LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN (value >> 12 << 22) | (<datacenter> << 17) | (<worker> << 12) | (value & 4095);
CREATE FUNCTION public.snowflake_clock() RETURNS double precision LANGUAGE sql
    RETURN (date_part('epoch', clock_timestamp()) * 1000 - 1288834974657) * 4096;
-- The key of the lock is 8317708120410055019, which is 'snowflak' in ASCII.
CREATE FUNCTION public.snowflake_lock_holder() RETURNS integer LANGUAGE sql
    RETURN (SELECT min(pid) FROM pg_locks JOIN pg_database AS d ON database = d.oid WHERE granted
        AND classid = 1936617335 AND objid = 1718378859 AND objsubid = 1 AND datname = current_database());

CREATE FUNCTION public.snowflake_nextval() RETURNS bigint
    LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER AS $$
DECLARE
    reserved pg_catalog.int8;
    oldest pg_catalog.float8;
    value pg_catalog.int8;
    timeout pg_catalog.interval;
    holder pg_catalog.int4;
BEGIN
    LOOP
        reserved := COALESCE(pg_catalog.pg_sequence_last_value('public.snowflake_reserved'), 0);
        oldest := public.snowflake_clock() OPERATOR(pg_catalog.-) 8192;
        IF reserved OPERATOR(pg_catalog.>) oldest THEN
            value := pg_catalog.nextval('public.snowflake_counter');
            EXIT WHEN value OPERATOR(pg_catalog.<) reserved AND value OPERATOR(pg_catalog.>=) oldest;
        END IF;
        value := NULL;
        BEGIN
            IF NOT pg_catalog.pg_try_advisory_xact_lock(8317708120410055019) THEN
                timeout := pg_catalog.current_setting('lock_timeout');
                IF timeout OPERATOR(pg_catalog.=) '0' OR timeout OPERATOR(pg_catalog.>) '5 s' THEN
                    PERFORM pg_catalog.set_config('lock_timeout', '5s', true);
                END IF;
                PERFORM pg_catalog.pg_advisory_xact_lock(8317708120410055019);
            END IF;
            -- Otherwise, another call has moved the counter, and this one begins anew.
            IF reserved OPERATOR(pg_catalog.=)
                COALESCE(pg_catalog.pg_sequence_last_value('public.snowflake_reserved'), 0) THEN
                value := GREATEST(reserved, public.snowflake_clock()::pg_catalog.int8
                    OPERATOR(pg_catalog.>>) 12 OPERATOR(pg_catalog.<<) 12);
                PERFORM pg_catalog.setval('public.snowflake_counter', value);
                PERFORM pg_catalog.setval('public.snowflake_reserved', value OPERATOR(pg_catalog.+) 8192);
            END IF;
            RAISE SQLSTATE 'SF000';
        EXCEPTION WHEN SQLSTATE 'SF000' THEN
            EXIT WHEN value IS NOT NULL;
        WHEN lock_not_available THEN
            holder := public.snowflake_lock_holder();
            IF holder IS NULL THEN RAISE; END IF;
            RAISE 'the lock of snowflake_nextval() is not available' USING ERRCODE = 'lock_not_available',
                DETAIL = pg_catalog.concat('Process ', holder, ' holds it.');
        END;
    END LOOP;
    RETURN public.snowflake_id(value);
END $$;

-- Names, types, results and errors are those of the extension.
CREATE FUNCTION public.snowflake_refuse(code text, message text, detail text) RETURNS bigint
    LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
    AS 'BEGIN RAISE USING ERRCODE = code, MESSAGE = message, DETAIL = detail; END';
CREATE FUNCTION public.snowflake_unix_ms(id bigint) RETURNS bigint LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN CASE WHEN id < 0 THEN public.snowflake_refuse(
        '22023', 'a snowflake ID is never negative', 'The value is ' || id::text || '.')
        ELSE (id >> 22) + 1288834974657 END;
CREATE FUNCTION public.snowflake_timestamp(id bigint) RETURNS timestamptz LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN to_timestamp(public.snowflake_unix_ms(id) / 1000::double precision);
CREATE FUNCTION public.snowflake_parse(id bigint) RETURNS public.snowflake_parts
    LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
    RETURN (id, public.snowflake_timestamp(id), (id >> 17 & 31)::integer, (id >> 12 & 31)::integer,
        (id & 4095)::integer)::public.snowflake_parts;
CREATE FUNCTION public.snowflake_json(id bigint) RETURNS jsonb LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
    RETURN jsonb_build_object('id', id::text, 'unix_ms', public.snowflake_unix_ms(id), 'timestamp', to_char(
        public.snowflake_timestamp(id) AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'),
        'datacenter_id', id >> 17 & 31, 'worker_id', id >> 12 & 31, 'sequence', id & 4095);
CREATE FUNCTION public.snowflake_ms(ts timestamptz) RETURNS numeric LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN extract(epoch FROM ts AT TIME ZONE 'UTC') * 1000 - 1288834974657;
CREATE FUNCTION public.snowflake_min(ts timestamptz) RETURNS bigint LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN CASE WHEN public.snowflake_ms(ts) < 0 OR public.snowflake_ms(ts) >= 2199023255552
        THEN public.snowflake_refuse('22003', concat('timestamp ', ts, ' is out of range'), concat(
            'The timestamp field holds ', public.snowflake_timestamp(0), ' to ',
            public.snowflake_timestamp(9223372036854775807), '.'))
        ELSE floor(public.snowflake_ms(ts))::bigint << 22 END;
CREATE FUNCTION public.snowflake_max(ts timestamptz) RETURNS bigint LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN public.snowflake_min(ts) | 4194303;
CREATE FUNCTION public.snowflake_within_min(since timestamptz) RETURNS bigint
    LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
    RETURN ceil(least(greatest(public.snowflake_ms(since), 0), 2199023255551))::bigint << 22;
CREATE FUNCTION public.snowflake_within_max(since timestamptz, before timestamptz) RETURNS bigint
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN CASE WHEN before IS NULL THEN NULL
        WHEN public.snowflake_ms(before) <= 0 OR public.snowflake_ms(since) > 2199023255551 THEN -1
        WHEN public.snowflake_ms(before) > 2199023255551 THEN 9223372036854775807
        ELSE (ceil(public.snowflake_ms(before))::bigint << 22) - 1 END;
-- Not STRICT, so that the planner can inline it, and use an index on id.
CREATE FUNCTION public.snowflake_within(id bigint, since timestamptz, before timestamptz) RETURNS boolean
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN id >= public.snowflake_within_min(since) AND id <= public.snowflake_within_max(since, before);
-- Texts in those lines of `pg_restore --list` that are of this script, but not in lines of privileges on
-- what the extension has, too.
CREATE FUNCTION public.snowflake_script() RETURNS SETOF text LANGUAGE sql STABLE BEGIN ATOMIC
    SELECT concat(kind, ' ', name, ' ') AS entry
    FROM unnest('{SEQUENCE public,SEQUENCE SET public,public SEQUENCE}'::text[]) AS kind,
        unnest('{snowflake_counter,snowflake_reserved}'::text[]) AS name
    UNION ALL SELECT 'TYPE public snowflake_parts ' AS entry
    UNION ALL SELECT concat('FUNCTION public snowflake_', name, ' ') AS entry
    FROM unnest('{nextval(),parse(bigint),timestamp(bigint),json(bigint),
        min(timestamp with time zone),max(timestamp with time zone),
        "within(bigint, timestamp with time zone, timestamp with time zone)"}'::text[]) AS name
    UNION ALL SELECT concat(kind, ' snowflake_', name, ' ') AS entry
    FROM unnest('{FUNCTION public,public FUNCTION}'::text[]) AS kind,
        unnest('{id(bigint),clock(),lock_holder(),"refuse(text, text, text)",unix_ms(bigint),script(),
        ms(timestamp with time zone),within_min(timestamp with time zone),
        "within_max(timestamp with time zone, timestamp with time zone)"}'::text[]) AS name;
END;
$functions$;

    -- The comment on the counter says which version made the functions, and with which numbers.
    mark CONSTANT pg_catalog.text := pg_catalog.concat(
        'snowflake_pg 0.5.0, datacenter ', datacenter_id, ', worker ', worker_id);
    former pg_catalog.text;
    path CONSTANT pg_catalog.text := pg_catalog.current_setting('search_path');
    of_extension pg_catalog.regprocedure;
    is_new pg_catalog.bool;
    statement pg_catalog.text;
BEGIN
    PERFORM pg_catalog.set_config('search_path', 'pg_catalog, pg_temp', true);
    IF concat_ws(' ', datacenter_id, worker_id) !~ '^([0-9]|[12][0-9]|3[01]) ([0-9]|[12][0-9]|3[01])$' THEN
        RAISE SQLSTATE '22023' USING MESSAGE = 'datacenter_id and worker_id go from 0 to 31',
            HINT = 'Write them at the top of the script.';
    END IF;
    PERFORM pg_advisory_xact_lock(8317708120410055020);
    SELECT f.oid INTO of_extension FROM pg_extension AS e
        JOIN pg_depend ON refclassid = 'pg_extension'::regclass AND refobjid = e.oid AND deptype = 'e'
        JOIN pg_proc AS f ON classid = 'pg_proc'::regclass AND objid = f.oid
        WHERE extname = 'snowflake' AND proname = 'snowflake_nextval' AND pronargs = 0;
    is_new := 0 < num_nulls(
        to_regclass('public.snowflake_counter'), to_regclass('public.snowflake_reserved'));
    IF of_extension IS NULL AND is_new AND EXISTS (
        SELECT FROM pg_settings WHERE name = 'snowflake.worker_id' AND context = 'postmaster') THEN
        CREATE EXTENSION snowflake SCHEMA public;
        of_extension := 'public.snowflake_nextval()';
    END IF;
    IF of_extension IS NOT NULL THEN
        -- The call's error says what to do if the library is not preloaded, or the server has no identity.
        IF has_function_privilege(of_extension, 'EXECUTE') THEN
            EXECUTE concat('SELECT ', of_extension);
        END IF;
        RAISE NOTICE USING MESSAGE = 'this database has extension snowflake, so the script has nothing to do';
    ELSIF is_new THEN
        -- An object of one of these names, whoever made it, is not replaced, and makes this fail.
        EXECUTE objects;
        -- setval() by others would bring IDs back. So nobody has what ALTER DEFAULT PRIVILEGES might grant.
        FOR statement IN
            SELECT DISTINCT concat('REVOKE ALL ON SEQUENCE ', oid::regclass, ' FROM ',
                CASE grantee WHEN 0 THEN 'PUBLIC' ELSE quote_ident(pg_get_userbyid(grantee)) END)
            FROM pg_class, aclexplode(relacl) WHERE grantee <> relowner
                AND oid IN ('public.snowflake_counter'::regclass, 'public.snowflake_reserved'::regclass)
        LOOP
            EXECUTE statement;
        END LOOP;
        former := '';
    ELSE
        SELECT name INTO statement FROM (
            SELECT oid::regclass::text, relowner FROM pg_class
            WHERE oid IN ('public.snowflake_counter'::regclass, 'public.snowflake_reserved'::regclass)
            UNION ALL SELECT oid::regprocedure::text, proowner FROM pg_proc
            WHERE pronamespace = 'public'::regnamespace
                AND strpos(functions, concat('FUNCTION public.', proname, '(')) > 0) AS object (name, owner)
        WHERE owner <> current_user::regrole;
        IF FOUND THEN
            RAISE SQLSTATE '42501' USING MESSAGE = concat('must be owner of ', statement);
        END IF;
        former := obj_description('public.snowflake_counter'::regclass, 'pg_class');
        former := coalesce(former, 'an old script');
        IF former = mark OR string_to_array(substring(former FROM '([0-9.]+),'), '.')::integer[]
            > string_to_array(substring(mark FROM '([0-9.]+),'), '.')::integer[] THEN
            RAISE NOTICE USING MESSAGE = concat('this database has functions of ', former);
            former := NULL;
        ELSE
            RAISE NOTICE USING MESSAGE = concat('replaced functions of ', former);
        END IF;
        functions := replace(functions, 'CREATE FUNCTION', 'CREATE OR REPLACE FUNCTION');
    END IF;
    IF former IS NOT NULL THEN
        EXECUTE replace(replace(functions, '<datacenter>', datacenter_id), '<worker>', worker_id);
        EXECUTE concat('COMMENT ON SEQUENCE public.snowflake_counter IS ', quote_literal(mark));
    END IF;
    PERFORM set_config('search_path', path, true);
END $snowflake$;
