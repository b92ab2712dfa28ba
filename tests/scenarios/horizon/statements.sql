-- Each statement has its own horizon: it does not stay as it was in a transaction, or in a block of statements.

\needs extension dblink

CREATE TABLE jobs (id bigint PRIMARY KEY DEFAULT snowflake_nextval(), what text);
BEGIN; CREATE TEMP TABLE before AS SELECT snowflake_horizon() AS horizon;
\session other
INSERT INTO jobs DEFAULT VALUES;
\session
SELECT snowflake_horizon() = id, horizon < id FROM jobs, before; --> t | t
COMMIT;
CREATE EXTENSION dblink;
DO $$
DECLARE
    before bigint := snowflake_horizon();
    id bigint;
BEGIN
    PERFORM dblink_connect(format('host=%s port=5432 user=postgres dbname=scenario', current_setting('unix_socket_directories')));
    SELECT * INTO id FROM dblink('INSERT INTO jobs DEFAULT VALUES RETURNING id') AS t (id bigint);
    ASSERT snowflake_horizon() = id, 'the horizon stays';
    ASSERT before < id;
END $$;
