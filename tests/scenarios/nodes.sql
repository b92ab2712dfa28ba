-- Identities that are given out once.

SELECT snowflake_claim_node('db-1'); --> # node db-1\nsnowflake.datacenter_id = 0\nsnowflake.worker_id = 0
SELECT snowflake_claim_node('db-2'); --> # node db-2\nsnowflake.datacenter_id = 0\nsnowflake.worker_id = 1
-- The same name gets the same identity. (The notice tells the time.)
SET client_min_messages = warning;
SELECT snowflake_claim_node('db-1'); --> # node db-1\nsnowflake.datacenter_id = 0\nsnowflake.worker_id = 0
-- A datacenter, a worker, or both.
SELECT snowflake_claim_node('db-3', datacenter_id => 7);
--> # node db-3\nsnowflake.datacenter_id = 7\nsnowflake.worker_id = 0
SELECT snowflake_claim_node('db-4', worker_id => 0);
--> # node db-4\nsnowflake.datacenter_id = 1\nsnowflake.worker_id = 0
SELECT snowflake_claim_node('db-5', 0, 1);
--> ERROR 55006: datacenter 0, worker 1 is already given to node "db-2"
--> HINT: Release it first with snowflake_release_node(), or claim another identity.
SELECT snowflake_claim_node('db-1', 0, 0) = snowflake_claim_node('db-1'); --> t
SELECT snowflake_claim_node('db-1', worker_id => 5);
--> ERROR 55000: node "db-1" has another identity: datacenter 0, worker 0
--> HINT: Release it first with snowflake_release_node().

-- Names and numbers that are not valid.
SELECT snowflake_claim_node(repeat('n', 255)) LIKE '%worker%' AS longest; --> t
DELETE FROM snowflake_internal.snowflake_node_claims WHERE name LIKE 'nnn%';
SELECT errors_of($calls$
    SELECT snowflake_claim_node(NULL)
    SELECT snowflake_claim_node(' ')
    SELECT snowflake_claim_node(repeat('n', 256))
    SELECT snowflake_claim_node(E'db\nsnowflake.worker_id = 1')
    SELECT snowflake_claim_node('db-5', 32)
    SELECT snowflake_claim_node('db-5', worker_id => -1)
$calls$);
--> 22004: the name of the node must not be NULL
--> 22023: invalid node name: " " | A node name must not be empty, longer than 255 bytes, or contain control characters.
--> 22023: invalid node name: "nnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnn" | A node name must not be empty, longer than 255 bytes, or contain control characters.
--> 22023: invalid node name: "db\nsnowflake.worker_id = 1" | A node name must not be empty, longer than 255 bytes, or contain control characters.
--> 22023: invalid value for argument "datacenter_id": 32 | The valid range is 0 to 31.
--> 22023: invalid value for argument "worker_id": -1 | The valid range is 0 to 31.

-- A release needs to know up to when the node has issued IDs.
SELECT errors_of($calls$
    SELECT snowflake_release_node('db-2')
    SELECT snowflake_release_node('db-2', now(), now())
    SELECT snowflake_release_node('db-2', issued_until => now())
    SELECT snowflake_release_node('db-2', floor => '2020-01-01 00:00:00+00')
    SELECT snowflake_release_node('db-2', floor => 'infinity')
    SELECT snowflake_release_node('db-9', floor => now())
    SELECT snowflake_release_node('db-2', floor => now() + interval '25 days')
$calls$);
--> 22023: exactly one of floor and issued_until must be given | Give as floor what snowflake_floor() returns on the node after its last ID. If the node cannot be asked, give as issued_until a time after its last ID.
--> 22023: exactly one of floor and issued_until must be given | Give as floor what snowflake_floor() returns on the node after its last ID. If the node cannot be asked, give as issued_until a time after its last ID.
--> 22023: issued_until needs fenced => true | A server that still runs can issue IDs after that time. | Make sure first that the server can never issue an ID again.
--> 22023: floor is before the time when node "db-2" was given its identity | That was at 20... | Take an ID on that node, and give what snowflake_floor() then returns. If its clock is behind, or it cannot be asked, give issued_until and fenced => true.
--> 22003: timestamp infinity is out of range | The timestamp field holds 2010-11-04 01:42:54.657+00 to 2080-07-10 17:30:30.208+00. | The epoch says where the field begins.
--> 42704: node "db-9" has no identity
--> 22023: the time is too far ahead of the clock | It is ... ahead. A server cannot have been that far ahead.
SELECT snowflake_release_node('db-2', floor => now() + interval '1 hour') = now() + interval '1 hour' AS kept; --> t
SELECT snowflake_release_node('db-2', floor => now()); --> ERROR 42704: node "db-2" has no identity
SELECT name, datacenter_id, worker_id, claimed_at < released_at AS released, start_after > released_at AS ahead
    FROM snowflake_nodes ORDER BY datacenter_id, worker_id;
--> db-1 | 0 | 0 | NULL | NULL
--> db-2 | 0 | 1 | t | t
--> db-4 | 1 | 0 | NULL | NULL
--> db-3 | 7 | 0 | NULL | NULL

