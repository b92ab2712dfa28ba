package main

import (
	"context"
	"fmt"
	"log"
	"time"

	"github.com/jackc/pgx/v5"
)

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}

func main() {
	ctx := context.Background()
	// The connection is that of the environment: PGHOST and others.
	conn, err := pgx.Connect(ctx, "")
	check(err)
	defer conn.Close(ctx)

	const insert = "INSERT INTO orders (item) VALUES ($1) RETURNING id, snowflake_timestamp(id)"
	var id int64
	var issuedAt time.Time
	check(conn.QueryRow(ctx, insert, "tea").Scan(&id, &issuedAt))
	fmt.Println("tea", id)
	fmt.Println("issued at", issuedAt.UnixMilli())

	// Many rows: take the IDs first, and COPY them with the rows.
	items := []string{"milk", "sugar"}
	ids, err := conn.Query(ctx, "SELECT snowflake_nextval($1)", len(items))
	check(err)
	var rows [][]any
	for ids.Next() {
		check(ids.Scan(&id))
		item := items[len(rows)]
		rows = append(rows, []any{id, item})
		fmt.Println(item, id)
	}
	check(ids.Err())
	_, err = conn.CopyFrom(ctx, pgx.Identifier{"orders"}, []string{"id", "item"}, pgx.CopyFromRows(rows))
	check(err)
}
