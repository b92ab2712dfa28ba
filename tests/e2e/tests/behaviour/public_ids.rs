//! Public IDs on a standby, and by the function of their page.

use postgres::Client;
use snowflake_e2e::{Cluster, NEXT, Run, bigint, explain};

/// Two keys, as a file has them.
pub const ONE: &str = "000102030405060708090a0b0c0d0e0f\n";
pub const TWO: &str = "2b7e151628aed2a6abf7158809cf4f3c\n";

fn name(client: &mut Client, id: i64) -> String {
    client.query_one("SELECT snowflake_to_public($1, 'ord')", &[&id]).expect("a name").get(0)
}

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
    let page = include_str!("../../../../docs/public-ids.md");
    let (_, definitions) = page.split_once("CREATE VIEW public_orders").expect("a view");
    let (definitions, _) = definitions.split_once("SELECT * FROM public_order(").expect("a use");
    let create = format!("CREATE VIEW public_orders{definitions}");
    client.run(&create);
    let id = bigint(&mut client, "SELECT max(id) FROM orders");
    let name = name(&mut client, id);
    let of_view = format!("SELECT * FROM public_orders WHERE public_id = '{name}'");
    assert!(explain(&mut client, &of_view).contains("Seq Scan"));
    let plan = explain(&mut client, &format!("SELECT * FROM public_order('{name}')"));
    assert!(plan.contains("using orders_pkey"), "{plan}");
}

#[test]
fn a_standby_makes_and_reads_names() {
    let cluster = Cluster::builder().public_keys(ONE).start();
    let mut client = cluster.connect();
    let id = bigint(&mut client, NEXT);
    let of_primary = name(&mut client, id);
    let mut standby = cluster.base_backup(&["--write-recovery-conf"]);
    standby.write_public_keys(ONE);
    standby
        .configure(&[("snowflake.public_key_file", &standby.public_key_file().to_string_lossy())]);
    standby.start_again();
    let mut client = standby.connect();
    let read = format!("SELECT snowflake_from_public('{of_primary}', 'ord')");
    assert_eq!(bigint(&mut client, &read), id);
    assert_eq!(name(&mut client, id), of_primary);
}
