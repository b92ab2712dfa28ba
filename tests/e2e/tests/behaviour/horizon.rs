//! The horizon: what holds it back, what it is after each kind of end, and where there is none.

mod ends;
mod holders;
mod readers;

use postgres::Client;
use snowflake_e2e::{Cluster, Run, bigint, bigints};

const HORIZON: &str = "SELECT snowflake_horizon()";

const INSERT: &str = "INSERT INTO jobs DEFAULT VALUES RETURNING id";

/// A cluster with a table of jobs.
fn jobs() -> Cluster {
    let cluster = Cluster::builder().set("max_prepared_transactions", "20").start();
    create_jobs(&cluster);
    cluster
}

fn create_jobs(cluster: &Cluster) {
    let table = "CREATE TABLE jobs (id bigint PRIMARY KEY DEFAULT snowflake_nextval(), what text)";
    cluster.run(table);
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
            "SELECT id FROM jobs WHERE id > {} AND id <= snowflake_horizon() ORDER BY id LIMIT 1000",
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
