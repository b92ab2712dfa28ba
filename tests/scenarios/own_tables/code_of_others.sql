-- The extension's tables are written with the rights of their owner, a superuser. No code of others runs then.

CREATE ROLE owner LOGIN; CREATE ROLE mallory LOGIN; CREATE SCHEMA mallory AUTHORIZATION mallory;
ALTER DATABASE scenario OWNER TO owner;
DROP EXTENSION snowflake;
-- All that a superuser can give mallory by mistake.
ALTER DEFAULT PRIVILEGES GRANT ALL ON TABLES TO mallory; ALTER DEFAULT PRIVILEGES GRANT ALL ON SCHEMAS TO mallory;
\as owner
CREATE EXTENSION snowflake; SELECT snowflake_claim_node('db-0', worker_id => 9);
\as postgres
GRANT ALL ON ALL TABLES IN SCHEMA public TO mallory;

-- These say who runs them, and try to make mallory a superuser.
\as mallory
CREATE FUNCTION mallory.act() RETURNS void LANGUAGE plpgsql AS $$ BEGIN
    IF current_setting('spy.sleeps', true) = 'true' THEN RETURN; END IF;
    RAISE WARNING 'spy runs as %', user;
    ALTER ROLE mallory SUPERUSER;
EXCEPTION WHEN insufficient_privilege THEN NULL;
END $$;
CREATE FUNCTION mallory.spy() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN PERFORM mallory.act(); RETURN NEW; END';
CREATE FUNCTION mallory.value() RETURNS integer LANGUAGE plpgsql IMMUTABLE AS 'BEGIN PERFORM mallory.act(); RETURN 1; END';
GRANT USAGE ON SCHEMA mallory TO PUBLIC;

-- The privileges are worth nothing.
SELECT count(*), left(errors_of(format(attempt, of)), 5) FROM
    unnest(ARRAY['snowflake_internal.snowflake_node_claims', 'snowflake_internal.snowflake_layout']) AS of,
    unnest(ARRAY['CREATE TRIGGER spy BEFORE INSERT ON %1$s FOR EACH ROW EXECUTE FUNCTION mallory.spy()', 'INSERT INTO %1$s SELECT * FROM %1$s',
        'DELETE FROM %1$s', 'TRUNCATE %1$s', 'SELECT FROM %1$s FOR KEY SHARE', 'CREATE TABLE mallory.others () INHERITS (%1$s)',
        'CREATE POLICY spy ON %1$s USING (mallory.value() = 1)', 'CREATE RULE spy AS ON INSERT TO %1$s DO ALSO SELECT mallory.act()',
        'LOCK TABLE %1$s IN ROW SHARE MODE', 'LOCK TABLE %1$s IN ROW EXCLUSIVE MODE', 'LOCK TABLE %1$s IN ACCESS EXCLUSIVE MODE']) AS attempt
    GROUP BY 2; --> 22 | 42501
SELECT count(*), left(errors_of($attempts$
    UPDATE snowflake_internal.snowflake_node_claims SET name = 'mallory'
    UPDATE snowflake_internal.snowflake_layout SET worker_bits = 6
    CREATE TABLE snowflake_internal.mine ()
    CREATE TABLE mallory.keys (d int, w int, FOREIGN KEY (d, w) REFERENCES snowflake_internal.snowflake_node_claims)
    SELECT FROM snowflake_nodes FOR UPDATE
    LOCK TABLE snowflake_nodes IN ROW EXCLUSIVE MODE
    LOCK TABLE snowflake_nodes IN ACCESS EXCLUSIVE MODE
$attempts$), 5) GROUP BY 2; --> 7 | 42501

