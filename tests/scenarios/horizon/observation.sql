-- An observation takes the horizon along: the last ID is the largest of that timestamp.

\set snowflake.max_observed_lead = 10s

SELECT snowflake_nextval();
CREATE TABLE observed AS SELECT snowflake_min(now() + interval '1 second') AS id;
SELECT snowflake_observe(id) FROM observed; --> t
SELECT snowflake_horizon() = snowflake_max(snowflake_timestamp(id)) FROM observed; --> t
UPDATE observed SET id = snowflake_horizon();
SELECT snowflake_nextval() > id FROM observed; --> t
