-- The layout that dumps carry: a table with one row, that of the server.

TABLE snowflake_internal.snowflake_layout; --> 2010-11-04 01:42:54.657+00 | 5 | 5 | 12
-- The server's own is there already. Another one is an error, which names both.
INSERT INTO snowflake_internal.snowflake_layout TABLE snowflake_internal.snowflake_layout;
COPY snowflake_internal.snowflake_layout FROM PROGRAM 'printf "2010-11-04 01:42:54.657+00\t5\t5\t12"';
COPY snowflake_internal.snowflake_layout FROM PROGRAM 'printf "2015-01-01 00:00:00+00\t5\t5\t12"';
--> ERROR 55000: the dump is of a server with another snowflake.epoch or other widths
--> DETAIL: The dump: epoch 2015-01-01 00:00:00+00, widths 5, 5 and 12 bits for datacenter, worker and sequence. This server: epoch 2010-11-04 01:42:54.657+00, widths 5, 5 and 12 bits. Restored here, its IDs would give other times and parts.
--> HINT: Restore it on a server with snowflake.epoch = '2015-01-01 00:00:00+00', snowflake.datacenter_bits = 5, snowflake.worker_bits = 5 and snowflake.sequence_bits = 12.
--> CONTEXT: COPY snowflake_layout, line 1: "2015-01-01 00:00:00+00	5	5	12"
-- Another width, another epoch, a layout that no server has, and none.
SELECT errors_of($inserts$
    INSERT INTO snowflake_internal.snowflake_layout VALUES ('2010-11-04 01:42:54.657+00', 5, 6, 12)
    INSERT INTO snowflake_internal.snowflake_layout VALUES ('2010-11-04 01:42:54.658+00', 5, 5, 12)
    INSERT INTO snowflake_internal.snowflake_layout VALUES ('-infinity', -1, 2147483647, 0)
    INSERT INTO snowflake_internal.snowflake_layout VALUES (NULL, 5, 5, 12)
$inserts$);
--> 55000: the dump is of a server with another snowflake.epoch or other widths | The dump: epoch 2010-11-04 01:42:54.657+00, widths 5, 6 and 12 bits for datacenter, worker and sequence. This server: epoch 2010-11-04 01:42:54.657+00, widths 5, 5 and 12 bits. Restored here, its IDs would give other times and parts. | Restore it on a server with snowflake.epoch = '2010-11-04 01:42:54.657+00', snowflake.datacenter_bits = 5, snowflake.worker_bits = 6 and snowflake.sequence_bits = 12.
--> 55000: the dump is of a server with another snowflake.epoch or other widths | The dump: epoch 2010-11-04 01:42:54.658+00, widths 5, 5 and 12 bits for datacenter, worker and sequence. This server: epoch 2010-11-04 01:42:54.657+00, widths 5, 5 and 12 bits. Restored here, its IDs would give other times and parts. | Restore it on a server with snowflake.epoch = '2010-11-04 01:42:54.658+00', snowflake.datacenter_bits = 5, snowflake.worker_bits = 5 and snowflake.sequence_bits = 12.
--> 55000: the dump is of a server with another snowflake.epoch or other widths | The dump: epoch -infinity, widths -1, 2147483647 and 0 bits for datacenter, worker and sequence. This server: epoch 2010-11-04 01:42:54.657+00, widths 5, 5 and 12 bits. Restored here, its IDs would give other times and parts. | Restore it on a server with snowflake.epoch = '-infinity', snowflake.datacenter_bits = -1, snowflake.worker_bits = 2147483647 and snowflake.sequence_bits = 0.
--> 23502: null value in column "epoch" of relation "snowflake_layout" violates not-null constraint | Failing row contains (null, 5, 5, 12).
TABLE snowflake_internal.snowflake_layout; --> 2010-11-04 01:42:54.657+00 | 5 | 5 | 12

