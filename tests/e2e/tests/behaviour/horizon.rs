//! The horizon: what holds it back, what it is after each kind of end, and where there is none.

mod ends;
mod holders;
mod readers;

use postgres::Client;
use snowflake_e2e::{Cluster, ClusterBuilder, INSERT, Run, bigint, bigints, create_orders};

const HORIZON: &str = "SELECT snowflake_horizon()";

/// A cluster with a table of orders, and room for prepared transactions.
fn start(builder: ClusterBuilder, prepared: &str) -> Cluster {
    let cluster = builder.set("max_prepared_transactions", prepared).start();
    create_orders(&cluster);
    cluster
}
/// Reads each row once, in the order of the IDs.
struct Poller {
    client: Client,
    last: i64,
}

impl Poller {
    fn new(cluster: &Cluster) -> Poller {
        Poller { client: cluster.connect(), last: 0 }
    }

    fn poll(&mut self) -> Vec<i64> {
        let query = format!(
            "SELECT id FROM orders WHERE id > {} AND id <= snowflake_horizon() ORDER BY id LIMIT 1000",
            self.last
        );
        let ids = bigints(&mut self.client, &query);
        self.last = ids.last().copied().unwrap_or(self.last);
        ids
    }
}

/// Begins a transaction, in which it inserts a row.
fn begin(cluster: &Cluster) -> (Client, i64) {
    let mut client = cluster.connect();
    client.run("BEGIN");
    let id = bigint(&mut client, INSERT);
    (client, id)
}
