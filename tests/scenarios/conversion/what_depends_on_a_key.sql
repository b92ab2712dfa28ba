-- What depends on a key that becomes bigint, PostgreSQL refuses. Its error comes through, with the statement, and
-- nothing is changed.
CREATE TABLE films (id serial PRIMARY KEY, title text);
CREATE TABLE copies (id serial PRIMARY KEY, film integer REFERENCES films);
CREATE TABLE checked (id serial PRIMARY KEY);
CREATE FUNCTION is_good(id integer) RETURNS boolean LANGUAGE sql IMMUTABLE AS 'SELECT true';
ALTER TABLE checked ADD CHECK (is_good(id));
CREATE VIEW titles AS SELECT id, title FROM films;
CREATE TABLE before AS SELECT attrelid, attname, atttypid, atthasdef FROM pg_attribute WHERE attrelid IN ('films'::regclass, 'copies'::regclass);
SELECT snowflake_convert(schema => 'public', dry_run => false);
--> ERROR 0A000: cannot alter type of a column used by a view or rule
SELECT snowflake_convert('checked', dry_run => false); --> ERROR 42883: function is_good(bigint) does not exist
SELECT count(*) FROM before NATURAL JOIN pg_attribute WHERE atttypid = 'integer'::regtype; --> 3
-- To try it, execute it and roll it back.
BEGIN; DROP VIEW titles;
SELECT count(*) FROM snowflake_convert('films', dry_run => false);
INSERT INTO films (title) VALUES ('M') RETURNING id > 1000; --> t
ROLLBACK;
SELECT count(*) FROM before NATURAL JOIN pg_attribute WHERE atttypid = 'integer'::regtype; --> 3
SELECT * FROM titles; --> (0 rows)
