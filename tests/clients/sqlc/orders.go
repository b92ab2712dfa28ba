package main

import (
	"context"
	"fmt"
	"log"

	"github.com/jackc/pgx/v5"

	"shop/orders"
)

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}

func main() {
	ctx := context.Background()
	// The connection is that of the environment: PGHOST and others, or what is set here.
	conn, err := pgx.Connect(ctx, "")
	check(err)
	defer conn.Close(ctx)
	queries := orders.New(conn)

	order, err := queries.CreateOrder(ctx, "tea")
	check(err)
	fmt.Println("tea", order.ID)
	fmt.Println("issued at", order.IssuedAt.Time.UnixMilli())

	// Many rows: take the IDs first, and COPY them with the rows.
	items := []string{"milk", "sugar"}
	ids, err := queries.TakeIDs(ctx, int32(len(items)))
	check(err)
	var rows []orders.CopyOrdersParams
	for i, id := range ids {
		rows = append(rows, orders.CopyOrdersParams{ID: id, Item: items[i]})
		fmt.Println(items[i], id)
	}
	_, err = queries.CopyOrders(ctx, rows)
	check(err)
}
