-- All functions, the type of parts, and all settings.

SELECT p.oid::regprocedure AS function, provolatile AS volatility, proisstrict AS strict, proparallel AS parallel,
       prosecdef AS definer
FROM pg_depend d JOIN pg_proc p ON d.classid = 'pg_proc'::regclass AND d.objid = p.oid
JOIN pg_extension e ON d.refclassid = 'pg_extension'::regclass AND d.refobjid = e.oid
WHERE e.extname LIKE 'snowflake%'
ORDER BY p.proname COLLATE "C", p.pronargs;
--> snowflake_check() | v | t | u | f
--> snowflake_claim_node(text,integer,integer) | v | f | u | f
--> snowflake_confirm(text,boolean) | v | t | u | f
--> snowflake_conversion(regclass[],regnamespace) | s | f | s | f
--> snowflake_convert(regclass,name,regnamespace,boolean) | v | f | u | f
--> snowflake_currval() | v | t | r | f
--> snowflake_datacenter_id(bigint) | i | t | s | f
--> snowflake_floor() | v | t | s | f
--> snowflake_from_base62(text) | i | t | s | f
--> snowflake_from_public(text,text) | s | f | s | f
--> snowflake_internal.snowflake_guard_claims() | v | f | u | f
--> snowflake_internal.snowflake_guard_layout() | v | f | u | f
--> snowflake_horizon() | s | t | r | f
--> snowflake_internal.snowflake_horizon_held() | v | t | r | f
--> snowflake_json(bigint) | i | t | s | f
--> snowflake_make(timestamp with time zone,integer,integer,integer) | i | t | s | f
--> snowflake_make(timestamp with time zone,integer,integer,integer,timestamp with time zone,integer,integer,integer) | i | t | s | f
--> snowflake_max(timestamp with time zone) | i | t | s | f
--> snowflake_max(timestamp with time zone,timestamp with time zone,integer,integer,integer) | i | t | s | f
--> snowflake_min(timestamp with time zone) | i | t | s | f
--> snowflake_min(timestamp with time zone,timestamp with time zone,integer,integer,integer) | i | t | s | f
--> snowflake_nextval() | v | t | r | f
--> snowflake_nextval(integer) | v | t | r | f
--> snowflake_internal.snowflake_nextval_in_copy() | s | t | r | f
--> snowflake_internal.snowflake_nextval_support(internal) | v | t | u | f
--> snowflake_observe(bigint) | v | t | u | f
--> snowflake_observe_rows() | v | f | u | f
--> snowflake_parse(bigint) | i | t | s | f
--> snowflake_parse(bigint,timestamp with time zone,integer,integer,integer) | i | t | s | f
--> snowflake_internal.snowflake_printed(text,regclass[],regnamespace,jsonb) | s | f | s | f
--> snowflake_release_node(text,timestamp with time zone,timestamp with time zone,boolean) | v | f | u | f
--> snowflake_reversion(regclass[],regnamespace) | s | f | s | f
--> snowflake_revert(regclass,name,boolean) | v | t | u | f
--> snowflake_sequence(bigint) | i | t | s | f
--> snowflake_set_floor(timestamp with time zone,boolean) | v | t | u | f
--> snowflake_internal.snowflake_stat() | v | t | s | f
--> snowflake_internal.snowflake_stat_observations_refused() | v | t | s | f
--> snowflake_stat_reset() | v | t | s | f
--> snowflake_internal.snowflake_status() | v | t | s | f
--> snowflake_timestamp(bigint) | i | t | s | f
--> snowflake_timestamp(bigint,timestamp with time zone,integer,integer,integer) | i | t | s | f
--> snowflake_to_base62(bigint) | i | t | s | f
--> snowflake_to_public(bigint,text) | s | f | s | f
--> snowflake_watch_twins() | v | f | u | f
--> snowflake_within(bigint,timestamp with time zone,timestamp with time zone) | i | f | s | f
--> snowflake_internal.snowflake_within_max(timestamp with time zone,timestamp with time zone) | i | f | s | f
--> snowflake_internal.snowflake_within_min(timestamp with time zone) | i | t | s | f
--> snowflake_worker_id(bigint) | i | t | s | f

-- Nothing is without a comment.
SELECT pg_describe_object(d.classid, d.objid, 0) AS uncommented
FROM pg_depend d JOIN pg_extension e ON d.refclassid = 'pg_extension'::regclass AND d.refobjid = e.oid
WHERE e.extname LIKE 'snowflake%' AND d.deptype = 'e'
AND obj_description(d.objid, d.classid::regclass::name) IS NULL
AND d.objid NOT IN (SELECT typarray FROM pg_type UNION ALL SELECT reltype FROM pg_class WHERE relkind IN ('r', 'v'));
--> (0 rows)

SELECT string_agg(attname || ' ' || atttypid::regtype, ', ' ORDER BY attnum) FROM pg_attribute WHERE attrelid = 'snowflake_parts'::regclass AND attnum > 0;
--> id bigint, timestamp timestamp with time zone, datacenter_id integer, worker_id integer, sequence integer

SELECT name, setting, unit, context, min_val, max_val FROM pg_settings
WHERE name LIKE 'snowflake.%' ORDER BY name COLLATE "C";
--> snowflake.adopted_schemas |  | NULL | user | NULL | NULL
--> snowflake.datacenter_bits | 5 | NULL | postmaster | 0 | 24
--> snowflake.datacenter_id | 5 | NULL | postmaster | NULL | NULL
--> snowflake.epoch | 2010-11-04T01:42:54.657Z | NULL | postmaster | NULL | NULL
--> snowflake.failover_margin | 5000 | ms | sighup | 0 | 2147483647
--> snowflake.identity_requires |  | NULL | postmaster | NULL | NULL
--> snowflake.max_backward_step | 86400000 | ms | sighup | -1 | 2147483647
--> snowflake.max_burst | 0 | ms | sighup | -1 | 2147483647
--> snowflake.max_forward_step | 86400000 | ms | sighup | -1 | 2147483647
--> snowflake.max_observed_lead | 0 | ms | sighup | 0 | 2147483647
--> snowflake.max_wait | 1000 | ms | sighup | -1 | 2147483647
--> snowflake.public_key_file |  | NULL | postmaster | NULL | NULL
--> snowflake.reuse_window | 0 | ms | sighup | 0 | 256
--> snowflake.sequence_bits | 12 | NULL | postmaster | 1 | 24
--> snowflake.sequence_jitter | 0 | NULL | sighup | 0 | 4095
--> snowflake.start_after |  | NULL | postmaster | NULL | NULL
--> snowflake.worker_bits | 5 | NULL | postmaster | 0 | 24
--> snowflake.worker_id | 9 | NULL | postmaster | NULL | NULL
--> snowflake.worker_id_from |  | NULL | postmaster | NULL | NULL
