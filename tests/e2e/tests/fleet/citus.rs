//! Citus: a coordinator, which is worker 1 of the IDs, and two nodes with the shards, which are
//! workers 2 and 3. The tests are skipped where the server has no Citus.

use std::sync::atomic::AtomicBool;
use std::thread;

use postgres::Client;
use snowflake_e2e::{
    Cluster, ClusterBuilder, Journal, Means, Run, assert_distinct, beside, bigint, bigints,
    eventually, explain, lacks, values,
};

use crate::foreign_tables::{INSERT, workers};

const STATEMENTS: usize = 50;
const ROWS: usize = 50;

struct Citus {
    coordinator: Cluster,
    nodes: Vec<Cluster>,
}

/// The servers, with shards on the nodes only; `None` without Citus.
fn citus() -> Option<Citus> {
    if lacks(&[Means::Library("citus")]) {
        return None;
    }
    let coordinator = start(node(1));
    let host = host(&coordinator);
    coordinator.run(&format!("SELECT citus_set_coordinator_host('{host}', 5432)"));
    // Citus creates the extension on each node that is added.
    coordinator.run("CREATE EXTENSION snowflake");
    let mut citus = Citus { coordinator, nodes: Vec::new() };
    [2, 3].into_iter().for_each(|worker| citus.add(start(node(worker))));
    Some(citus)
}

/// Citus has to be the first library. The other settings are what logical replication of shards
/// needs, and how the node reaches itself.
fn node(worker: u32) -> ClusterBuilder {
    Cluster::builder()
        .set("shared_preload_libraries", "citus,snowflake_pg")
        .set("snowflake.worker_id", &worker.to_string())
        .set("wal_level", "logical")
}

/// The name by which other nodes know a server.
fn host(node: &Cluster) -> String {
    node.directory().display().to_string()
}

fn start(builder: ClusterBuilder) -> Cluster {
    let mut node = builder.create();
    node.configure(&[("citus.local_hostname", &host(&node))]);
    node.start_again();
    node.run("CREATE EXTENSION citus");
    node
}

impl Citus {
    fn add(&mut self, node: Cluster) {
        self.coordinator.run(&format!("SELECT citus_add_node('{}', 5432)", host(&node)));
        self.nodes.push(node);
    }

    /// The coordinator and the nodes.
    fn all(&self) -> impl Iterator<Item = &Cluster> {
        std::iter::once(&self.coordinator).chain(&self.nodes)
    }

    /// Orders that are distributed by ID.
    fn orders(&self) -> Client {
        self.coordinator.run(
            "CREATE TABLE orders (id bigint PRIMARY KEY DEFAULT snowflake_nextval(), item text);
             SELECT create_distributed_table('orders', 'id', shard_count => 4)",
        );
        self.coordinator.connect()
    }

    /// Lines and notes that are distributed by tenant, and on the same node for each tenant.
    fn lines_and_notes(&self) -> Client {
        for table in ["lines", "notes"] {
            self.coordinator.run(&format!(
                "CREATE TABLE {table} (
                     tenant_id bigint, id bigint DEFAULT snowflake_nextval(), item text,
                     PRIMARY KEY (tenant_id, id)
                 );
                 SELECT create_distributed_table('{table}', 'tenant_id', shard_count => 4)"
            ));
        }
        self.coordinator.connect()
    }
}

/// Fills the table of lines from the coordinator.
fn insert_lines(client: &mut Client, count: u32) {
    let insert = "INSERT INTO lines (tenant_id) SELECT generate_series";
    client.run(&format!("{insert}(1, {count})"));
}

fn ids(client: &mut Client, table: &str) -> Vec<i64> {
    bigints(client, &format!("SELECT id FROM {table} ORDER BY id"))
}

