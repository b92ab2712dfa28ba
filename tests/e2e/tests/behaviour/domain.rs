//! The domain `snowflake`: what a driver sees.

use postgres::types::Type;
use snowflake_e2e::{Cluster, assert_increasing, bigints};

#[test]
fn a_driver_sees_a_bigint() {
    let cluster = Cluster::start();
    let mut client = cluster.connect();
    client
        .batch_execute("CREATE TABLE orders (id snowflake PRIMARY KEY, item text)")
        .expect("a table");
    let statement =
        client.prepare("INSERT INTO orders (item) VALUES ($1) RETURNING id").expect("a statement");
    assert_eq!(statement.columns()[0].type_(), &Type::INT8);
    let ids: Vec<i64> =
        (0..10).map(|_| client.query_one(&statement, &[&"book"]).expect("a row").get(0)).collect();
    assert_increasing(&ids);
    let found = client.query_one("SELECT id FROM orders WHERE id = $1", &[&ids[3]]).expect("a row");
    assert_eq!(found.get::<_, i64>(0), ids[3]);

    // In binary COPY, too.
    let mut writer = client.copy_in("COPY orders (item) FROM STDIN").expect("COPY starts");
    std::io::Write::write_all(&mut writer, b"copied\n").expect("COPY goes on");
    assert_eq!(writer.finish().expect("COPY ends"), 1);
    assert_increasing(&bigints(&mut client, "SELECT id FROM orders ORDER BY ctid"));
}
