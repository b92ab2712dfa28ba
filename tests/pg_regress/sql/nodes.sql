-- Identities that are given out once.
SET timezone = 'UTC';
SET datestyle = 'ISO';
SELECT snowflake_claim_node('db-1');
SELECT snowflake_claim_node('db-2');
-- The same name gets the same identity. (The notice tells the time.)
SET client_min_messages = warning;
SELECT snowflake_claim_node('db-1');
-- A datacenter, a worker, or both.
SELECT snowflake_claim_node('db-3', datacenter_id => 7);
SELECT snowflake_claim_node('db-4', worker_id => 0);
SELECT snowflake_claim_node('db-5', 0, 1);
\echo :LAST_ERROR_SQLSTATE
SELECT snowflake_claim_node('db-1', 0, 0) = snowflake_claim_node('db-1');
SELECT snowflake_claim_node('db-1', worker_id => 5);
\echo :LAST_ERROR_SQLSTATE

-- Names and numbers that are not valid.
SELECT snowflake_claim_node(NULL);
\echo :LAST_ERROR_SQLSTATE
SELECT snowflake_claim_node(' ');
SELECT snowflake_claim_node(repeat('n', 255)) LIKE '%worker%' AS longest;
\set VERBOSITY terse
SELECT snowflake_claim_node(repeat('n', 256)) LIKE '%worker%' AS too_long;
\set VERBOSITY default
DELETE FROM snowflake_internal.snowflake_node_claims WHERE name LIKE 'nnn%';
SELECT snowflake_claim_node(E'db\nsnowflake.worker_id = 1');
SELECT snowflake_claim_node('db-5', 32);
\echo :LAST_ERROR_SQLSTATE
SELECT snowflake_claim_node('db-5', worker_id => -1);

-- A release needs to know up to when the node has issued IDs.
SELECT snowflake_release_node('db-2');
\echo :LAST_ERROR_SQLSTATE
SELECT snowflake_release_node('db-2', now(), now());
SELECT snowflake_release_node('db-2', issued_until => now());
\echo :LAST_ERROR_SQLSTATE
\set VERBOSITY terse
SELECT snowflake_release_node('db-2', floor => '2020-01-01 00:00:00+00');
\echo :LAST_ERROR_SQLSTATE
\set VERBOSITY default
SELECT snowflake_release_node('db-2', floor => 'infinity');
SELECT snowflake_release_node('db-9', floor => now());
\echo :LAST_ERROR_SQLSTATE
\set VERBOSITY terse
SELECT snowflake_release_node('db-2', floor => now() + interval '25 days') IS NULL;
\echo :LAST_ERROR_SQLSTATE
\set VERBOSITY default
SELECT snowflake_release_node('db-2', floor => now() + interval '1 hour') = now() + interval '1 hour' AS kept;
SELECT snowflake_release_node('db-2', floor => now());
SELECT name, datacenter_id, worker_id, claimed_at < released_at AS released, start_after > released_at AS ahead
    FROM snowflake_nodes ORDER BY datacenter_id, worker_id;

-- Identities that nobody has had go first. The node itself gets its own back. A floor is never
-- lowered.
SELECT snowflake_claim_node('db-6');
SELECT snowflake_claim_node('db-2') ~ 'worker_id = 1\nsnowflake.start_after = .2.*Z' AS has_floor;
\set VERBOSITY terse
SELECT snowflake_release_node('db-2', issued_until => '2026-01-01 00:00:00+00', fenced => true);
\echo :LAST_ERROR_SQLSTATE
\set VERBOSITY default
UPDATE snowflake_internal.snowflake_node_claims SET claimed_at = '2025-12-31 23:00:00+00';
SELECT snowflake_release_node('db-2', issued_until => '2026-01-01 00:00:00+00', fenced => true)
       > now() AS floor_stays;
SELECT snowflake_release_node('db-6', issued_until => '2026-01-01 00:00:00.0001+00', fenced => true);
SELECT snowflake_claim_node('db-7', 0, 2);

-- The identity of this server itself is given to nobody who does not ask for it by both numbers, and
-- after its release to nobody else.
SHOW snowflake.datacenter_id;
SHOW snowflake.worker_id;
BEGIN;
\set ON_ERROR_ROLLBACK on
SELECT count(snowflake_claim_node('five-' || n, 5)) FROM generate_series(1, 9) AS n;
SELECT snowflake_claim_node('five-10', 5);
SET LOCAL client_min_messages = notice;
SELECT snowflake_claim_node('here', 5, 9);
SELECT snowflake_release_node('here', issued_until => clock_timestamp(), fenced => true) IS NULL AS lost;
SELECT snowflake_claim_node('five-11', 5, 9);
\echo :LAST_ERROR_SQLSTATE
SELECT snowflake_claim_node('here') ~ 'datacenter_id = 5\n.*worker_id = 9\n.*start_after' AS again;
ROLLBACK;
\set ON_ERROR_ROLLBACK off