-- Objects that are not the extension's: the role that makes each, and the statement of a superuser that drops it.
\as postgres
CREATE TABLE attacks (maker name, make text, drop text);
INSERT INTO attacks VALUES
    ('mallory', 'CREATE TRIGGER spy BEFORE INSERT OR UPDATE ON %s FOR EACH ROW EXECUTE FUNCTION mallory.spy()', 'DROP TRIGGER spy ON %s'),
    ('postgres', 'CREATE RULE spy AS ON UPDATE TO %s DO ALSO SELECT mallory.act()', 'DROP RULE spy ON %s'),
    ('postgres', 'ALTER TABLE %1$s ENABLE ROW LEVEL SECURITY; CREATE POLICY spy ON %1$s USING (mallory.value() = 1)',
        'DROP POLICY spy ON %1$s; ALTER TABLE %1$s DISABLE ROW LEVEL SECURITY'),
    ('postgres', 'ALTER TABLE %s ADD CONSTRAINT spy CHECK (mallory.value() = 1) NOT VALID', 'ALTER TABLE %s DROP CONSTRAINT spy'),
    ('postgres', 'CREATE TABLE spy () INHERITS (%s)', 'DROP TABLE spy'),
    ('postgres', 'CREATE INDEX spy ON %s ((mallory.value()))', 'DROP INDEX snowflake_internal.spy'),
    ('postgres', 'ALTER TABLE %1$s ADD COLUMN spied int; ALTER TABLE %1$s ALTER COLUMN spied SET DEFAULT mallory.value()', 'ALTER TABLE %s DROP COLUMN spied'),
    ('postgres', 'CREATE CONSTRAINT TRIGGER spy AFTER UPDATE ON %s DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION mallory.spy()',
        'DROP TRIGGER spy ON %s');
