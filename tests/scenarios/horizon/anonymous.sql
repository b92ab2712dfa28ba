-- A transaction that has taken an ID, and has no transaction ID, might have had another one insert a row with it: with postgres_fdw
-- or dblink. No snapshot tells when it has ended.

CREATE TABLE jobs (id bigint PRIMARY KEY DEFAULT snowflake_nextval(), what text);
-- The last ID of the other session, which it tells in another transaction.
CREATE SEQUENCE taken;
-- A horizon, which is kept.
CREATE TABLE seen (horizon bigint);
CREATE VIEW told AS SELECT snowflake_horizon() < last_value AS below FROM taken;

-- A snapshot from before it has ended.
\session old
BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT;
\session other
SELECT snowflake_nextval() > 0; --> t
SELECT setval('taken', snowflake_currval()) > 0; --> t
\session old
TABLE told; --> t
COMMIT;
TABLE told; --> f

-- The same for rollbacks: what dblink has inserted stays.
BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT;
\session other
BEGIN; SELECT snowflake_nextval() > 0; ROLLBACK; --> t
SELECT setval('taken', snowflake_currval()) > 0; --> t
\session old
TABLE told; --> t
COMMIT; BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT;
\session other
BEGIN; INSERT INTO jobs DEFAULT VALUES; ROLLBACK;
SELECT setval('taken', snowflake_currval()) > 0; --> t
\session old
TABLE told; --> t
COMMIT;
TABLE told; --> f

-- A snapshot that might be from before goes by the horizon that was found last; the next transaction does not.
\session
INSERT INTO seen SELECT snowflake_horizon();
BEGIN;
\session other
SELECT snowflake_nextval() > 0; --> t
\session
INSERT INTO seen SELECT snowflake_horizon();
COMMIT;
INSERT INTO seen SELECT snowflake_horizon();
\session other
SELECT setval('taken', snowflake_currval()) > 0; --> t
\session
SELECT array_agg(horizon < last_value), count(DISTINCT horizon) FROM seen, taken; --> {t,t,f} | 2

-- It is later than all if it sees a transaction that began after them.
BEGIN;
\session other
SELECT snowflake_nextval() > 0; --> t
SELECT setval('taken', snowflake_currval()) > 0; --> t
\session
TABLE told; --> f
COMMIT;

-- Whoever takes IDs himself does not wait for himself.
\session other
SELECT snowflake_nextval() > 0; --> t
SELECT snowflake_horizon() = snowflake_currval(); --> t
