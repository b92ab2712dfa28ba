//! pg_repack. The test is skipped where the server has none.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use postgres::Client;
use snowflake_e2e::{
    Cluster, Means, StopOnDrop, assert_distinct, assert_increasing, bigint, eventually, lacks,
    output,
};

/// A table is repacked while rows are inserted. No row is lost, and IDs go on.
#[test]
fn a_table_is_repacked_under_inserts() {
    if lacks(&[Means::Extension("pg_repack")]) {
        return;
    }
    let cluster = Cluster::start();
    let mut client = cluster.connect();
    client
        .batch_execute(
            "CREATE EXTENSION pg_repack;
             CREATE TABLE orders (id bigint PRIMARY KEY DEFAULT snowflake_nextval(), item text);
             INSERT INTO orders (item) SELECT repeat('x', 100) FROM generate_series(1, 100000);
             DELETE FROM orders WHERE id % 2 = 0",
        )
        .expect("a table with dead rows");
    let kept = bigint(&mut client, "SELECT count(*) FROM orders");
    let file = "SELECT relfilenode::bigint FROM pg_class WHERE relname = 'orders'";
    let before = bigint(&mut client, file);

    let stop = AtomicBool::new(false);
    let (ids, while_repacked) = thread::scope(|scope| {
        let guard = StopOnDrop(&stop);
        let inserting = scope.spawn(|| insert_until(&stop, cluster.connect()));
        eventually("rows are inserted", || {
            bigint(&mut client, "SELECT count(*) FROM orders") > kept
        });
        let first = bigint(&mut client, "SELECT max(id) FROM orders");
        output(cluster.client_program("pg_repack").arg("--table=orders"));
        let last = bigint(&mut client, "SELECT max(id) FROM orders");
        drop(guard);
        let ids = inserting.join().expect("the session inserts");
        let while_repacked = ids.iter().filter(|id| first < **id && **id <= last).count();
        (ids, while_repacked)
    });
    println!("{while_repacked} rows were inserted while the table was repacked");
    assert!(while_repacked > 0);
    assert_ne!(bigint(&mut client, file), before, "the table has a new file");
    assert_eq!(bigint(&mut client, "SELECT count(*) FROM orders"), kept + ids.len() as i64);
    assert_increasing(&ids);
    let next = bigint(&mut client, "INSERT INTO orders DEFAULT VALUES RETURNING id");
    assert!(ids.iter().all(|id| *id < next));
    assert_distinct(ids);
}

fn insert_until(stop: &AtomicBool, mut client: Client) -> Vec<i64> {
    let mut ids = Vec::new();
    while !stop.load(Ordering::Relaxed) {
        ids.push(bigint(&mut client, "INSERT INTO orders DEFAULT VALUES RETURNING id"));
    }
    ids
}
