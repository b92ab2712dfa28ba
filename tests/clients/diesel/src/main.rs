use diesel::prelude::*;

diesel::table! {
    orders (id) {
        id -> BigInt,
        item -> Text,
    }
}

#[derive(Insertable)]
#[diesel(table_name = orders)]
struct NewOrder {
    item: &'static str,
}

#[derive(Queryable, Selectable)]
struct Order {
    id: i64,
    item: String,
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    // The connection is that of the environment: PGHOST and others.
    let mut connection = PgConnection::establish("")?;
    let new = ["tea", "milk", "sugar"].map(|item| NewOrder { item });
    let inserted: Vec<Order> = diesel::insert_into(orders::table)
        .values(&new)
        .returning(Order::as_returning())
        .get_results(&mut connection)?;
    for order in inserted {
        println!("{} {}", order.item, order.id);
    }
    Ok(())
}
