-- The trigger that looks for rows of another server with this one's identity. It looks at rows of
-- transactions that are replayed, with the time at which they were committed elsewhere.

CREATE TABLE watched (id bigint, other text);
CREATE TRIGGER watch_twins AFTER INSERT OR DELETE ON watched
    FOR EACH ROW EXECUTE FUNCTION snowflake_watch_twins('id', 'refuse');
SELECT snowflake_stat_reset();
-- Without this, it never fires for them, and the check says so.
SELECT ok, detail, hint FROM snowflake_check() WHERE name = 'twins';
--> f | The trigger of snowflake_watch_twins() is not fired by replicated rows of: public.watched (owner postgres). | Enable the trigger with ALTER TABLE ... ENABLE REPLICA TRIGGER.
ALTER TABLE watched ENABLE REPLICA TRIGGER watch_twins;
SELECT ok, detail FROM snowflake_check() WHERE name = 'twins';
--> t | No replicated row with the identity of this server was noticed.
-- A role that may not judge for the database makes nothing fail by a trigger on its own table, unless a subscription brings rows to it.
CREATE ROLE plain LOGIN; CREATE SCHEMA AUTHORIZATION plain; CREATE ROLE keeper LOGIN; CREATE SCHEMA AUTHORIZATION keeper;
\as plain
CREATE TABLE plain.mine (id bigint);
CREATE TRIGGER watch_twins AFTER INSERT ON plain.mine FOR EACH ROW EXECUTE FUNCTION snowflake_watch_twins('nonsense');
\as postgres
SELECT ok, detail FROM snowflake_check() WHERE name = 'twins';
--> t | No replicated row with the identity of this server was noticed. Idle triggers of these roles are not counted, because they lack the rights of the owner of the database, and no subscription brings rows to their tables: plain.
SET LOCAL client_min_messages = error; CREATE SUBSCRIPTION brings CONNECTION '' PUBLICATION p WITH (connect = false, slot_name = NONE);
INSERT INTO pg_subscription_rel (srsubid, srrelid, srsubstate) SELECT oid, 'plain.mine'::regclass, 'r' FROM pg_subscription WHERE subname = 'brings';
\as plain
SELECT ok, detail FROM snowflake_check() WHERE name = 'twins';
--> f | The trigger of snowflake_watch_twins() is not fired by replicated rows of: plain.mine (owner plain).
\as postgres
DROP SUBSCRIPTION brings;
\as keeper
CREATE TABLE keeper.mine (id bigint);
CREATE TRIGGER watch_twins AFTER INSERT ON keeper.mine FOR EACH ROW EXECUTE FUNCTION snowflake_watch_twins('id');
\as postgres
GRANT postgres TO keeper;
SELECT ok, detail FROM snowflake_check() WHERE name = 'twins';
--> f | The trigger of snowflake_watch_twins() is not fired by replicated rows of: keeper.mine (owner keeper).
DROP OWNED BY keeper, plain; DROP ROLE keeper, plain;

-- Rows that this server inserts, and one that fills a gap: none is replayed.
INSERT INTO watched VALUES (snowflake_make('2026-01-01 00:00:00+00', 5, 9, 0));
SET session_replication_role = replica;
INSERT INTO watched VALUES (snowflake_make('2026-01-01 00:00:00+00', 5, 9, 0)),
                           (snowflake_nextval() + 1);
SELECT pg_replication_origin_create('elsewhere') > 0; --> t
SELECT pg_replication_origin_session_setup('elsewhere');
-- A program need not say when a transaction was committed. Then the clock does.
INSERT INTO watched VALUES (snowflake_make(now() - interval '1 hour', 5, 9, 0));
INSERT INTO watched VALUES (snowflake_make(now() - interval '1 second', 5, 9, 0)); --> ERROR 55000
SELECT twins FROM pg_stat_snowflake; --> 1
SELECT snowflake_stat_reset();
-- IDs that another server has made, and values that are no ID.
SELECT pg_replication_origin_xact_setup('0/1', '2026-01-01 00:00:59.999999+00');
INSERT INTO watched VALUES (snowflake_make('2026-01-01 00:00:00+00', 5, 8, 0)),
                           (snowflake_make('2026-01-01 00:00:00+00', 4, 9, 0)), (NULL), (-1);
