-- Runs leave the last 128 IDs of a millisecond to whoever wants a single ID.

-- The last run of the call may be of a single ID.
SELECT max(snowflake_sequence(id)) IN (3967, 3968) FROM snowflake_nextval(200000) AS id; --> t
