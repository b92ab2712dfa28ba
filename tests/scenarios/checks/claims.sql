-- Claims are read with the rights of the caller, whose policies run no code of others.

CREATE ROLE watcher LOGIN;
SELECT snowflake_claim_node('db', 5, 9); --> NOTICE: ...
REVOKE SELECT ON snowflake_internal.snowflake_node_claims FROM PUBLIC;
\as watcher
SELECT ok, detail FROM snowflake_check() WHERE name = 'claims';
--> t | Not checked: this role cannot read snowflake_node_claims.
\as postgres
GRANT USAGE ON SCHEMA snowflake_internal TO watcher; GRANT SELECT ON snowflake_internal.snowflake_node_claims TO watcher;
\as watcher
SELECT ok, detail FROM snowflake_check() WHERE name = 'claims';
--> t | Node "db" has claimed the identity of this server.
\as postgres
CREATE FUNCTION spy() RETURNS bool LANGUAGE plpgsql AS $$ BEGIN RAISE WARNING 'spy runs as %', user; RETURN true; END $$;
CREATE POLICY spy ON snowflake_internal.snowflake_node_claims USING (public.spy());
ALTER TABLE snowflake_internal.snowflake_node_claims ENABLE ROW LEVEL SECURITY;
\as watcher
SELECT ok, detail FROM snowflake_check() WHERE name = 'claims';
--> f | Not checked, because of an error: query would be affected by row-level security policy for table "snowflake_node_claims".
