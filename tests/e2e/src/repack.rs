//! Rewriting a table while rows are inserted.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use postgres::Client;

use crate::cluster::Cluster;
use crate::ids::{assert_distinct, assert_increasing};
use crate::journal::StopOnDrop;
use crate::orders::INSERT;
use crate::query::{bigint, bigints};
use crate::wait::eventually;

/// Fills the table `orders` and deletes every other row. While a session inserts rows, `repack`
/// gives the table a new file. No row may be lost, and IDs go on.
pub fn repack_under_inserts(cluster: &Cluster, repack: impl FnOnce()) {
    let mut client = cluster.connect();
    client
        .batch_execute(
            "INSERT INTO orders SELECT FROM generate_series(1, 100000);
             DELETE FROM orders WHERE id IN
                 (SELECT id FROM (SELECT id, row_number() OVER () FROM orders) AS o WHERE row_number % 2 = 0)",
        )
        .expect("dead rows");
    let kept = bigints(&mut client, "SELECT id FROM orders");
    let file = "SELECT relfilenode::bigint FROM pg_class WHERE oid = 'orders'::regclass";
    let before = bigint(&mut client, file);

    let stop = AtomicBool::new(false);
    let (ids, while_repacked) = thread::scope(|scope| {
        let guard = StopOnDrop(&stop);
        let inserting = scope.spawn(|| insert_until(&stop, cluster.connect()));
        let last = "SELECT max(id) FROM orders";
        let first = bigint(&mut client, last);
        eventually("rows are inserted", || bigint(&mut client, last) > first);
        let first = bigint(&mut client, last);
        repack();
        let last = bigint(&mut client, last);
        drop(guard);
        let ids = inserting.join().expect("the session inserts");
        let while_repacked = ids.iter().filter(|id| first < **id && **id <= last).count();
        (ids, while_repacked)
    });
    println!("{while_repacked} rows were inserted while the table was repacked");
    assert!(while_repacked > 0);
    assert_ne!(bigint(&mut client, file), before, "the table has a new file");
    assert_increasing(&ids);
    let next = bigint(&mut client, INSERT);
    assert!(ids.iter().all(|id| *id < next));
    let mut all = [kept, ids, vec![next]].concat();
    all.sort_unstable();
    assert_eq!(bigints(&mut client, "SELECT id FROM orders ORDER BY id"), all);
    assert_distinct(all);
}

fn insert_until(stop: &AtomicBool, mut client: Client) -> Vec<i64> {
    let mut ids = Vec::new();
    while !stop.load(Ordering::Relaxed) {
        ids.push(bigint(&mut client, INSERT));
    }
    ids
}
