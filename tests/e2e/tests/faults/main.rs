//! Faults: what is thrown at a real cluster, and that no ID comes twice. One module per kind.
//!
//! Each test writes down what its clients received, and checks at the end that nothing came twice
//! and that everything increased. `make mutants` runs them against a build without the register,
//! where they have to fail.

mod crash;
mod creation;
mod damage;
mod floor;
mod interruption;
mod promotion;
mod recovery;
mod steps;
mod upgrade;
mod wrong_clocks;

use snowflake_e2e::Cluster;

const NEXT: &str = "SELECT snowflake_nextval()";
const INSERT: &str = "INSERT INTO orders DEFAULT VALUES RETURNING id";

/// The table that [`INSERT`] inserts into.
fn create_orders(cluster: &Cluster) {
    cluster
        .connect()
        .batch_execute("CREATE TABLE orders (id bigint PRIMARY KEY DEFAULT snowflake_nextval())")
        .expect("a table");
}