CREATE FUNCTION refused(caller name, call text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE said text;
BEGIN
    PERFORM set_config('role', caller, true);
    said := errors_of('SELECT ' || call);
    RESET ROLE;
    RETURN said;
END $$;
-- Makes one after the other, and says which objects the refusals name, to each caller at each call.
CREATE PROCEDURE attack(of text, callers name[], calls text[]) LANGUAGE plpgsql AS $$
DECLARE attack attacks; said text; named text;
BEGIN
    FOR attack IN TABLE attacks LOOP
        PERFORM set_config('spy.sleeps', 'true', true), set_config('role', attack.maker, true);
        EXECUTE format(attack.make, of);
        COMMIT;
        FOR said IN SELECT DISTINCT refused(caller, call) FROM unnest(callers) AS caller, unnest(calls) AS call LOOP
            named := concat_ws('; ', named, coalesce(substring(said FROM format('^55000: table %s has objects that the extension did not create \| A write would run or change them with the rights of the owner of the table: (.*)\. \| Drop these objects first\.$', of)), said));
        END LOOP;
        EXECUTE format(attack.drop, of);
        COMMIT;
    END LOOP;
    RAISE NOTICE '%', named;
END $$;
GRANT TRIGGER ON snowflake_internal.snowflake_node_claims, snowflake_internal.snowflake_layout TO mallory;
CALL attack('snowflake_internal.snowflake_node_claims', ARRAY['postgres', 'owner'],
    ARRAY['snowflake_claim_node(''db-1'')', 'snowflake_release_node(''db-0'', issued_until => clock_timestamp(), fenced => true)']);
--> NOTICE: trigger spy on table snowflake_internal.snowflake_node_claims; rule spy on table snowflake_internal.snowflake_node_claims; policy spy on table snowflake_internal.snowflake_node_claims; constraint spy on table snowflake_internal.snowflake_node_claims; table public.spy; index snowflake_internal.spy; default value for column spied of table snowflake_internal.snowflake_node_claims; constraint spy on table snowflake_internal.snowflake_node_claims, trigger spy on table snowflake_internal.snowflake_node_claims
-- A foreign key of mallory's has triggers, too.
GRANT REFERENCES ON snowflake_internal.snowflake_node_claims TO mallory;
\as mallory
CREATE TABLE mallory.keys (d int, w int, FOREIGN KEY (d, w) REFERENCES snowflake_internal.snowflake_node_claims);
\as postgres
SELECT count(*), refused(caller, call) FROM unnest(ARRAY['postgres', 'owner']) AS caller, unnest(ARRAY['snowflake_claim_node(''db-1'')',
    'snowflake_release_node(''db-0'', issued_until => clock_timestamp(), fenced => true)']) AS call GROUP BY 2;
--> 4 | 55000: table snowflake_internal.snowflake_node_claims has objects that the extension did not create | A write would run or change them with the rights of the owner of the table: trigger RI_ConstraintTrigger_a_... on table snowflake_internal.snowflake_node_claims, trigger RI_ConstraintTrigger_a_... on table snowflake_internal.snowflake_node_claims. | Drop these objects first.
DROP TABLE mallory.keys;
SELECT name, released_at FROM snowflake_nodes; --> db-0 | NULL

-- A confirmation has something to write.
DELETE FROM snowflake_internal.snowflake_layout;
CALL attack('snowflake_internal.snowflake_layout', ARRAY['postgres'], ARRAY['snowflake_confirm(''layout'')']);
--> NOTICE: trigger spy on table snowflake_internal.snowflake_layout; rule spy on table snowflake_internal.snowflake_layout; policy spy on table snowflake_internal.snowflake_layout; constraint spy on table snowflake_internal.snowflake_layout; table public.spy; index snowflake_internal.spy; default value for column spied of table snowflake_internal.snowflake_layout; constraint spy on table snowflake_internal.snowflake_layout, trigger spy on table snowflake_internal.snowflake_layout
-- A transaction that does not see the trigger would still fire it.
BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT;
\as mallory
CREATE TRIGGER spy BEFORE INSERT OR UPDATE ON snowflake_internal.snowflake_layout FOR EACH ROW EXECUTE FUNCTION mallory.spy();
\as postgres
SELECT snowflake_confirm('layout');
--> ERROR 55000: table snowflake_internal.snowflake_layout has objects that the extension did not create
--> DETAIL: A write would run or change them with the rights of the owner of the table: trigger spy on table snowflake_internal.snowflake_layout.
ROLLBACK;
SELECT count(*) FROM snowflake_internal.snowflake_layout; --> 0
DROP TRIGGER spy ON snowflake_internal.snowflake_layout;

-- Tables of these names that the owner adds to the extension are not written.
GRANT CREATE ON DATABASE scenario TO owner;
\as owner
CREATE SCHEMA aaa; GRANT USAGE ON SCHEMA aaa TO PUBLIC;
CREATE TABLE aaa.snowflake_layout (LIKE snowflake_internal.snowflake_layout INCLUDING ALL);
CREATE TABLE aaa.snowflake_node_claims (LIKE snowflake_internal.snowflake_node_claims INCLUDING ALL);
CREATE TRIGGER spy BEFORE INSERT OR UPDATE ON aaa.snowflake_layout FOR EACH ROW EXECUTE FUNCTION mallory.spy();
CREATE TRIGGER spy BEFORE INSERT OR UPDATE ON aaa.snowflake_node_claims FOR EACH ROW EXECUTE FUNCTION mallory.spy();
ALTER EXTENSION snowflake ADD TABLE aaa.snowflake_layout; ALTER EXTENSION snowflake ADD TABLE aaa.snowflake_node_claims;
ALTER EXTENSION snowflake ADD SCHEMA aaa;
\as postgres
SET search_path = aaa, public;
SELECT snowflake_claim_node('db-1');
SELECT snowflake_confirm('layout'); --> NOTICE: ...
SELECT snowflake_release_node('db-1', issued_until => now(), fenced => true);
SELECT (SELECT count(*) FROM snowflake_internal.snowflake_node_claims), (SELECT count(*) FROM snowflake_internal.snowflake_layout),
    (SELECT count(*) FROM aaa.snowflake_node_claims), (SELECT count(*) FROM aaa.snowflake_layout); --> 2 | 1 | 0 | 0
SELECT rolsuper FROM pg_roles WHERE rolname = 'mallory'; --> f
