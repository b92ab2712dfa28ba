-- Statistics of statements show no key.

\needs extension pg_stat_statements
\set public_keys = 000102030405060708090a0b0c0d0e0f
\set shared_preload_libraries = snowflake_pg,pg_stat_statements

CREATE EXTENSION pg_stat_statements;
SELECT snowflake_from_public(snowflake_to_public(1)); --> 1
SELECT query ~ '00010203' FROM pg_stat_statements WHERE query ~ 'snowflake_to_public'; --> f
