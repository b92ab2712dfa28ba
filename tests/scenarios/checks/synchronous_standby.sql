-- A synchronous standby that is away shows: without its answer, commits wait.

\set synchronous_standby_names = away
\set synchronous_commit = local

SELECT ok, detail, hint FROM snowflake_check() WHERE name = 'synchronous standbys';
--> f | Commits wait for 1 of the standbys that synchronous_standby_names names. Of those that are connected and stream, none is. A transaction that took an ID or wrote a row waits when it commits. | Look at pg_stat_replication. Start the standbys, or correct synchronous_standby_names.
