-- An error, a savepoint or a cancellation of COPY leaves nothing behind: what follows in the session is as it was before.

CREATE TABLE orders (id bigint PRIMARY KEY DEFAULT snowflake_nextval(), number bigint CHECK (number <> 2000));
CREATE TABLE seven AS SELECT generate_series(1, 7) AS number;
CREATE FUNCTION ids() RETURNS bigint LANGUAGE plpgsql AS $$ DECLARE ids bigint; BEGIN
    ALTER TABLE seven ADD COLUMN id bigint DEFAULT snowflake_nextval();
    ids := (SELECT count(DISTINCT id) FROM seven);
    ALTER TABLE seven DROP COLUMN id;
    RETURN ids;
END $$;

COPY orders (number) FROM PROGRAM 'seq 2500'; --> ERROR 23514
SELECT ids(); --> 7

BEGIN; SAVEPOINT before;
COPY orders (number) FROM PROGRAM 'seq 2500'; --> ERROR 23514
ROLLBACK TO before; COMMIT;
SELECT ids(); --> 7

DO $$ BEGIN
    BEGIN
        COPY orders (number) FROM PROGRAM 'seq 2500';
    EXCEPTION WHEN check_violation THEN NULL;
    END;
    ALTER TABLE seven ADD COLUMN id bigint DEFAULT snowflake_nextval();
END $$;
SELECT count(DISTINCT id) FROM seven; --> 7
ALTER TABLE seven DROP COLUMN id;

CREATE TABLE slow (LIKE orders INCLUDING DEFAULTS);
CREATE FUNCTION wait() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN PERFORM pg_sleep(0.1); RETURN new; END $$;
CREATE TRIGGER wait BEFORE INSERT ON slow FOR EACH ROW EXECUTE FUNCTION wait();
SET statement_timeout = '50ms';
COPY slow (number) FROM PROGRAM 'seq 2500'; --> ERROR 57014: canceling statement due to statement timeout
RESET statement_timeout;
SELECT ids(); --> 7
EXPLAIN (VERBOSE, COSTS off) SELECT snowflake_nextval();
--> Result
-->   Output: snowflake_nextval()
