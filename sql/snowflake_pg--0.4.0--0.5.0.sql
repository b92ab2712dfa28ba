-- From 0.4.0 to 0.5.0 of the extension of snowflake_pg.

-- The leader takes all IDs of a query, in the query's order.
ALTER FUNCTION snowflake_nextval() PARALLEL RESTRICTED;
ALTER FUNCTION snowflake_nextval(pg_catalog.int4) PARALLEL RESTRICTED;
ALTER FUNCTION snowflake_internal.snowflake_nextval_in_copy() PARALLEL RESTRICTED;

-- What the library notes of new claims, where there are claims.
INSERT INTO pg_catalog.pg_shdepend (dbid, classid, objid, objsubid, refclassid, refobjid, deptype)
    SELECT d.oid, 'pg_catalog.pg_class'::pg_catalog.regclass,
           'snowflake_internal.snowflake_node_claims'::pg_catalog.regclass, 0,
           'pg_catalog.pg_database'::pg_catalog.regclass, d.oid, 'a'
    FROM pg_catalog.pg_database AS d
    WHERE d.datname OPERATOR(pg_catalog.=) pg_catalog.current_database()
      AND EXISTS (SELECT FROM snowflake_internal.snowflake_node_claims);
