-- Any role may check. One that may not look at files and at other sessions sees less, but gets no error.

CREATE ROLE ordinary LOGIN; CREATE ROLE reader LOGIN; GRANT pg_read_all_data TO reader;
\as ordinary
SELECT count(*) FROM snowflake_check(); --> 22
SELECT ok, detail FROM snowflake_check() WHERE name = 'origin of the identity';
--> t | snowflake.datacenter_id: configuration file; snowflake.worker_id: configuration file.
-- This one may read every table, but not call what the views call.
\as reader
SELECT ok FROM snowflake_check() WHERE name = 'issues IDs'; --> t
-- Some servers let only a few roles see these views. The rest is checked.
\as postgres
REVOKE SELECT ON pg_settings, pg_stat_replication, pg_available_extensions, pg_shdepend FROM PUBLIC; REVOKE SELECT (subenabled) ON pg_subscription FROM PUBLIC;
\as ordinary
SELECT name, ok, detail FROM snowflake_check() WHERE name IN ('issues IDs', 'origin of the identity', 'clocks of standbys', 'subscriptions', 'version', 'claims') ORDER BY name;
--> claims | t | No claim in this database is of the identity of this server.
--> clocks of standbys | t | Not checked: this role may not read pg_stat_replication.
--> issues IDs | t | This server issues IDs.
--> origin of the identity | t | Not checked: this role may not read pg_settings.
--> subscriptions | t | Not checked: this role may not read pg_subscription.
--> version | t | Not checked: this role may not read pg_available_extensions.
