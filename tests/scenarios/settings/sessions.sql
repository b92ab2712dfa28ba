-- All settings but one are those of the server's configuration: no session, role or database has its own, whoever asks.

CREATE ROLE guest LOGIN; GRANT CREATE ON SCHEMA public TO guest;
ALTER DATABASE scenario OWNER TO guest;
CREATE FUNCTION attempts(name text) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE attempt text;
BEGIN
    FOREACH attempt IN ARRAY ARRAY['SET %1$s = 1', 'SET LOCAL %1$s = DEFAULT', 'SELECT set_config(%1$L, ''1'', false)',
        'ALTER ROLE %2$s SET %1$s = 1', 'ALTER DATABASE scenario SET %1$s = 1',
        'CREATE FUNCTION f() RETURNS int LANGUAGE sql SET %1$s = 1 AS ''SELECT 1'''] LOOP
        BEGIN
            EXECUTE format(attempt, name, user);
            RETURN NEXT 'done';
        EXCEPTION WHEN OTHERS THEN RETURN NEXT sqlstate;
        END;
    END LOOP;
END $$;
SELECT count(*), attempts(name) FROM pg_settings WHERE name LIKE 'snowflake.%' AND name <> 'snowflake.adopted_schemas' GROUP BY 2;
--> 108 | 55P02
ALTER DATABASE scenario SET snowflake.worker_id = 5; --> ERROR 55P02
ALTER ROLE ALL SET snowflake.worker_id = 5; --> ERROR 55P02
ALTER ROLE guest SET snowflake.worker_id = 5; --> ERROR 55P02
SET snowflake.epoch = '2020-01-01T00:00:00Z'; --> ERROR 55P02
SET snowflake.max_backward_step = '1s'; --> ERROR 55P02
\as guest
SELECT count(*), attempts(name) FROM pg_settings WHERE name LIKE 'snowflake.%' AND name <> 'snowflake.adopted_schemas' GROUP BY 2;
--> 108 | 55P02
ALTER SYSTEM SET snowflake.worker_id = 5; --> ERROR 42501: permission denied to set parameter "snowflake.worker_id"
SELECT count(*) FROM pg_settings WHERE name LIKE 'snowflake.%' AND has_parameter_privilege(name, 'SET, ALTER SYSTEM');
--> 0
\options -c snowflake.worker_id=5
SELECT; --> FATAL 55P02: ...
\as postgres
SELECT; --> FATAL 55P02: ...
\options
SELECT snowflake_worker_id(snowflake_nextval()); --> 9
