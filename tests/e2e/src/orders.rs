//! The table that most tests insert into.

use crate::cluster::Cluster;
use crate::ids::assert_distinct;
use crate::journal::Journal;
use crate::query::bigints;

/// Inserts a row, and returns its ID.
pub const INSERT: &str = "INSERT INTO orders DEFAULT VALUES RETURNING id";

/// The table that [`INSERT`] inserts into.
pub fn create_orders(cluster: &Cluster) {
    let create = "CREATE TABLE orders (id bigint PRIMARY KEY DEFAULT snowflake_nextval())";
    cluster.run(create);
}

/// Asserts that what clients were told is in the table, and no ID twice.
#[track_caller]
pub fn assert_rows(cluster: &Cluster, told: &Journal) {
    let rows = bigints(&mut cluster.connect(), "SELECT id FROM orders ORDER BY id");
    let lost = told.ids().into_iter().filter(|id| rows.binary_search(id).is_err()).count();
    assert_eq!(lost, 0, "of {} rows", told.count());
    assert_distinct(rows);
}
