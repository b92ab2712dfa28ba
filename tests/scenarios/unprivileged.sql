-- Roles without privileges can generate and decode, and administer nothing.

CREATE ROLE owner LOGIN; CREATE ROLE guest LOGIN; CREATE SCHEMA AUTHORIZATION guest;
CREATE DATABASE theirs OWNER owner;
CREATE TABLE orders (id serial PRIMARY KEY); GRANT ALL ON orders TO guest;

-- The owner of a database creates the extension, and anyone uses it.
\in theirs
\as owner
CREATE EXTENSION snowflake;
\as guest
SELECT snowflake_parse(snowflake_nextval()), snowflake_currval();
SELECT snowflake_nextval(3);
SELECT snowflake_make(now(), 5, 9, 0);
\in
SELECT snowflake_nextval(), snowflake_currval();
SELECT snowflake_nextval(10);
SELECT snowflake_parse(1), snowflake_timestamp(1), snowflake_datacenter_id(1), snowflake_worker_id(1), snowflake_sequence(1);
SELECT snowflake_parse(1, '2015-01-01+00'), snowflake_make(now(), 5, 9, 0), snowflake_min(now()), snowflake_max(now());
SELECT snowflake_within(1, '-infinity', now()), snowflake_json(1), snowflake_from_base62(snowflake_to_base62(1));
SELECT * FROM pg_stat_snowflake, snowflake_status;
SELECT snowflake_floor();
CREATE TEMP TABLE mine (id bigint DEFAULT snowflake_nextval()); INSERT INTO mine DEFAULT VALUES;
CREATE TABLE theirs (id serial PRIMARY KEY);
SELECT run(ARRAY(SELECT snowflake_conversion('{theirs}')));
INSERT INTO theirs DEFAULT VALUES;

SELECT snowflake_stat_reset(); --> ERROR 42501: permission denied for function snowflake_stat_reset
SELECT snowflake_set_floor(now()); --> ERROR 42501: must be superuser to set the floor of snowflake IDs
SELECT snowflake_confirm('clock'); --> ERROR 42501: must be superuser to confirm a change for snowflake IDs
SELECT run(ARRAY(SELECT snowflake_conversion('{orders}'))); --> ERROR 42501

-- Locks that a role gets with the rights of PUBLIC block no claim.
BEGIN;
DO $$
DECLARE attempt text;
BEGIN
    FOR attempt IN SELECT format(act, relation) FROM
        unnest(ARRAY['snowflake_internal.snowflake_node_claims', 'snowflake_internal.snowflake_layout', 'snowflake_nodes']) AS relation,
        unnest(ARRAY['LOCK TABLE %s IN ACCESS SHARE MODE', 'LOCK TABLE %s IN ROW SHARE MODE', 'LOCK TABLE %s IN ROW EXCLUSIVE MODE',
            'LOCK TABLE %s IN SHARE UPDATE EXCLUSIVE MODE', 'LOCK TABLE %s IN SHARE MODE', 'LOCK TABLE %s IN SHARE ROW EXCLUSIVE MODE',
            'LOCK TABLE %s IN EXCLUSIVE MODE', 'LOCK TABLE %s IN ACCESS EXCLUSIVE MODE', 'SELECT FROM %s FOR UPDATE',
            'SELECT FROM %s FOR NO KEY UPDATE', 'SELECT FROM %s FOR SHARE', 'SELECT FROM %s FOR KEY SHARE']) AS act
    LOOP
        BEGIN
            EXECUTE attempt;
            RAISE NOTICE '%', attempt;
        EXCEPTION WHEN insufficient_privilege THEN NULL;
        END;
    END LOOP;
END $$;
--> NOTICE: LOCK TABLE snowflake_internal.snowflake_node_claims IN ACCESS SHARE MODE
--> NOTICE: LOCK TABLE snowflake_internal.snowflake_layout IN ACCESS SHARE MODE
--> NOTICE: LOCK TABLE snowflake_nodes IN ACCESS SHARE MODE
TABLE snowflake_nodes; --> (0 rows)
\as postgres
SET lock_timeout = '2s';
SELECT snowflake_claim_node('db-1');
SELECT snowflake_release_node('db-1', issued_until => now(), fenced => true);
SELECT snowflake_confirm('layout');
\as guest
COMMIT;
