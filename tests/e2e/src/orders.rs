//! The table that most tests insert into.

use crate::cluster::Cluster;

/// Inserts a row, and returns its ID.
pub const INSERT: &str = "INSERT INTO orders DEFAULT VALUES RETURNING id";

/// The table that [`INSERT`] inserts into.
pub fn create_orders(cluster: &Cluster) {
    cluster
        .connect()
        .batch_execute("CREATE TABLE orders (id bigint PRIMARY KEY DEFAULT snowflake_nextval())")
        .expect("a table");
}
