-- The arguments that snowflake_observe() accepts, and the roles that may call it.

SELECT snowflake_observe(-1); --> ERROR 22023: a snowflake ID is never negative
SELECT snowflake_observe(NULL); --> NULL

-- Who may observe was granted it.
CREATE ROLE ordinary LOGIN; GRANT CREATE ON SCHEMA public TO ordinary;
\as ordinary
CREATE TABLE mine (id bigint);
SELECT snowflake_observe(1); --> ERROR 42501
CREATE TRIGGER observe BEFORE INSERT ON mine FOR EACH ROW EXECUTE FUNCTION snowflake_observe_rows('id'); --> ERROR 42501
\as postgres
GRANT EXECUTE ON FUNCTION snowflake_observe(bigint), snowflake_observe_rows() TO ordinary;
\as ordinary
SELECT snowflake_observe(1);
CREATE TRIGGER observe BEFORE INSERT ON mine FOR EACH ROW EXECUTE FUNCTION snowflake_observe_rows('id');