-- When none is left that nobody has had, the one with the earliest floor goes first.
BEGIN;
\set ON_ERROR_ROLLBACK on
INSERT INTO snowflake_internal.snowflake_node_claims
    SELECT d, w, format('row-%s-%s', d, w), now() FROM generate_series(2, 30) AS d, generate_series(0, 31) AS w
    WHERE (d, w) <> (5, 9) ON CONFLICT DO NOTHING;
SELECT count(snowflake_claim_node('rest-' || n)) FROM generate_series(1, 93) AS n;
SELECT snowflake_claim_node('db-8');
\echo :LAST_ERROR_SQLSTATE
SELECT snowflake_claim_node('here', 5, 9);
SELECT snowflake_claim_node('db-8');
\echo :LAST_ERROR_SQLSTATE
UPDATE snowflake_internal.snowflake_node_claims SET claimed_at = '2025-12-31 23:00:00+00';
SELECT snowflake_claim_node('db-8', 3);
SELECT snowflake_claim_node('db-8', 3, 3);
\echo :LAST_ERROR_SQLSTATE
SELECT snowflake_release_node('rest-7', issued_until => '2026-01-02 00:00:00+00', fenced => true);
SELECT snowflake_release_node('rest-9', issued_until => '2026-01-01 00:00:00+00', fenced => true);
SELECT snowflake_claim_node('db-8');
SELECT count(*), count(DISTINCT (datacenter_id, worker_id)) FROM snowflake_nodes;
ROLLBACK;
\set ON_ERROR_ROLLBACK off

-- An older snapshot does not see what was claimed since.
BEGIN ISOLATION LEVEL REPEATABLE READ;
SELECT snowflake_claim_node('db-1');
\echo :LAST_ERROR_SQLSTATE
ROLLBACK;
BEGIN ISOLATION LEVEL SERIALIZABLE;
SELECT snowflake_release_node('db-1', now());
ROLLBACK;

-- Only roles with the privileges of the extension's owner give them out, and whom a superuser allows
-- to. Everybody may look, as a dump does.
CREATE ROLE provisioner;
SET ROLE provisioner;
SELECT name FROM snowflake_nodes WHERE worker_id = 0 AND datacenter_id = 0;
SELECT name FROM snowflake_internal.snowflake_node_claims WHERE worker_id = 0 AND datacenter_id = 0;
SELECT snowflake_claim_node('db-10');
\echo :LAST_ERROR_SQLSTATE
SELECT snowflake_release_node('db-1', now());
INSERT INTO snowflake_internal.snowflake_node_claims VALUES (0, 3, 'db-10', now());
UPDATE snowflake_internal.snowflake_node_claims SET name = 'db-10';
SELECT snowflake_guard_claims();
RESET ROLE;
GRANT UPDATE ON snowflake_internal.snowflake_node_claims TO provisioner;
SET ROLE provisioner;
SELECT snowflake_claim_node('db-10');
RESET ROLE;
-- The constraints hold whatever somebody does to the table.
INSERT INTO snowflake_internal.snowflake_node_claims VALUES (0, 0, 'db-11', now());
INSERT INTO snowflake_internal.snowflake_node_claims VALUES (20, 20, 'db-1', now());
\set VERBOSITY terse
UPDATE snowflake_internal.snowflake_node_claims SET released_at = now() WHERE name = 'db-3';
INSERT INTO snowflake_internal.snowflake_node_claims VALUES (0, -1, 'db-11', now());
-- A time that no line of a configuration file has.
INSERT INTO snowflake_internal.snowflake_node_claims VALUES (0, 4, 'db-11', now(), NULL, 'infinity');
INSERT INTO snowflake_internal.snowflake_node_claims VALUES (0, 4, 'db-11', now(), NULL, '4000-01-01 00:00:00+00 BC');
UPDATE snowflake_internal.snowflake_node_claims SET claimed_at = '-infinity';
-- The view is for looking only, whatever somebody grants.
UPDATE snowflake_nodes SET name = 'db-12';
-- An identity that the widths do not have is not given out, and not confirmed.
INSERT INTO snowflake_internal.snowflake_node_claims VALUES (0, 900, 'wide', now(), now(), now()), (1, 900, 'wider', now(), NULL, NULL);
SELECT snowflake_claim_node('wide') LIKE '%worker_id = 900%' AS too_wide;
SELECT snowflake_claim_node('wider');
DELETE FROM snowflake_internal.snowflake_node_claims;
DROP OWNED BY provisioner;
DROP ROLE provisioner;