SELECT twins FROM pg_stat_snowflake; --> 0
-- This server's own identity. What is refused has to be sent again, so the position stays.
SELECT pg_replication_origin_xact_setup('0/2', '2026-01-01 00:00:59.999999+00');
INSERT INTO watched VALUES (snowflake_make('2026-01-01 00:00:00+00', 5, 9, 1));
--> ERROR 55000: row was issued by another server with the identity of this one: datacenter 5, worker 9
--> DETAIL: A row of table "watched" came with ID 2006515713439338497, issued at 2026-01-01 00:00:00+00, and committed at 2026-01-01 00:00:59.999+00.
--> HINT: Give one of the two servers another identity, and restart it. Until then, both can issue the same ID. If this server made the row itself, and another one inserted it again, create the trigger with a shorter time as the third argument. If this server took the identity over, create it with a time before which IDs pass as the fourth.
INSERT INTO watched VALUES (NULL);
SELECT pg_replication_origin_session_progress(false) = '0/1' AS kept; --> t
SELECT twins FROM pg_stat_snowflake; --> 1
SELECT ok, detail, hint FROM snowflake_check() WHERE name = 'twins';
--> f | Replicated rows, or observed IDs, had the identity of this server. Their number since the counters were reset is 1. | The log names the subscriptions, and says which other causes are possible. Give one of the two servers another identity, and restart it. Then call snowflake_stat_reset(), which resets all counters.
-- A row that is older than a minute when it is committed may be one that this server has made.
SELECT pg_replication_origin_xact_setup('0/1', '2026-01-01 00:01:00.001+00');
INSERT INTO watched VALUES (snowflake_make('2026-01-01 00:00:00+00', 5, 9, 2));
SELECT twins FROM pg_stat_snowflake; --> 1
INSERT INTO watched VALUES (snowflake_make('2026-01-01 00:00:00.001+00', 5, 9, 2));
--> ERROR 55000: row was issued by another server with the identity of this one: datacenter 5, worker 9
--> DETAIL: A row of table "watched" came with ID 2006515713443532802, issued at 2026-01-01 00:00:00.001+00, and committed at 2026-01-01 00:01:00.001+00.
-- So may one that was deleted here, also by an earlier transaction.
SELECT pg_replication_origin_xact_setup('0/1', '2026-01-01 00:00:01+00');
BEGIN;
DELETE FROM watched;
INSERT INTO watched VALUES (snowflake_make('2026-01-01 00:00:00+00', 5, 9, 0));
COMMIT;
INSERT INTO watched VALUES (snowflake_make('2026-01-01 00:00:00+00', 5, 9, 2));
SELECT id = snowflake_make('2026-01-01 00:00:00+00', 5, 9, 2), twins FROM watched, pg_stat_snowflake;
--> f | 2
--> t | 2
-- Rows that are rolled back are forgotten.
BEGIN;
INSERT INTO watched VALUES (snowflake_make('2026-01-01 00:00:00+00', 5, 9, 3));
ROLLBACK;
INSERT INTO watched VALUES (snowflake_make('2026-01-01 00:00:00+00', 5, 8, 0));
SELECT twins FROM pg_stat_snowflake; --> 2

-- The time for which an ID is fresh.
CREATE OR REPLACE TRIGGER watch_twins AFTER INSERT OR DELETE ON watched
    FOR EACH ROW EXECUTE FUNCTION snowflake_watch_twins('id', 'refuse', '2 min');
ALTER TABLE watched ENABLE REPLICA TRIGGER watch_twins;
SELECT pg_replication_origin_xact_setup('0/1', '2026-01-01 00:02:00.001+00');
INSERT INTO watched VALUES (snowflake_make('2026-01-01 00:00:00+00', 5, 9, 4));
INSERT INTO watched VALUES (snowflake_make('2026-01-01 00:00:00.001+00', 5, 9, 4));
--> ERROR 55000: row was issued by another server with the identity of this one: datacenter 5, worker 9
--> DETAIL: A row of table "watched" came with ID 2006515713443532804, issued at 2026-01-01 00:00:00.001+00, and committed at 2026-01-01 00:02:00.001+00.

-- IDs from before a time pass.
CREATE OR REPLACE TRIGGER watch_twins AFTER INSERT ON watched
    FOR EACH ROW EXECUTE FUNCTION snowflake_watch_twins('id', 'refuse', '1min', '2026-01-01T00:00:00.001Z');
ALTER TABLE watched ENABLE ALWAYS TRIGGER watch_twins;
SELECT pg_replication_origin_xact_setup('0/1', '2026-01-01 00:00:00+00');
INSERT INTO watched VALUES (snowflake_make('2026-01-01 00:00:00+00', 5, 9, 5));
INSERT INTO watched VALUES (snowflake_make('2026-01-01 00:00:00.001+00', 5, 9, 5));
--> ERROR 55000: row was issued by another server with the identity of this one: datacenter 5, worker 9
--> DETAIL: A row of table "watched" came with ID 2006515713443532805, issued at 2026-01-01 00:00:00.001+00, and committed at 2026-01-01 00:00:00+00.

-- Without refuse, rows are counted.
CREATE OR REPLACE TRIGGER watch_twins AFTER INSERT ON watched
    FOR EACH ROW EXECUTE FUNCTION snowflake_watch_twins('id');
ALTER TABLE watched ENABLE REPLICA TRIGGER watch_twins;
SELECT pg_replication_origin_xact_setup('0/1', '2026-01-01 00:00:00+00');
INSERT INTO watched SELECT snowflake_make('2026-01-01 00:00:00+00', 5, 9, n)
    FROM generate_series(101, 200) AS n;
SELECT twins FROM pg_stat_snowflake; --> 104

-- A domain over bigint is as good.
CREATE DOMAIN order_id AS bigint DEFAULT snowflake_nextval();
CREATE TABLE watched_domain (id order_id);
CREATE TRIGGER watch_twins AFTER INSERT ON watched_domain
    FOR EACH ROW EXECUTE FUNCTION snowflake_watch_twins('id');
