-- From 0.4.0 to 0.5.0 of the extension of snowflake_pg.

-- The leader takes all IDs of a query, in the query's order.
ALTER FUNCTION snowflake_nextval() PARALLEL RESTRICTED;
ALTER FUNCTION snowflake_nextval(pg_catalog.int4) PARALLEL RESTRICTED;
ALTER FUNCTION snowflake_internal.snowflake_nextval_in_copy() PARALLEL RESTRICTED;
