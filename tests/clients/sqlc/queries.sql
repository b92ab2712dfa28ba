-- name: CreateOrder :one
INSERT INTO orders (item) VALUES ($1) RETURNING *, snowflake_timestamp(id)::timestamptz AS issued_at;

-- name: TakeIDs :many
SELECT snowflake_nextval(sqlc.arg(count)::integer)::bigint AS id;

-- name: CopyOrders :copyfrom
INSERT INTO orders (id, item) VALUES ($1, $2);
