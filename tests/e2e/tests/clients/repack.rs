//! pg_repack. The test is skipped where the server has none.

use snowflake_e2e::{Cluster, Means, create_orders, lacks, output, repack_under_inserts};

/// A table is repacked while rows are inserted. No row is lost, and IDs go on.
#[test]
fn a_table_is_repacked_under_inserts() {
    if lacks(&[Means::Extension("pg_repack")]) {
        return;
    }
    let cluster = Cluster::start();
    create_orders(&cluster);
    cluster.run("CREATE EXTENSION pg_repack");
    repack_under_inserts(&cluster, || {
        output(cluster.client_program("pg_repack").arg("--table=orders"));
    });
}
