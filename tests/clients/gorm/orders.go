package main

import (
	"fmt"
	"log"

	"gorm.io/driver/postgres"
	"gorm.io/gorm"
)

type Order struct {
	ID   int64  `gorm:"primaryKey;autoIncrement:false;default:snowflake_nextval()"`
	Item string `gorm:"not null"`
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}

func main() {
	// The connection is that of the environment: PGHOST and others, or what is set here.
	db, err := gorm.Open(postgres.Open(""), &gorm.Config{})
	check(err)
	check(db.AutoMigrate(&Order{}))

	order := Order{Item: "tea"}
	check(db.Create(&order).Error)
	fmt.Println(order.Item, order.ID)

	// One statement for all rows, or for each hundred of them.
	orders := []Order{{Item: "milk"}, {Item: "sugar"}}
	check(db.Create(&orders).Error)
	for i := range 250 {
		orders = append(orders, Order{Item: fmt.Sprintf("cup-%d", i)})
	}
	check(db.CreateInBatches(orders[2:], 100).Error)
	for _, order := range orders {
		fmt.Println(order.Item, order.ID)
	}

	// The IDs can be taken first. One that is set is inserted as it is.
	var id int64
	check(db.Raw("SELECT snowflake_nextval()").Scan(&id).Error)
	check(db.Create(&Order{ID: id, Item: "cake"}).Error)
	fmt.Println("cake", id)
}