ALTER TABLE watched_domain ENABLE REPLICA TRIGGER watch_twins;
INSERT INTO watched_domain VALUES (snowflake_make('2026-01-01 00:00:00+00', 5, 9, 3));
-- This session took the ID itself, as a default does in an apply worker.
INSERT INTO watched_domain DEFAULT VALUES;
SELECT twins FROM pg_stat_snowflake; --> 105
DROP TABLE watched_domain;
DROP DOMAIN order_id;
SELECT pg_replication_origin_session_reset();
SELECT pg_replication_origin_drop('elsewhere');

-- Triggers that are wrong.
CREATE FUNCTION pg_temp.try(timing text, arguments text) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    EXECUTE format('CREATE OR REPLACE TRIGGER watch_twins %s EXECUTE FUNCTION snowflake_watch_twins(%s)',
                   timing, arguments);
    ALTER TABLE watched ENABLE REPLICA TRIGGER watch_twins;
    INSERT INTO watched (id) VALUES (1);
END $$;
SELECT errors_of(format('SELECT pg_temp.try(%L, %L)', timing, '''id''')) FROM unnest(ARRAY[
    'BEFORE INSERT ON watched FOR EACH ROW', 'AFTER INSERT ON watched FOR EACH STATEMENT']) AS timing;
--> 39P01: snowflake_watch_twins() must be fired AFTER INSERT OR DELETE FOR EACH ROW
--> 39P01: snowflake_watch_twins() must be fired AFTER INSERT OR DELETE FOR EACH ROW
SELECT errors_of(format('SELECT pg_temp.try(''AFTER INSERT ON watched FOR EACH ROW'', %L)', arguments)) FROM unnest(ARRAY[
    '', '''key''', '''other''', '''id'', ''ignore''', '''id'', ''log'', ''yesterday''', '''id'', ''log'', ''0''',
    '''id'', ''log'', ''1min'', ''yesterday''', '''id'', ''log'', ''1min'', ''0'', ''more''']) AS arguments;
--> 22023: snowflake_watch_twins() needs the name of a column | The arguments are the name of the column, and optionally, in this order, "log" or "refuse"; the time for which an ID is fresh, such as "1min"; and a time before which IDs pass, as ISO 8601 with an offset or as Unix milliseconds.
--> 42703: table "watched" has no column "key"
--> 42804: column "other" of table "watched" is not of type bigint
--> 22023: invalid argument for snowflake_watch_twins(): "ignore" | The arguments are the name of the column, and optionally, in this order, "log" or "refuse"; the time for which an ID is fresh, such as "1min"; and a time before which IDs pass, as ISO 8601 with an offset or as Unix milliseconds.
--> 22023: invalid argument for snowflake_watch_twins(): "yesterday" | The arguments are the name of the column, and optionally, in this order, "log" or "refuse"; the time for which an ID is fresh, such as "1min"; and a time before which IDs pass, as ISO 8601 with an offset or as Unix milliseconds.
--> 22023: invalid argument for snowflake_watch_twins(): "0" | The arguments are the name of the column, and optionally, in this order, "log" or "refuse"; the time for which an ID is fresh, such as "1min"; and a time before which IDs pass, as ISO 8601 with an offset or as Unix milliseconds.
--> 22023: invalid argument for snowflake_watch_twins(): "yesterday" | The arguments are the name of the column, and optionally, in this order, "log" or "refuse"; the time for which an ID is fresh, such as "1min"; and a time before which IDs pass, as ISO 8601 with an offset or as Unix milliseconds.
--> 22023: invalid argument for snowflake_watch_twins(): "more" | The arguments are the name of the column, and optionally, in this order, "log" or "refuse"; the time for which an ID is fresh, such as "1min"; and a time before which IDs pass, as ISO 8601 with an offset or as Unix milliseconds.
RESET session_replication_role;
-- Local rows show what is wrong, too, and none is lost.
CREATE OR REPLACE TRIGGER watch_twins BEFORE INSERT OR UPDATE ON watched
    FOR EACH ROW EXECUTE FUNCTION snowflake_watch_twins('id');
ALTER TABLE watched ENABLE ALWAYS TRIGGER watch_twins;
INSERT INTO watched (id) VALUES (1);
--> ERROR 39P01: snowflake_watch_twins() must be fired AFTER INSERT OR DELETE FOR EACH ROW
UPDATE watched SET other = 'other';
--> ERROR 39P01: snowflake_watch_twins() must be fired AFTER INSERT OR DELETE FOR EACH ROW
CREATE OR REPLACE TRIGGER watch_twins AFTER INSERT ON watched
    FOR EACH ROW EXECUTE FUNCTION snowflake_watch_twins('ID');
INSERT INTO watched (id) VALUES (1); --> ERROR 42703: table "watched" has no column "ID"
SELECT snowflake_watch_twins();
--> ERROR 39P01: snowflake_watch_twins() must be fired AFTER INSERT OR DELETE FOR EACH ROW
