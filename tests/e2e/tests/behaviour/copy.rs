//! What COPY of PostgreSQL 19 can do, with a table whose key is an ID.

use std::io::{Read, Write};

use postgres::Client;
use postgres::error::SqlState;
use snowflake_e2e::{
    Cluster, Means, NEXT, assert_distinct, assert_increasing, bigint, bigints, create_orders,
    error_of, lacks,
};

/// Sends rows to the server.
pub fn copy_in(client: &mut Client, statement: &str, rows: &[u8]) -> Result<u64, postgres::Error> {
    let mut writer = client.copy_in(statement)?;
    writer.write_all(rows).expect("sent");
    writer.finish()
}

/// A table of 1,000 rows with IDs that COPY took by the default, in order; unless its server is too
/// old.
fn filled() -> Option<(Cluster, Client)> {
    if lacks(&[Means::PostgreSQL(19)]) {
        return None;
    }
    let cluster = Cluster::start();
    create_orders(&cluster);
    let mut client = cluster.connect();
    client.batch_execute("ALTER TABLE orders ADD COLUMN price int").expect("a column");
    let lines: String = (1..=1000).map(|price| format!("{price}\n")).collect();
    let before = bigint(&mut client, NEXT);
    copy_in(&mut client, "COPY orders (price) FROM STDIN", lines.as_bytes()).expect("rows");
    let ids = bigints(&mut client, "SELECT id FROM orders ORDER BY price");
    assert_eq!(ids.len(), 1000);
    assert_increasing(&[vec![before], ids, vec![bigint(&mut client, NEXT)]].concat());
    Some((cluster, client))
}

/// JSON has all digits of an ID.
#[test]
fn ids_are_written_as_json() {
    let Some((_cluster, mut client)) = filled() else { return };
    let mut text = String::new();
    let mut reader = client.copy_out("COPY orders TO STDOUT (FORMAT json)").expect("a copy");
    reader.read_to_string(&mut text).expect("rows");
    drop(reader);
    client.batch_execute("CREATE TABLE written (line jsonb)").expect("a table");
    copy_in(&mut client, "COPY written FROM STDIN", text.as_bytes()).expect("rows");
    let differ = "SELECT count(*) FROM (TABLE orders EXCEPT ALL
        SELECT (line->>'id')::bigint, (line->>'price')::int FROM written) AS differ";
    assert_eq!(bigint(&mut client, differ), 0);
}

/// What cannot be read becomes NULL, except in a key: that is an error.
#[test]
fn what_cannot_be_read_becomes_null_beside_the_id() {
    let Some((_cluster, mut client)) = filled() else { return };
    let from = |columns| format!("COPY orders ({columns}) FROM STDIN (ON_ERROR set_null)");
    copy_in(&mut client, &from("price"), b"one\n2001\ntwo\n").expect("rows");
    assert_eq!(bigint(&mut client, "SELECT count(*) FROM orders WHERE price IS NULL"), 2);
    assert_distinct(bigints(&mut client, "SELECT id FROM orders"));
    let error = error_of(copy_in(&mut client, &from("id, price"), b"one\t3001\n"));
    assert_eq!(error.code(), &SqlState::NOT_NULL_VIOLATION, "{error}");
    assert_eq!(bigint(&mut client, "SELECT count(*) FROM orders"), 1003);
}
