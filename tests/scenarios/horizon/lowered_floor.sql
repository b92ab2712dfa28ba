-- A floor that is lowered by force takes the horizon back: IDs become smaller within an open transaction, and no row of it is missed.

\set cluster_name = lowered_floor

CREATE TABLE jobs (id bigint PRIMARY KEY DEFAULT snowflake_nextval(), what text);
CREATE SEQUENCE first;
SELECT snowflake_set_floor(now() + interval '1 hour');
\session open
BEGIN; INSERT INTO jobs (what) VALUES ('high');
\session
CREATE TABLE before AS SELECT snowflake_horizon() AS horizon;
SELECT snowflake_set_floor(now(), force => true); --> WARNING: ...
\session open
INSERT INTO jobs (what) VALUES ('low') RETURNING setval('first', id);
SELECT what FROM jobs ORDER BY id; --> low
--> high
\session
INSERT INTO jobs DEFAULT VALUES;
SELECT snowflake_horizon() < horizon, snowflake_horizon() = last_value - 1 FROM before, first; --> t | t
