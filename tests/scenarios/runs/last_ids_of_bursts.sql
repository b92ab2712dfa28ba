-- Where a burst may run ahead of the clock, nobody has to wait, and runs leave nothing.

\set snowflake.max_burst = -1

SELECT max(snowflake_sequence(id)) FROM snowflake_nextval(200000) AS id; --> 4095
