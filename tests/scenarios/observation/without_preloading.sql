-- Without preloading, snowflake_observe() is an error.

\set shared_preload_libraries =

SELECT snowflake_observe(1); --> ERROR 55000
