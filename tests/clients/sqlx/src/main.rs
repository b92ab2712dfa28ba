use sqlx::postgres::{PgConnectOptions, PgPool};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), sqlx::Error> {
    // The options are those of the environment: PGHOST and others, or what is set here.
    let pool = PgPool::connect_with(PgConnectOptions::new()).await?;
    for item in ["tea", "milk", "sugar"] {
        let insert = "INSERT INTO orders (item) VALUES ($1) RETURNING id";
        let id: i64 = sqlx::query_scalar(insert).bind(item).fetch_one(&pool).await?;
        println!("{item} {id}");
    }
    let newest = "SELECT id, item FROM orders ORDER BY id DESC LIMIT 1";
    let (id, item): (i64, String) = sqlx::query_as(newest).fetch_one(&pool).await?;
    println!("newest: {item}, {id}");
    Ok(())
}
