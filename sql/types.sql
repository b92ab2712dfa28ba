CREATE TYPE snowflake_parts AS (
    id bigint,
    "timestamp" timestamptz,
    datacenter_id integer,
    worker_id integer,
    sequence integer
);
