-- Claims count in one database alone, so the check says where several have claims.

\set cluster_name = databases_with_claims

SELECT snowflake_claim_node('db-1');
SELECT ok FROM snowflake_check() WHERE name = 'claims'; --> t
-- A database that is copied.
CREATE DATABASE copied TEMPLATE scenario;
SELECT ok, detail, hint FROM snowflake_check() WHERE name = 'claims';
--> f | Databases of this server that have claims: copied, scenario. Each gives out the same identities. | Compare snowflake_nodes of these databases. Claim in one of them alone, where every server is entered, and drop the extension, or the database, where it is not needed.
DROP DATABASE copied;
SELECT ok FROM snowflake_check() WHERE name = 'claims'; --> t
-- Another one, before and after its first claim, by whoever may claim.
CREATE DATABASE another;
CREATE ROLE provisioner LOGIN;
\in another
CREATE EXTENSION snowflake;
SELECT ok FROM snowflake_check() WHERE name = 'claims'; --> t
GRANT UPDATE ON snowflake_internal.snowflake_node_claims TO provisioner;
\as provisioner
SELECT count(snowflake_claim_node(name)) FROM unnest(ARRAY['db-2', 'db-3']) AS name; --> 2
SELECT ok FROM snowflake_check() WHERE name = 'claims'; --> f
\as postgres
SELECT count(*) FROM pg_shdepend WHERE refclassid = 'pg_database'::regclass AND classid = 'pg_class'::regclass; --> 2
DROP EXTENSION snowflake;
SELECT count(*) FROM pg_shdepend WHERE refclassid = 'pg_database'::regclass AND classid = 'pg_class'::regclass; --> 1
\in scenario
SELECT ok FROM snowflake_check() WHERE name = 'claims'; --> t
