CREATE TABLE events (id bigint PRIMARY KEY DEFAULT snowflake_nextval(), what text)
    PARTITION BY RANGE (id);

WITH ids AS (
    SELECT snowflake_min('2025-01-02+00') - snowflake_min('2025-01-01+00') AS of_a_day
)
SELECT partman.create_parent(
    'public.events', 'id',
    p_interval => of_a_day::text,
    p_offset_id => snowflake_min('2025-01-01+00') % of_a_day,
    p_start_partition => snowflake_min(date_trunc('day', now(), 'UTC'))::text
)
FROM ids;