/// `CREATE EXTENSION` at the coordinator is enough, and a query there compares the identities of
/// all nodes.
#[test]
fn the_coordinator_creates_the_extension_and_checks_all_nodes() {
    let Some(citus) = citus() else { return };
    let mut client = citus.coordinator.connect();
    let identities = "SELECT result::bigint FROM run_command_on_all_nodes(
        'SELECT worker_id FROM snowflake_status') ORDER BY result";
    assert_eq!(bigints(&mut client, identities), [1, 2, 3]);
    let issuing = "SELECT count(*) FROM run_command_on_all_nodes(
        $$SELECT ok FROM snowflake_check() WHERE name = 'issues IDs'$$)
        WHERE success AND result = 't'";
    assert_eq!(bigint(&mut client, issuing), 3);
    let not_well = "SELECT count(*) FROM run_command_on_all_nodes(
        $$SELECT string_agg(name, ', ') FROM snowflake_check() WHERE NOT ok$$)
        WHERE result = 'origin of the identity'";
    assert_eq!(bigint(&mut client, not_well), 3);
}

/// In the other order, the server does not start.
#[test]
fn citus_has_to_be_preloaded_first() {
    if lacks(&[Means::Library("citus")]) {
        return;
    }
    let started = node(2).set("shared_preload_libraries", "snowflake_pg,citus").try_start();
    let log = started.err().expect("no start");
    assert!(log.contains("FATAL:  Citus has to be loaded first"), "{log}");
}

/// Every node takes inserts. The node that was asked makes the IDs, wherever the row goes.
#[test]
fn ids_are_of_the_node_that_was_asked() {
    let Some(citus) = citus() else { return };
    let mut client = citus.orders();
    for (node, worker) in citus.all().zip(1_i64..) {
        let mut client = node.connect();
        client.run("TRUNCATE orders");
        client.run(INSERT);
        client.run("COPY orders (item) FROM PROGRAM 'seq 50'");
        let one = bigint(&mut client, "INSERT INTO orders (item) VALUES ('x') RETURNING id");
        let found = format!("SELECT count(*) FROM orders WHERE id = {one}");
        assert_eq!(bigint(&mut client, &found), 1);
        assert_eq!(workers(&mut client, "orders"), [worker]);
    }
    client.run("TRUNCATE orders");
    thread::scope(|scope| {
        for node in citus.all() {
            let mut client = node.connect();
            scope.spawn(move || (0..STATEMENTS).for_each(|_| client.run(INSERT)));
        }
    });
    let ids = ids(&mut client, "orders");
    assert_eq!(ids.len(), 3 * STATEMENTS * ROWS);
    assert_distinct(ids);
    assert_eq!(workers(&mut client, "orders"), [1, 2, 3]);
}

/// A reference table has the same IDs on every node.
#[test]
fn a_reference_table_has_the_same_ids_everywhere() {
    let Some(citus) = citus() else { return };
    let mut client = citus.coordinator.connect();
    client.run(
        "CREATE TABLE orders (id bigint PRIMARY KEY DEFAULT snowflake_nextval(), item text);
         SELECT create_reference_table('orders')",
    );
    citus.all().for_each(|node| node.run(INSERT));
    client.run("INSERT INTO orders (item) SELECT item FROM orders");
    let expected = ids(&mut client, "orders");
    assert_eq!(expected.len(), 2 * 3 * ROWS);
    assert_distinct(expected.clone());
    assert_eq!(workers(&mut client, "orders"), [1, 2, 3]);
    // Each node reads its own copy.
    for node in &citus.nodes {
        assert_eq!(ids(&mut node.connect(), "orders"), expected);
    }
}

/// A `SELECT` from a distributed table runs on the nodes with the shards, and takes its IDs there,
/// also as a part of `INSERT ... SELECT`.
#[test]
fn a_select_takes_the_ids_of_the_nodes_with_the_shards() {
    let Some(citus) = citus() else { return };
    let mut client = citus.lines_and_notes();
    insert_lines(&mut client, 10_000);
    assert_eq!(workers(&mut client, "lines"), [1]);
    let insert = "INSERT INTO notes (tenant_id) SELECT tenant_id FROM lines";
    let plan = explain(&mut client, insert);
    assert!(plan.contains("INSERT/SELECT method: repartition"), "{plan}");
    assert!(plan.contains("Query: SELECT tenant_id, public.snowflake_nextval() AS id"), "{plan}");
    client.run(insert);
    assert_eq!(workers(&mut client, "notes"), [2, 3]);
    // Into orders, the rows move to other nodes.
    let mut client = citus.orders();
    client.run("INSERT INTO orders (item) SELECT item FROM lines");
    assert_eq!(workers(&mut client, "orders"), [2, 3]);
    let mut all = ["lines", "notes", "orders"].map(|table| ids(&mut client, table)).concat();
    // Without rows.
    let taken = bigints(&mut client, "SELECT snowflake_nextval() FROM lines");
    let decode = format!("SELECT snowflake_worker_id({})::bigint", taken[0]);
    assert!(bigint(&mut client, &decode) > 1);
    all.extend(taken);
    assert_eq!(all.len(), 40000);
    assert_distinct(all);
}

