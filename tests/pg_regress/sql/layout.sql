-- The layout that dumps carry.
SET timezone = 'UTC';
SET datestyle = 'ISO';
\set VERBOSITY default
TABLE snowflake_internal.snowflake_layout;
-- The server's own is there already. Another one is an error, which names both.
INSERT INTO snowflake_internal.snowflake_layout TABLE snowflake_internal.snowflake_layout;
COPY snowflake_internal.snowflake_layout FROM stdin;
2010-11-04 01:42:54.657+00	5	5	12
\.
COPY snowflake_internal.snowflake_layout FROM stdin;
2015-01-01 00:00:00+00	5	5	12
\.
INSERT INTO snowflake_internal.snowflake_layout VALUES ('2010-11-04 01:42:54.657+00', 5, 6, 12);
INSERT INTO snowflake_internal.snowflake_layout VALUES ('2010-11-04 01:42:54.658+00', 5, 5, 12);
-- One that no server has, and none.
INSERT INTO snowflake_internal.snowflake_layout VALUES ('-infinity', -1, 2147483647, 0);
\echo :LAST_ERROR_SQLSTATE
INSERT INTO snowflake_internal.snowflake_layout VALUES (NULL, 5, 5, 12);
\echo :LAST_ERROR_SQLSTATE
TABLE snowflake_internal.snowflake_layout;

-- Who creates the extension may do as a restore does, and nothing else. Others may look.
CREATE ROLE restoring;
SET ROLE restoring;
INSERT INTO snowflake_internal.snowflake_layout TABLE snowflake_internal.snowflake_layout;
\echo :LAST_ERROR_SQLSTATE
RESET ROLE;
GRANT INSERT ON snowflake_internal.snowflake_layout TO restoring;
SET ROLE restoring;
INSERT INTO snowflake_internal.snowflake_layout TABLE snowflake_internal.snowflake_layout;
INSERT INTO snowflake_internal.snowflake_layout VALUES ('2015-01-01+00', 5, 5, 12);
UPDATE snowflake_internal.snowflake_layout SET worker_bits = 6;
\echo :LAST_ERROR_SQLSTATE
DELETE FROM snowflake_internal.snowflake_layout;
SELECT snowflake_guard_layout();
CREATE TEMP TABLE mine (LIKE snowflake_internal.snowflake_layout);
CREATE TRIGGER guard BEFORE INSERT ON mine FOR EACH ROW EXECUTE FUNCTION snowflake_guard_layout();
RESET ROLE;
REVOKE SELECT ON snowflake_internal.snowflake_layout FROM PUBLIC;
SET ROLE restoring;
SELECT ok, detail FROM snowflake_check() WHERE name = 'layout of the database';
RESET ROLE;
GRANT SELECT ON snowflake_internal.snowflake_layout TO PUBLIC;
DROP OWNED BY restoring;
DROP ROLE restoring;

-- The function is of use to one trigger only.
CREATE TRIGGER once BEFORE INSERT ON snowflake_internal.snowflake_layout EXECUTE FUNCTION snowflake_guard_layout();
INSERT INTO snowflake_internal.snowflake_layout TABLE snowflake_internal.snowflake_layout;
\echo :LAST_ERROR_SQLSTATE
DROP TRIGGER once ON snowflake_internal.snowflake_layout;
SELECT snowflake_guard_layout();
\echo :LAST_ERROR_SQLSTATE

-- A table that says nothing, or something else, is noticed, and put right.
SELECT ok, detail, hint FROM snowflake_check() WHERE name = 'layout of the database';
SELECT snowflake_confirm('layout');
DELETE FROM snowflake_internal.snowflake_layout;
SELECT ok, detail FROM snowflake_check() WHERE name = 'layout of the database';
SELECT snowflake_confirm('layout');
TABLE snowflake_internal.snowflake_layout;
SET session_replication_role = replica;
INSERT INTO snowflake_internal.snowflake_layout VALUES ('2015-01-01+00', 5, 5, 12), ('2015-01-01+00', 5, 5, 12), ('infinity', 5, 5, 13);
RESET session_replication_role;
SELECT ok, detail, hint FROM snowflake_check() WHERE name = 'layout of the database';
-- Nothing else depends on it.
SELECT ok FROM snowflake_check() WHERE name = 'issues IDs';
SELECT snowflake_confirm('layout');
SELECT DISTINCT l.* FROM snowflake_internal.snowflake_layout AS l;
SELECT ok, detail, hint FROM snowflake_check() WHERE name = 'layout of the database';
SELECT snowflake_confirm('layout');
TRUNCATE snowflake_internal.snowflake_layout;
INSERT INTO snowflake_internal.snowflake_layout SELECT epoch, datacenter_bits, worker_bits, sequence_bits
    FROM snowflake_status, generate_series(1, 3);
SELECT count(*) FROM snowflake_internal.snowflake_layout;
