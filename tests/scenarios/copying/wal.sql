-- COPY inserts many rows at a time, as with keys in the file: without it, 1.5 times as much WAL is written.

\set autovacuum = off

CREATE TABLE keyed (id bigint PRIMARY KEY, number bigint);
CREATE TABLE orders (id bigint PRIMARY KEY DEFAULT snowflake_nextval(), number bigint);
CREATE TABLE inner_call (id bigint PRIMARY KEY DEFAULT 1 + snowflake_nextval(), number bigint);
-- A function that is nothing but the call is the call, in SQL alone.
CREATE FUNCTION new_id() RETURNS bigint LANGUAGE sql RETURN snowflake_nextval();
CREATE FUNCTION slow_id() RETURNS bigint LANGUAGE plpgsql AS 'BEGIN RETURN snowflake_nextval(); END';
CREATE TABLE other_name (id bigint PRIMARY KEY DEFAULT new_id(), number bigint);
CREATE TABLE slow_name (id bigint PRIMARY KEY DEFAULT slow_id(), number bigint);
CREATE TABLE with_trigger (LIKE orders INCLUDING ALL);
CREATE FUNCTION pass() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN new; END';
CREATE TRIGGER pass BEFORE INSERT ON with_trigger FOR EACH ROW EXECUTE FUNCTION pass();
CREATE FUNCTION wal() RETURNS float LANGUAGE plpgsql AS $$
DECLARE before pg_lsn = current_setting('wal.before', true);
BEGIN
    PERFORM set_config('wal.before', pg_current_wal_insert_lsn()::text, false);
    RETURN pg_current_wal_insert_lsn() - before;
END $$;
SELECT wal();
COPY keyed FROM PROGRAM 'for n in $(seq 2500); do echo "$((1268118639732232192 + n))\t$n"; done';
SELECT set_config('wal.free', wal()::text, false);
COPY orders (number) FROM PROGRAM 'seq 2500';
SELECT wal() <= 1.02 * current_setting('wal.free')::float; --> t
COPY inner_call (number) FROM PROGRAM 'seq 2500';
SELECT wal() <= 1.02 * current_setting('wal.free')::float; --> t
COPY other_name (number) FROM PROGRAM 'seq 2500';
SELECT wal() <= 1.02 * current_setting('wal.free')::float; --> t
COPY slow_name (number) FROM PROGRAM 'seq 2500';
SELECT wal() > 1.2 * current_setting('wal.free')::float; --> t
-- A BEFORE trigger has PostgreSQL insert row by row, whatever the key: the figure can tell.
COPY with_trigger (number) FROM PROGRAM 'seq 2500';
SELECT wal() > 1.2 * current_setting('wal.free')::float; --> t