/// Times become IDs, which each shard looks up in its index. The nodes have the extension, so they
/// decode and compare with `now()` as well.
#[test]
fn times_are_sent_to_the_shards_as_ids() {
    let Some(citus) = citus() else { return };
    let mut client = citus.orders();
    client.run(INSERT);
    for (query, condition) in [
        (
            "SELECT * FROM orders WHERE snowflake_within(id, '2026-01-01+00', '2027-01-01+00')",
            "WHERE ((id OPERATOR(pg_catalog.>=) '2006515713438646272'::bigint) AND \
             (id OPERATOR(pg_catalog.<=) '2138787284382646271'::bigint))",
        ),
        (
            "SELECT * FROM orders WHERE snowflake_within(id, now() - interval '1 hour', 'infinity')",
            "WHERE ((id OPERATOR(pg_catalog.>=) snowflake_internal.snowflake_within_min((now() ",
        ),
        (
            "SELECT snowflake_worker_id(id), count(*) FROM orders GROUP BY 1",
            "GROUP BY (public.snowflake_worker_id(id))",
        ),
    ] {
        let plan = explain(&mut client, query);
        let task = plan.lines().find(|line| line.contains("Query:")).expect("a task");
        assert!(task.contains(condition), "{plan}");
    }
}

/// Moving shards leaves the IDs of their rows alone, and inserts go on.
#[test]
fn moving_shards_leaves_ids_alone() {
    let Some(mut citus) = citus() else { return };
    let mut client = citus.orders();
    (0..20).for_each(|_| client.run(INSERT));
    let before = ids(&mut client, "orders");
    citus.add(start(node(4)));
    let journals = [(); 4].map(|()| Journal::new());
    let configs: Vec<_> = citus.all().map(Cluster::config).collect();
    let insert = "INSERT INTO orders (item) VALUES ('meanwhile') RETURNING id";
    let work = |node: usize, stop: &AtomicBool| {
        journals[node].take_until(stop, &configs[node], insert);
    };
    beside(4, work, || {
        for mode in ["block_writes", "force_logical"] {
            let shards = shards_of(&citus.nodes[2], &mut client);
            let [from, to] = [0, 2].map(|node| host(&citus.nodes[node]));
            let shard = format!("SELECT min(shardid) FROM citus_shards WHERE nodename = '{from}'");
            let places = format!("'{from}', 5432, '{to}', 5432, '{mode}'");
            client.run(&format!("SELECT citus_move_shard_placement(({shard}), {places})"));
            assert_eq!(shards_of(&citus.nodes[2], &mut client), shards + 1);
            journals.iter().for_each(|journal| journal.wait_for(20));
        }
        let first = host(&citus.nodes[0]);
        client.run(&format!("SELECT citus_drain_node('{first}', 5432, 'block_writes')"));
        assert_eq!(shards_of(&citus.nodes[0], &mut client), 0);
        journals.iter().for_each(|journal| journal.wait_for(20));
    });
    assert_eq!(workers(&mut client, "orders"), [1, 2, 3, 4]);
    let mut expected = before;
    for journal in &journals {
        journal.check();
        expected.extend(journal.ids());
    }
    assert_distinct(expected.clone());
    expected.sort_unstable();
    assert_eq!(ids(&mut client, "orders"), expected);
}

fn shards_of(node: &Cluster, client: &mut Client) -> i64 {
    let host = host(node);
    bigint(client, &format!("SELECT count(*) FROM citus_shards WHERE nodename = '{host}'"))
}

