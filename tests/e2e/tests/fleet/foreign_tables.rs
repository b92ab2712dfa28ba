//! Shards behind foreign tables of postgres_fdw, while rows come in everywhere: a parent server,
//! which is worker 1, and two servers that hold the rows, which are workers 2 and 3.

use std::thread;

use postgres::Client;
use snowflake_e2e::{
    Cluster, Means, Run, assert_distinct, bigint, bigints, explain, lacks, publishing,
};

const STATEMENTS: usize = 100;
pub const INSERT: &str = "INSERT INTO orders (item) SELECT 'item' FROM generate_series(1, 50)";

struct Fleet {
    parent: Cluster,
    shards: [Cluster; 2],
}

/// The three servers; `None` where postgres_fdw is not installed. The shards have a table of orders
/// each, which are partitions of a table of the parent.
fn fleet(by: &str, bounds: [&str; 2]) -> Option<Fleet> {
    if lacks(&[Means::Extension("postgres_fdw")]) {
        return None;
    }
    let [parent, one, other] = ["1", "2", "3"].map(|worker| publishing(worker).start());
    let table = "CREATE TABLE orders (id bigint DEFAULT snowflake_nextval(), item text)";
    parent.run(&format!("CREATE EXTENSION postgres_fdw; {table} PARTITION BY {by}"));
    for ((number, shard), bounds) in [(2, &one), (3, &other)].into_iter().zip(bounds) {
        shard.run(&format!("{table}; ALTER TABLE orders ADD PRIMARY KEY (id)"));
        parent.run(&format!(
            "CREATE SERVER shard{number} FOREIGN DATA WRAPPER postgres_fdw
                 OPTIONS (host '{}', port '5432', dbname 'postgres');
             CREATE USER MAPPING FOR CURRENT_USER SERVER shard{number} OPTIONS (user 'postgres');
             CREATE FOREIGN TABLE orders_{number} PARTITION OF orders FOR VALUES {bounds}
                 SERVER shard{number} OPTIONS (table_name 'orders')",
            shard.directory().display()
        ));
    }
    Some(Fleet { parent, shards: [one, other] })
}

impl Fleet {
    /// Rows come in through the parent and at both shards at the same time.
    fn insert_everywhere(&self) {
        thread::scope(|scope| {
            for server in [&self.parent, &self.shards[0], &self.shards[1]] {
                let mut client = server.connect();
                scope.spawn(move || (0..STATEMENTS).for_each(|_| client.run(INSERT)));
            }
        });
        let ids = bigints(&mut self.parent.connect(), "SELECT id FROM orders");
        assert_eq!(ids.len(), 3 * STATEMENTS * 50);
        assert_distinct(ids);
    }

    /// Returns the number of IDs of the shards that the parent does not find when it is asked for
    /// one at a time.
    fn not_found(&self, condition: &str) -> usize {
        let mut parent = self.parent.connect();
        let query = format!("SELECT id FROM orders WHERE id = $1 AND {condition}");
        let query = parent.prepare(&query).expect("a query");
        let some = "SELECT id FROM orders LIMIT 100";
        let ids = self.shards.each_ref().map(|shard| bigints(&mut shard.connect(), some));
        let is_lost = |id: &&i64| parent.query(&query, &[*id]).expect("rows").is_empty();
        ids.concat().iter().filter(is_lost).count()
    }
}

/// The workers whose IDs a table has, in order.
pub fn workers(client: &mut Client, table: &str) -> Vec<i64> {
    let workers = format!("SELECT DISTINCT snowflake_worker_id(id) AS w FROM {table} ORDER BY w");
    bigints(client, &workers)
}

/// The IDs are distinct, and each is of the server that was asked. But a shard does not know which
/// hashes belong to it: the parent looks for some of its rows at the other one.
#[test]
fn rows_inserted_at_the_shards_are_lost_to_a_parent_that_hashes() {
    let bounds = ["WITH (MODULUS 2, REMAINDER 0)", "WITH (MODULUS 2, REMAINDER 1)"];
    let Some(fleet) = fleet("HASH (id)", bounds) else { return };
    let mut parent = fleet.parent.connect();
    parent.run(INSERT);
    parent.run("COPY orders (item) FROM PROGRAM 'seq 50'");
    for shard in &fleet.shards {
        assert_eq!(workers(&mut shard.connect(), "orders"), [1]);
        shard.run("TRUNCATE orders");
    }
    fleet.insert_everywhere();
    assert_eq!(workers(&mut parent, "orders"), [1, 2, 3]);
    assert!(fleet.not_found("true") > 0);
}

/// Partitioned by the worker in the ID, each shard holds the IDs that it made. The parent has a
/// partition of its own.
#[test]
fn a_parent_that_partitions_by_worker_finds_the_rows_of_its_shards() {
    let by = "LIST (snowflake_worker_id(id))";
    let Some(fleet) = fleet(by, ["IN (2)", "IN (3)"]) else { return };
    let mut parent = fleet.parent.connect();
    parent.run("CREATE TABLE orders_1 PARTITION OF orders FOR VALUES IN (1)");
    fleet.insert_everywhere();
    for (table, worker) in [("orders_1", 1), ("orders_2", 2), ("orders_3", 3)] {
        assert_eq!(workers(&mut parent, table), [worker]);
    }
    assert_eq!(fleet.not_found("snowflake_worker_id(id) = snowflake_worker_id($1)"), 0);
    let id = bigint(&mut parent, "SELECT max(id) FROM orders_3");
    let condition = format!("id = {id} AND snowflake_worker_id(id) = snowflake_worker_id({id})");
    let plan = explain(&mut parent, &format!("SELECT item FROM orders WHERE {condition}"));
    assert!(plan.contains("orders_3") && !plan.contains("orders_2"), "{plan}");
}
