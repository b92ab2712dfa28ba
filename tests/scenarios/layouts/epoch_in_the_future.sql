-- An epoch in the future is an error of the first ID.

\set snowflake.epoch = 2999-01-01T00:00:00Z

SELECT snowflake_nextval();
--> ERROR 55000: the clock is before snowflake.epoch
--> HINT: Set the clock right. If it is right, choose an earlier snowflake.epoch. See docs/runbook.md.
