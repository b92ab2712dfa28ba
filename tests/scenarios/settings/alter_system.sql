-- ALTER SYSTEM refuses what a start would refuse.

\set cluster_name = alter_system

ALTER SYSTEM SET snowflake.worker_id = 32; --> ERROR 22023: invalid value for parameter "snowflake.worker_id": "32"
ALTER SYSTEM SET snowflake.worker_id = -2; --> ERROR 22023: invalid value for parameter "snowflake.worker_id": "-2"
ALTER SYSTEM SET snowflake.worker_id = 7.6; --> ERROR 22023: invalid value for parameter "snowflake.worker_id": "7.6"
ALTER SYSTEM SET snowflake.datacenter_id = '0x10';
--> ERROR 22023: invalid value for parameter "snowflake.datacenter_id": "0x10"
ALTER SYSTEM SET snowflake.datacenter_id = '+5';
--> ERROR 22023: invalid value for parameter "snowflake.datacenter_id": "+5"
ALTER SYSTEM SET snowflake.start_after = 'tomorrow';
--> ERROR 22023: invalid value for parameter "snowflake.start_after": "tomorrow"
ALTER SYSTEM SET snowflake.epoch = 'yesterday';
--> ERROR 22023: invalid value for parameter "snowflake.epoch": "yesterday"
ALTER SYSTEM SET snowflake.max_wait = '-5ms';
--> ERROR 22023: ... outside the valid range for parameter "snowflake.max_wait" ...
ALTER SYSTEM SET snowflake.sequence_jitter = 4096;
--> ERROR 22023: ... (0 .. 4095)
ALTER SYSTEM SET snowflake.max_forward_step = 0;
--> ERROR 22023: invalid value for parameter "snowflake.max_forward_step": 0
ALTER SYSTEM SET snowflake.epoch = '2999-01-01T00:00:00Z';
--> ERROR 22023: invalid value for parameter "snowflake.epoch": "2999-01-01T00:00:00Z"
--> DETAIL: The value is not valid: it is in the future. The epoch is an ISO 8601 instant with an offset, such as '2010-11-04T01:42:54.657Z', or a number of milliseconds since 1970-01-01 00:00:00 UTC; in whole milliseconds, not before 1970 and not in the future.
ALTER SYSTEM SET snowflake.start_after = '1795300647';
--> ERROR 22023: invalid value for parameter "snowflake.start_after": "1795300647"
--> DETAIL: The value is not valid: 1970-01-21 18:41:40.647+00 is before the epoch, 2010-11-04 01:42:54.657+00. The valid values are an ISO 8601 instant with an offset, such as '2026-01-01 00:00:00+00', a number of milliseconds since 1970-01-01 00:00:00 UTC, and the empty string.
ALTER SYSTEM SET snowflake.max_forward_step = '1001ms';
--> ERROR 22023: invalid value for parameter "snowflake.max_forward_step": 1001
--> DETAIL: The valid values are -1, and 1002 ms to 2147483647 ms: a smaller difference might be only rounding.
ALTER SYSTEM SET snowflake.max_forward_step = -1;
ALTER SYSTEM SET snowflake.max_forward_step = '1002ms';
ALTER SYSTEM SET snowflake.no_such_setting = 1; --> ERROR 42...