/// Returns the number of IDs of notes that are duplicates, after another note on each line. No
/// constraint is violated: the key of a row has the tenant, too.
fn duplicates(client: &mut Client) -> i64 {
    client.run("INSERT INTO notes (tenant_id) SELECT tenant_id FROM lines");
    let count = bigint(client, "SELECT count(*) - count(DISTINCT id) FROM notes");
    println!("{count} of {} IDs are duplicates", bigint(client, "SELECT count(*) FROM notes"));
    count
}

/// A standby of a node, prepared to become a node of its own.
fn clone_of(original: &Cluster, settings: &[(&str, &str)]) -> Cluster {
    let mut clone = original.base_backup(&["--write-recovery-conf"]);
    let host = host(&clone);
    // Citus looks for the clone among the standbys of the node by its name.
    clone.configure(&[("cluster_name", &host), ("citus.local_hostname", &host)]);
    clone.configure(settings);
    clone.start_again();
    clone
}

/// Makes the clone a node with half of the shards of its original.
fn promote_clone(client: &mut Client, original: &Cluster, clone: &Cluster) {
    eventually("the clone streams", || {
        let standbys = "SELECT count(*) FROM pg_stat_replication WHERE state = 'streaming'";
        original.bigint(standbys) == 1
    });
    let (clone, original) = (host(clone), host(original));
    let add = format!("SELECT citus_add_clone_node('{clone}', 5432, '{original}', 5432)::bigint");
    let number = bigint(client, &add);
    client.run(&format!("SELECT citus_promote_clone_and_rebalance({number})"));
}

/// A clone of a node runs beside its original. With a worker ID of its own, set before it is
/// promoted, all IDs are distinct. With that of its original, they are not.
#[test]
fn a_clone_needs_an_identity_of_its_own() {
    let Some(citus) = citus() else { return };
    let mut client = citus.lines_and_notes();
    insert_lines(&mut client, 50_000);
    assert_eq!(duplicates(&mut client), 0);
    let good = clone_of(&citus.nodes[0], &[("snowflake.worker_id", "4")]);
    promote_clone(&mut client, &citus.nodes[0], &good);
    (0..5).for_each(|_| assert_eq!(duplicates(&mut client), 0));
    assert_eq!(workers(&mut client, "notes"), [2, 3, 4]);
    good.assert_logged("snowflake IDs continue after a change: ");
    let bad = clone_of(&citus.nodes[1], &[]);
    promote_clone(&mut client, &citus.nodes[1], &bad);
    eventually("two rows have one ID", || duplicates(&mut client) > 0);
}

/// An integer column, which changes its type by hand, and a bigserial, by the statements that are
/// printed for it, are converted on all nodes.
#[test]
fn distributed_columns_are_converted() {
    let Some(citus) = citus() else { return };
    let mut client = citus.coordinator.connect();
    for (table, id) in [("plain", "integer"), ("counted", "bigserial")] {
        let create = format!(
            "CREATE TABLE {table} (tenant_id bigint, id {id}, PRIMARY KEY (tenant_id, id));
             SELECT create_distributed_table('{table}', 'tenant_id', shard_count => 4);
             INSERT INTO {table} (tenant_id, id) SELECT n, n FROM generate_series(1, 50) AS n"
        );
        client.run(&create);
        let statements = match id {
            "integer" => vec![format!(
                "ALTER TABLE {table} ALTER id TYPE bigint, ALTER id SET DEFAULT snowflake_nextval()"
            )],
            _ => {
                let print = format!("SELECT snowflake_conversion('{{{table}}}')");
                let script = values::<String>(&mut client, &print);
                [vec!["BEGIN".to_owned()], script, vec!["COMMIT".to_owned()]].concat()
            }
        };
        // One by one, as psql does: Citus sends the text that it gets on to the nodes.
        statements.iter().for_each(|statement| client.run(statement));
        for node in citus.all() {
            node.run(&format!("INSERT INTO {table} (tenant_id) VALUES (51), (52)"));
        }
        assert_eq!(workers(&mut client, &format!("{table} WHERE tenant_id > 50")), [1, 2, 3]);
        let old = ids(&mut client, &format!("{table} WHERE tenant_id <= 50"));
        assert_eq!(old, (1..=50).collect::<Vec<i64>>());
    }
}
