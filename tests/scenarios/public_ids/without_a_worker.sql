-- Without the worker that reads the keys again, public IDs work, and the check says so.

\set public_keys = 000102030405060708090a0b0c0d0e0f
\set max_worker_processes = 0

SELECT snowflake_from_public(snowflake_to_public(1)); --> 1
SELECT ok, detail FROM snowflake_check() WHERE name = 'public IDs';
--> f | There is 1 key. The fingerprint of the first is cc481c86. The background worker that reads their file again does not run.