-- Who creates the extension may do as a restore does, and nothing else. Others may look.
CREATE ROLE restoring;
SET ROLE restoring;
INSERT INTO snowflake_internal.snowflake_layout TABLE snowflake_internal.snowflake_layout;
--> ERROR 42501: permission denied for table snowflake_layout
RESET ROLE;
GRANT INSERT ON snowflake_internal.snowflake_layout TO restoring;
SET ROLE restoring;
INSERT INTO snowflake_internal.snowflake_layout TABLE snowflake_internal.snowflake_layout;
SELECT errors_of($statements$
    INSERT INTO snowflake_internal.snowflake_layout VALUES ('2015-01-01+00', 5, 5, 12)
    UPDATE snowflake_internal.snowflake_layout SET worker_bits = 6
    DELETE FROM snowflake_internal.snowflake_layout
    SELECT snowflake_internal.snowflake_guard_layout()
    CREATE TEMP TABLE mine (LIKE snowflake_internal.snowflake_layout)
    CREATE TRIGGER guard BEFORE INSERT ON mine FOR EACH ROW EXECUTE FUNCTION snowflake_internal.snowflake_guard_layout()
$statements$);
--> 55000: the dump is of a server with another snowflake.epoch or other widths | The dump: epoch 2015-01-01 00:00:00+00, widths 5, 5 and 12 bits for datacenter, worker and sequence. This server: epoch 2010-11-04 01:42:54.657+00, widths 5, 5 and 12 bits. Restored here, its IDs would give other times and parts. | Restore it on a server with snowflake.epoch = '2015-01-01 00:00:00+00', snowflake.datacenter_bits = 5, snowflake.worker_bits = 5 and snowflake.sequence_bits = 12.
--> 42501: permission denied for table snowflake_layout
--> 42501: permission denied for table snowflake_layout
--> 42501: permission denied for function snowflake_guard_layout
--> nothing
--> 42501: permission denied for function snowflake_internal.snowflake_guard_layout
RESET ROLE;
REVOKE SELECT ON snowflake_internal.snowflake_layout FROM PUBLIC;
SET ROLE restoring;
SELECT ok, detail FROM snowflake_check() WHERE name = 'layout of the database';
--> t | Not checked: this role cannot read the table snowflake_internal.snowflake_layout.
RESET ROLE;
GRANT SELECT ON snowflake_internal.snowflake_layout TO PUBLIC;

-- The function is of use to one trigger only.
CREATE TRIGGER once BEFORE INSERT ON snowflake_internal.snowflake_layout EXECUTE FUNCTION snowflake_internal.snowflake_guard_layout();
INSERT INTO snowflake_internal.snowflake_layout TABLE snowflake_internal.snowflake_layout;
--> ERROR 39P01: snowflake_guard_layout() must be fired BEFORE INSERT FOR EACH ROW
DROP TRIGGER once ON snowflake_internal.snowflake_layout;
SELECT snowflake_internal.snowflake_guard_layout(); --> ERROR 39P01: snowflake_guard_layout() must be fired BEFORE INSERT FOR EACH ROW

-- A table that says nothing, or something else, is noticed, and put right.
SELECT ok, detail, hint FROM snowflake_check() WHERE name = 'layout of the database';
--> t | Dumps of this database carry the epoch and the widths. | NULL
SELECT snowflake_confirm('layout'); --> f
DELETE FROM snowflake_internal.snowflake_layout;
SELECT ok, detail FROM snowflake_check() WHERE name = 'layout of the database';
--> f | The table snowflake_internal.snowflake_layout is empty. Dumps of this database carry no layout.
SELECT snowflake_confirm('layout');
--> NOTICE: existing IDs are now decoded under the new epoch and widths, and give other times and parts
--> DETAIL: In this database, no object stores results of the old epoch and widths.
--> HINT: Rebuild the indexes and the generated columns. Confirm the layout in every other database that has the extension, too.
--> t
TABLE snowflake_internal.snowflake_layout; --> 2010-11-04 01:42:54.657+00 | 5 | 5 | 12
SET session_replication_role = replica;
INSERT INTO snowflake_internal.snowflake_layout VALUES ('2015-01-01+00', 5, 5, 12), ('2015-01-01+00', 5, 5, 12), ('infinity', 5, 5, 13);
RESET session_replication_role;
SELECT ok, detail, hint FROM snowflake_check() WHERE name = 'layout of the database';
--> f | This database has been used with another layout than the server's: epoch 2015-01-01 00:00:00+00, widths 5, 5 and 12 bits; epoch infinity, widths 5, 5 and 13 bits. | If the server has a wrong epoch or wrong widths, correct them and restart it. Otherwise, a superuser confirms them with SELECT snowflake_confirm('layout') in this database.
-- Nothing else depends on it.
SELECT ok FROM snowflake_check() WHERE name = 'issues IDs'; --> t
SELECT snowflake_confirm('layout');
--> NOTICE: existing IDs are now decoded under the new epoch and widths, and give other times and parts
--> t
SELECT DISTINCT l.* FROM snowflake_internal.snowflake_layout AS l; --> 2010-11-04 01:42:54.657+00 | 5 | 5 | 12
SELECT ok, detail, hint FROM snowflake_check() WHERE name = 'layout of the database';
--> t | Dumps of this database carry the epoch and the widths. | NULL
SELECT snowflake_confirm('layout'); --> f
TRUNCATE snowflake_internal.snowflake_layout;
INSERT INTO snowflake_internal.snowflake_layout SELECT epoch, datacenter_bits, worker_bits, sequence_bits
    FROM snowflake_status, generate_series(1, 3);
SELECT count(*) FROM snowflake_internal.snowflake_layout; --> 1
