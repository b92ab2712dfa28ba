//! Rewriting a table while rows are inserted.

use std::sync::atomic::{AtomicBool, Ordering};

use crate::cluster::Cluster;
use crate::ids::{assert_distinct, assert_increasing};
use crate::orders::INSERT;
use crate::query::{Run, bigint, bigints};
use crate::threads::beside;
use crate::wait::eventually;

/// Fills the table `orders` and deletes every other row. While a session inserts rows, `repack`
/// gives the table a new file. No row may be lost, and IDs go on.
pub fn repack_under_inserts(cluster: &Cluster, repack: impl FnOnce()) {
    let mut client = cluster.connect();
    client.run(
        "INSERT INTO orders SELECT FROM generate_series(1, 100000);
         DELETE FROM orders WHERE id IN
             (SELECT id FROM (SELECT id, row_number() OVER () FROM orders) AS o
              WHERE row_number % 2 = 0)",
    );
    let kept = bigints(&mut client, "SELECT id FROM orders");
    let file = "SELECT relfilenode::bigint FROM pg_class WHERE oid = 'orders'::regclass";
    let before = bigint(&mut client, file);

    let last = "SELECT max(id) FROM orders";
    let insert = |_, stop: &AtomicBool| {
        let (mut client, mut ids) = (cluster.connect(), Vec::new());
        while !stop.load(Ordering::Relaxed) {
            ids.push(bigint(&mut client, INSERT));
        }
        ids
    };
    let (ids, meanwhile) = beside(1, insert, || {
        let first = bigint(&mut client, last);
        eventually("rows are inserted", || bigint(&mut client, last) > first);
        let first = bigint(&mut client, last);
        repack();
        first + 1..=bigint(&mut client, last)
    });
    let ids = ids.concat();
    let while_repacked = ids.iter().filter(|id| meanwhile.contains(id)).count();
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
