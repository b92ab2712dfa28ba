-- An ID of a twin shows until the counters are reset.

\set snowflake.max_observed_lead = 1min
\set cluster_name = twins

SELECT ok FROM snowflake_check() WHERE name = 'twins'; --> t
SELECT snowflake_nextval();
SELECT snowflake_observe(snowflake_make(now() + interval '5 s', 5, 9, 0));
SELECT ok, detail, hint FROM snowflake_check() WHERE name = 'twins';
--> f | Replicated rows, or observed IDs, had the identity of this server. Their number since the counters were reset is 1. | The log names the subscriptions, and says which other causes are possible. Give one of the two servers another identity, and restart it. Then call snowflake_stat_reset(), which resets all counters.
SELECT snowflake_stat_reset();
SELECT ok FROM snowflake_check() WHERE name = 'twins'; --> t
