-- A floor at the end of the timestamp field shows.

\set cluster_name = end_of_the_field

SELECT snowflake_set_floor(ends, force => true) IS NULL FROM snowflake_status; --> f
SELECT snowflake_nextval(); --> ERROR 2200H: the timestamp field of snowflake IDs is used up
SELECT name, ok, detail, hint FROM snowflake_check() WHERE name IN ('timestamp field', 'issues IDs') ORDER BY name;
--> issues IDs | f | This server issues no ID, because of: timestamp field. | NULL
--> timestamp field | f | The timestamp field of snowflake IDs is used up. Its last timestamp is 2080-07-10 17:30:30.208+00. | If the clock is right, the table needs new IDs, with a later snowflake.epoch or smaller widths.
