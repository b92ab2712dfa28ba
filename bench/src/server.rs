//! The server that `make bench` measures on.

use postgres::Client;
use snowflake_e2e::{Cluster, ClusterBuilder, Run};

/// A cluster that does nothing but what is measured.
pub fn cluster() -> ClusterBuilder {
    Cluster::builder()
        .set("autovacuum", "off")
        .set("checkpoint_timeout", "1h")
        .set("max_wal_size", "32GB")
        .set("shared_buffers", "1GB")
        .set("max_parallel_workers_per_gather", "0")
        .set("max_connections", "100")
}

/// The widths of a server's layout, as `5, 5, 12`.
pub fn widths(client: &mut Client) -> String {
    let widths = "SELECT concat_ws(', ', current_setting('snowflake.datacenter_bits'), \
                  current_setting('snowflake.worker_bits'), \
                  current_setting('snowflake.sequence_bits'))";
    client.query_one(widths, &[]).expect("settings").get(0)
}

/// Where the WAL is.
pub const POSITION: &str = "SELECT pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0')::bigint";

/// Empties a table, and gives its old files and WAL back now rather than while something is
/// measured.
pub fn empty(client: &mut Client, table: &str) {
    client.run(&format!("TRUNCATE {table}; CHECKPOINT"));
}

/// Writes so many rows to a file that COPY reads: expressions of `n`, which counts them.
pub fn copy_out(cluster: &Cluster, values: &str, rows: u32) -> String {
    let file = cluster.data().join(format!("{values} of {rows}")).display().to_string();
    let copy = format!("COPY (SELECT {values} FROM generate_series(1, {rows}) AS n) TO '{file}'");
    cluster.connect().run(&copy);
    file
}