-- Identities that nobody has had go first. The node itself gets its own back. A floor is never
-- lowered.
SELECT snowflake_claim_node('db-6'); --> # node db-6\nsnowflake.datacenter_id = 0\nsnowflake.worker_id = 2
SELECT snowflake_claim_node('db-2') ~ 'worker_id = 1\nsnowflake.start_after = .2.*Z' AS has_floor; --> t
SELECT snowflake_release_node('db-2', issued_until => '2026-01-01 00:00:00+00', fenced => true);
--> ERROR 22023: issued_until is before the time when node "db-2" was given its identity
UPDATE snowflake_internal.snowflake_node_claims SET claimed_at = '2025-12-31 23:00:00+00';
SELECT snowflake_release_node('db-2', issued_until => '2026-01-01 00:00:00+00', fenced => true)
       > now() AS floor_stays; --> t
SELECT snowflake_release_node('db-6', issued_until => '2026-01-01 00:00:00.0001+00', fenced => true);
--> 2026-01-01 00:00:00.0001+00
SELECT snowflake_claim_node('db-7', 0, 2);
--> # node db-7\nsnowflake.datacenter_id = 0\nsnowflake.worker_id = 2\nsnowflake.start_after = '2026-01-01T00:00:00.000100Z'

-- The identity of this server itself is given to nobody who does not ask for it by both numbers, and
-- after its release to nobody else.
SHOW snowflake.datacenter_id; --> 5
SHOW snowflake.worker_id; --> 9
BEGIN;
SELECT count(snowflake_claim_node('five-' || n, 5)) FROM generate_series(1, 9) AS n; --> 9
SELECT snowflake_claim_node('five-10', 5); --> # node five-10\nsnowflake.datacenter_id = 5\nsnowflake.worker_id = 10
SET LOCAL client_min_messages = notice;
SELECT snowflake_claim_node('here', 5, 9);
--> NOTICE: this server has this identity in its configuration
--> HINT: If node "here" is another server, both issue the same IDs.
--> # node here\nsnowflake.datacenter_id = 5\nsnowflake.worker_id = 9
SELECT snowflake_release_node('here', issued_until => clock_timestamp(), fenced => true) IS NULL AS lost; --> f
SELECT errors_of('SELECT snowflake_claim_node(''five-11'', 5, 9)');
--> 55006: datacenter 5, worker 9 is the identity of this server | It was released, but the configuration of this server still has it. | Give this server another identity and restart it, or claim another one.
SELECT snowflake_claim_node('here') ~ 'datacenter_id = 5\n.*worker_id = 9\n.*start_after' AS again;
--> NOTICE: this server has this identity in its configuration
--> HINT: If node "here" is another server, both issue the same IDs.
--> t
ROLLBACK;

-- When none is left that nobody has had, the one with the earliest floor goes first.
BEGIN;
INSERT INTO snowflake_internal.snowflake_node_claims
    SELECT d, w, format('row-%s-%s', d, w), now() FROM generate_series(2, 30) AS d, generate_series(0, 31) AS w
    WHERE (d, w) <> (5, 9) ON CONFLICT DO NOTHING;
SELECT count(snowflake_claim_node('rest-' || n)) FROM generate_series(1, 93) AS n; --> 93
SELECT errors_of('SELECT snowflake_claim_node(''db-8'')');
--> 54000: no identity is left to give out | Release those of servers that are gone: see snowflake_nodes.
SELECT snowflake_claim_node('here', 5, 9); --> # node here\nsnowflake.datacenter_id = 5\nsnowflake.worker_id = 9
SELECT errors_of('SELECT snowflake_claim_node(''db-8'')');
--> 54000: no identity is left to give out | Release those of servers that are gone: see snowflake_nodes.
UPDATE snowflake_internal.snowflake_node_claims SET claimed_at = '2025-12-31 23:00:00+00';
SELECT errors_of('SELECT snowflake_claim_node(''db-8'', 3)');
--> 54000: no identity is left to give out | Release those of servers that are gone: see snowflake_nodes.
SELECT errors_of('SELECT snowflake_claim_node(''db-8'', 3, 3)');
--> 55006: datacenter 3, worker 3 is already given to node "row-3-3" | Release it first with snowflake_release_node(), or claim another identity.
SELECT snowflake_release_node('rest-7', issued_until => '2026-01-02 00:00:00+00', fenced => true);
--> 2026-01-02 00:00:00+00
SELECT snowflake_release_node('rest-9', issued_until => '2026-01-01 00:00:00+00', fenced => true);
--> 2026-01-01 00:00:00+00
SELECT snowflake_claim_node('db-8');
--> # node db-8\nsnowflake.datacenter_id = 0\nsnowflake.worker_id = 11\nsnowflake.start_after = '2026-01-01T00:00:00.000000Z'
SELECT count(*), count(DISTINCT (datacenter_id, worker_id)) FROM snowflake_nodes; --> 1024 | 1024
ROLLBACK;

