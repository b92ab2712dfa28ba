-- The trigger that looks for rows of another server with this one's identity. It looks at rows that
-- are replicated, which session_replication_role says of a session.
\set SHOW_CONTEXT never
SET timezone = 'UTC';
SET datestyle = 'ISO';
CREATE TABLE watched (id bigint, other text);
CREATE TRIGGER watch_twins AFTER INSERT ON watched
    FOR EACH ROW EXECUTE FUNCTION snowflake_watch_twins('id', 'refuse');
SELECT snowflake_stat_reset();
-- Without this, it never fires for them, and the check says so.
SELECT ok, detail, hint FROM snowflake_check() WHERE name = 'twins';
ALTER TABLE watched ENABLE REPLICA TRIGGER watch_twins;
SELECT ok, detail FROM snowflake_check() WHERE name = 'twins';

-- What this server inserts, what another one has made, and what is no ID.
INSERT INTO watched VALUES (snowflake_make('2026-01-01 00:00:00+00', 5, 9, 0));
SET session_replication_role = replica;
INSERT INTO watched VALUES (snowflake_make('2026-01-01 00:00:00+00', 5, 8, 0)),
                           (snowflake_make('2026-01-01 00:00:00+00', 4, 9, 0)), (NULL), (-1);
-- This server's own identity.
INSERT INTO watched VALUES (snowflake_make('2026-01-01 00:00:00+00', 5, 9, 1));
\echo :LAST_ERROR_SQLSTATE
SELECT twins FROM pg_stat_snowflake;
SELECT ok, detail, hint FROM snowflake_check() WHERE name = 'twins';

-- IDs from before a time pass.
CREATE OR REPLACE TRIGGER watch_twins AFTER INSERT ON watched
    FOR EACH ROW EXECUTE FUNCTION snowflake_watch_twins('id', 'refuse', '2026-01-01T00:00:00.001Z');
ALTER TABLE watched ENABLE ALWAYS TRIGGER watch_twins;
INSERT INTO watched VALUES (snowflake_make('2026-01-01 00:00:00+00', 5, 9, 2));
INSERT INTO watched VALUES (snowflake_make('2026-01-01 00:00:00.001+00', 5, 9, 0));

-- Without refuse, rows are counted.
CREATE OR REPLACE TRIGGER watch_twins AFTER INSERT ON watched
    FOR EACH ROW EXECUTE FUNCTION snowflake_watch_twins('id');
ALTER TABLE watched ENABLE REPLICA TRIGGER watch_twins;
INSERT INTO watched SELECT snowflake_make('2026-01-01 00:00:00+00', 5, 9, n)
    FROM generate_series(1, 100) AS n;
SELECT twins FROM pg_stat_snowflake;

-- A domain over bigint is as good.
CREATE DOMAIN order_id AS bigint DEFAULT snowflake_nextval();
CREATE TABLE watched_domain (id order_id);
CREATE TRIGGER watch_twins AFTER INSERT ON watched_domain
    FOR EACH ROW EXECUTE FUNCTION snowflake_watch_twins('id');
ALTER TABLE watched_domain ENABLE REPLICA TRIGGER watch_twins;
INSERT INTO watched_domain VALUES (snowflake_make('2026-01-01 00:00:00+00', 5, 9, 3));
-- This session took the ID itself, as a default does in an apply worker.
INSERT INTO watched_domain DEFAULT VALUES;
SELECT twins FROM pg_stat_snowflake;
DROP TABLE watched_domain;
DROP DOMAIN order_id;

-- Triggers that are wrong.
CREATE FUNCTION pg_temp.try(timing text, arguments text) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    EXECUTE format('CREATE OR REPLACE TRIGGER watch_twins %s EXECUTE FUNCTION snowflake_watch_twins(%s)',
                   timing, arguments);
    ALTER TABLE watched ENABLE REPLICA TRIGGER watch_twins;
    INSERT INTO watched (id) VALUES (1);
END $$;
SELECT pg_temp.try('BEFORE INSERT ON watched FOR EACH ROW', '''id''');
SELECT pg_temp.try('AFTER INSERT ON watched FOR EACH STATEMENT', '''id''');
\echo :LAST_ERROR_SQLSTATE
SELECT pg_temp.try('AFTER INSERT ON watched FOR EACH ROW', '');
SELECT pg_temp.try('AFTER INSERT ON watched FOR EACH ROW', '''key''');
\echo :LAST_ERROR_SQLSTATE
SELECT pg_temp.try('AFTER INSERT ON watched FOR EACH ROW', '''other''');
\echo :LAST_ERROR_SQLSTATE
SELECT pg_temp.try('AFTER INSERT ON watched FOR EACH ROW', '''id'', ''ignore''');
\echo :LAST_ERROR_SQLSTATE
SELECT pg_temp.try('AFTER INSERT ON watched FOR EACH ROW', '''id'', ''log'', ''yesterday''');
SELECT pg_temp.try('AFTER INSERT ON watched FOR EACH ROW', '''id'', ''log'', ''0'', ''more''');
RESET session_replication_role;
-- Local rows show what is wrong, too, and none is lost.
CREATE OR REPLACE TRIGGER watch_twins BEFORE INSERT OR UPDATE ON watched
    FOR EACH ROW EXECUTE FUNCTION snowflake_watch_twins('id');
ALTER TABLE watched ENABLE ALWAYS TRIGGER watch_twins;
INSERT INTO watched (id) VALUES (1);
UPDATE watched SET other = 'other';
CREATE OR REPLACE TRIGGER watch_twins AFTER INSERT ON watched
    FOR EACH ROW EXECUTE FUNCTION snowflake_watch_twins('ID');
INSERT INTO watched (id) VALUES (1);
SELECT snowflake_watch_twins();
\echo :LAST_ERROR_SQLSTATE
SELECT snowflake_stat_reset();
DROP TABLE watched;
