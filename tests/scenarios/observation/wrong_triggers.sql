-- A wrong trigger is an error at its first row.

CREATE TABLE posts (id bigint PRIMARY KEY, item text, other integer);
CREATE TRIGGER observe BEFORE DELETE OR INSERT ON posts FOR EACH ROW EXECUTE FUNCTION snowflake_observe_rows('id');
INSERT INTO posts VALUES (1);
DELETE FROM posts; --> ERROR 39P01
DROP TRIGGER observe ON posts; TRUNCATE posts;
CREATE TRIGGER observe BEFORE INSERT ON posts FOR EACH ROW EXECUTE FUNCTION snowflake_observe_rows();
INSERT INTO posts VALUES (1); --> ERROR 22023: snowflake_observe_rows() needs one argument, the name of the column of the IDs
DROP TRIGGER observe ON posts;
CREATE TRIGGER observe BEFORE INSERT ON posts FOR EACH ROW EXECUTE FUNCTION snowflake_observe_rows('id', 'more');
INSERT INTO posts VALUES (1); --> ERROR 22023: snowflake_observe_rows() needs one argument, the name of the column of the IDs
DROP TRIGGER observe ON posts;
CREATE TRIGGER observe AFTER INSERT ON posts FOR EACH ROW EXECUTE FUNCTION snowflake_observe_rows('nothing');
INSERT INTO posts VALUES (1); --> ERROR 42703: table "posts" has no column "nothing"
DROP TRIGGER observe ON posts;
CREATE TRIGGER observe AFTER INSERT ON posts FOR EACH ROW EXECUTE FUNCTION snowflake_observe_rows('other');
INSERT INTO posts VALUES (1); --> ERROR 42804: column "other" of table "posts" is not of type bigint
SELECT snowflake_observe_rows(); --> ERROR 39P01