-- An older snapshot does not see what was claimed since.
BEGIN ISOLATION LEVEL REPEATABLE READ;
SELECT errors_of('SELECT snowflake_claim_node(''db-1'')');
--> 25001: nodes cannot be claimed and released in a REPEATABLE READ or SERIALIZABLE transaction | Such a transaction does not see claims that were made after it began. | Use a READ COMMITTED transaction.
ROLLBACK;
BEGIN ISOLATION LEVEL SERIALIZABLE;
SELECT errors_of('SELECT snowflake_release_node(''db-1'', now())');
--> 25001: nodes cannot be claimed and released in a REPEATABLE READ or SERIALIZABLE transaction | Such a transaction does not see claims that were made after it began. | Use a READ COMMITTED transaction.
ROLLBACK;

-- Only roles with the privileges of the extension's owner give them out, and whom a superuser allows
-- to. Everybody may look, as a dump does.
CREATE ROLE provisioner;
SET ROLE provisioner;
SELECT name FROM snowflake_nodes WHERE worker_id = 0 AND datacenter_id = 0; --> db-1
SELECT name FROM snowflake_internal.snowflake_node_claims WHERE worker_id = 0 AND datacenter_id = 0; --> db-1
SELECT errors_of($calls$
    SELECT snowflake_claim_node('db-10')
    SELECT snowflake_release_node('db-1', now())
    INSERT INTO snowflake_internal.snowflake_node_claims VALUES (0, 3, 'db-10', now())
    UPDATE snowflake_internal.snowflake_node_claims SET name = 'db-10'
    SELECT snowflake_internal.snowflake_guard_claims()
$calls$);
--> 42501: permission denied to claim and release nodes | Only roles with the privileges of the owner of the extension may, and roles that may update snowflake_internal.snowflake_node_claims.
--> 42501: permission denied to claim and release nodes | Only roles with the privileges of the owner of the extension may, and roles that may update snowflake_internal.snowflake_node_claims.
--> 42501: permission denied for table snowflake_node_claims
--> 42501: permission denied for table snowflake_node_claims
--> 42501: permission denied for function snowflake_guard_claims
RESET ROLE;
GRANT UPDATE ON snowflake_internal.snowflake_node_claims TO provisioner;
SET ROLE provisioner;
SELECT snowflake_claim_node('db-10'); --> # node db-10\nsnowflake.datacenter_id = 0\nsnowflake.worker_id = 3
RESET ROLE;
-- The constraints hold whatever somebody does to the table: also for a time that no line of a configuration file has.
SELECT errors_of($calls$
    INSERT INTO snowflake_internal.snowflake_node_claims VALUES (0, 0, 'db-11', now())
    INSERT INTO snowflake_internal.snowflake_node_claims VALUES (20, 20, 'db-1', now())
    UPDATE snowflake_internal.snowflake_node_claims SET released_at = now() WHERE name = 'db-3'
    INSERT INTO snowflake_internal.snowflake_node_claims VALUES (0, -1, 'db-11', now())
    INSERT INTO snowflake_internal.snowflake_node_claims VALUES (0, 4, 'db-11', now(), NULL, 'infinity')
    INSERT INTO snowflake_internal.snowflake_node_claims VALUES (0, 4, 'db-11', now(), NULL, '4000-01-01 00:00:00+00 BC')
    UPDATE snowflake_internal.snowflake_node_claims SET claimed_at = '-infinity'
$calls$);
--> 23505: duplicate key value violates unique constraint "snowflake_node_claims_pkey" | Key (datacenter_id, worker_id)=(0, 0) already exists.
--> 23505: duplicate key value violates unique constraint "snowflake_node_claims_name" | Key (name)=(db-1) already exists.
--> 23514: new row for relation "snowflake_node_claims" violates check constraint "released_with_floor" | ...
--> 23514: new row for relation "snowflake_node_claims" violates check constraint "snowflake_node_claims_worker_id_check" | ...
--> 23514: new row for relation "snowflake_node_claims" violates check constraint "snowflake_node_claims_start_after_check" | ...
--> 23514: new row for relation "snowflake_node_claims" violates check constraint "snowflake_node_claims_start_after_check" | ...
--> 23514: new row for relation "snowflake_node_claims" violates check constraint "snowflake_node_claims_claimed_at_check" | ...
-- The view is for looking only, whatever somebody grants.
UPDATE snowflake_nodes SET name = 'db-12'; --> ERROR 55000: cannot update view "snowflake_nodes"
-- An identity that the widths do not have is not given out, and not confirmed.
INSERT INTO snowflake_internal.snowflake_node_claims VALUES (0, 900, 'wide', now(), now(), now()), (1, 900, 'wider', now(), NULL, NULL);
SELECT snowflake_claim_node('wide') LIKE '%worker_id = 900%' AS too_wide; --> f
SELECT snowflake_claim_node('wider'); --> ERROR 22023: invalid value for argument "worker_id": 900
DELETE FROM snowflake_internal.snowflake_node_claims;
