-- Where IDs can be reused, there is no horizon.

\set snowflake.reuse_window = 100ms

SELECT snowflake_horizon();
--> ERROR 55000: the horizon of snowflake IDs is not known while snowflake.reuse_window is on
