use std::time::SystemTime;

use postgres::{Client, Error, NoTls};

fn main() -> Result<(), Error> {
    let url = std::env::var("DATABASE_URL").expect("DATABASE_URL is set");
    let mut client = Client::connect(&url, NoTls)?;
    let insert = "INSERT INTO orders (item) VALUES ($1) RETURNING id, snowflake_timestamp(id)";
    let row = client.query_one(insert, &[&"tea"])?;
    let (id, issued_at): (i64, SystemTime) = (row.get(0), row.get(1));
    println!("tea {id}");
    let since_1970 = issued_at.duration_since(SystemTime::UNIX_EPOCH).expect("a time after 1970");
    println!("issued at {}", since_1970.as_millis());

    // Many rows with one statement.
    let insert = "INSERT INTO orders (item) SELECT unnest($1::text[]) RETURNING item, id";
    for row in client.query(insert, &[&vec!["milk", "sugar"]])? {
        println!("{} {}", row.get::<_, &str>(0), row.get::<_, i64>(1));
    }
    Ok(())
}
