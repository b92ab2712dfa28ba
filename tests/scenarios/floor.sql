-- The floor that no ID is issued below, what a superuser may do to it, and confirmations where there is nothing to confirm.

-- No other file shares the server, whose floor goes far ahead.
\set cluster_name = floor

-- The floor is above all that was issued, by a reservation at most.
SELECT snowflake_timestamp(snowflake_nextval()) <= snowflake_floor() AS covered,
       snowflake_floor() < clock_timestamp() + interval '2.1 s' AS near; --> t | t

-- It moves up, and IDs with it.
CREATE TABLE set AS SELECT snowflake_set_floor(date_trunc('milliseconds', now()) + interval '1 hour') AS floor;
SELECT snowflake_floor() = floor FROM set; --> t
SELECT snowflake_timestamp(snowflake_nextval()) > floor FROM set; --> t

-- Down, and far ahead, only by force. (The details tell the time.)
SELECT errors_of($calls$
    SELECT snowflake_set_floor('2020-01-01 00:00:00+00')
    SELECT snowflake_set_floor('2080-01-01 00:00:00+00')
    SELECT snowflake_set_floor('infinity')
    SELECT snowflake_set_floor('1999-01-01 00:00:00+00', force => true)
$calls$);
--> 55000: the floor of snowflake IDs must not be lowered | IDs up to 20... might have been issued, and would be issued again. | To lower it anyway, pass force => true.
--> 55000: the floor would be ... ahead of the clock | That is more than snowflake.max_backward_step. IDs would run that far ahead of the clock until it has caught up. | To set it anyway, pass force => true.
--> 22003: timestamp infinity is out of range | The timestamp field holds 2010-11-04 01:42:54.657+00 to 2080-07-10 17:30:30.208+00. | The epoch says where the field begins.
--> 22003: timestamp 1999-01-01 00:00:00+00 is out of range | The timestamp field holds 2010-11-04 01:42:54.657+00 to 2080-07-10 17:30:30.208+00. | The epoch says where the field begins.
SELECT snowflake_set_floor(NULL) IS NULL AS nothing; --> t
SET client_min_messages = error;
SELECT snowflake_set_floor(date_trunc('milliseconds', now()), force => true) = snowflake_floor() AS lowered; --> t
RESET client_min_messages;
SELECT snowflake_timestamp(snowflake_nextval()) < clock_timestamp() + interval '1 ms' AS is_now; --> t

-- Nothing to confirm here.
SELECT snowflake_confirm('layout'); --> f
SELECT snowflake_confirm('system_identifier'); --> f
SELECT snowflake_confirm('system_identifier', force => true); --> f
SELECT snowflake_confirm('clock'); --> f
SELECT snowflake_confirm(NULL) IS NULL AS nothing; --> t
SELECT snowflake_confirm('everything');
--> ERROR 22023: unrecognized confirmation: "everything"
--> HINT: Valid values are "layout", "system_identifier" and "clock".

-- Only a superuser may.
CREATE ROLE ordinary;
SET ROLE ordinary;
SELECT snowflake_floor() IS NOT NULL AS readable; --> t
SELECT snowflake_set_floor(now()); --> ERROR 42501: must be superuser to set the floor of snowflake IDs
SELECT snowflake_confirm('clock'); --> ERROR 42501: must be superuser to confirm a change for snowflake IDs
