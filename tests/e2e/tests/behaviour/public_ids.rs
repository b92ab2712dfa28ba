//! Public IDs by the function of their page.

use snowflake_e2e::{Cluster, Run, explain, value};
use snowflake_repository::page;

/// Two keys, as a file has them.
pub const ONE: &str = "000102030405060708090a0b0c0d0e0f\n";
pub const TWO: &str = "2b7e151628aed2a6abf7158809cf4f3c\n";

/// The view of the page computes the name of each row; its function looks for the ID.
#[test]
fn the_index_of_the_primary_key_serves_the_function_of_the_page() {
    let cluster = Cluster::builder().public_keys(ONE).start();
    let mut client = cluster.connect();
    client.run(
        "CREATE TABLE orders (id bigint PRIMARY KEY DEFAULT snowflake_nextval(), item text);
         INSERT INTO orders (item) SELECT 'book' FROM generate_series(1, 10000);
         ANALYZE orders",
    );
    let block = page("docs/public-ids.md").block("CREATE VIEW public_orders");
    let (definitions, _) = block.split_once("SELECT * FROM public_order(").expect("a use");
    client.run(definitions);
    let name: String = value(&mut client, "SELECT snowflake_to_public(max(id), 'ord') FROM orders");
    let of_view = format!("SELECT * FROM public_orders WHERE public_id = '{name}'");
    assert!(explain(&mut client, &of_view).contains("Seq Scan"));
    let plan = explain(&mut client, &format!("SELECT * FROM public_order('{name}')"));
    assert!(plan.contains("using orders_pkey"), "{plan}");
}
