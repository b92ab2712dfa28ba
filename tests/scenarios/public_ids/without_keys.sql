-- Without a key, both functions say how to make one. A server without keys needs no worker that reads them.

\set max_worker_processes = 0

SELECT snowflake_to_public(1);
--> ERROR 55000: this server has no key for public IDs
--> HINT: Write a key, as openssl rand -hex 16 prints one, into a file outside the data directory that only the user who runs the server can read, name the file in snowflake.public_key_file, and restart the server. If the setting names it already, a reload is enough.
SELECT snowflake_from_public('x', 'ord'); --> ERROR 55000: this server has no key for public IDs
SELECT ok, detail FROM snowflake_check() WHERE name = 'public IDs'; --> t | There are no keys.
