-- A floor ahead of the clock is no step of the clock. Before the first ID, there is no floor.

\set cluster_name = floor_ahead

SELECT preloaded, last_id, floor, lead FROM snowflake_status; --> t | NULL | NULL | 0
SELECT snowflake_nextval();
SELECT snowflake_set_floor(now() + interval '1 hour');
SELECT snowflake_nextval();
SELECT steps_held FROM pg_stat_snowflake; --> 0
