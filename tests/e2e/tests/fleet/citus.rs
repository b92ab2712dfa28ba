//! Citus: a coordinator, which is worker 1 of the IDs, and two nodes with the shards, which are
//! workers 2 and 3. The tests are skipped where the server has no Citus.

use std::sync::atomic::AtomicBool;
use std::thread;

use postgres::Client;
use snowflake_e2e::{
    Cluster, ClusterBuilder, Journal, Means, StopOnDrop, assert_distinct, bigint, bigints,
    eventually, explain, lacks,
};

const STATEMENTS: usize = 50;
const ROWS: usize = 50;
const INSERT: &str = "INSERT INTO orders (item) SELECT 'item' FROM generate_series(1, 50)";

struct Citus {
    coordinator: Cluster,
    nodes: Vec<Cluster>,
}

/// The servers, with shards on the nodes only; `None` without Citus.
fn citus(workers: [u32; 2]) -> Option<Citus> {
    if lacks(&[Means::Library("citus")]) {
        return None;
    }
    let coordinator = start(node(1));
    let mut client = coordinator.connect();
    let host = host(&coordinator);
    let register = format!("SELECT citus_set_coordinator_host('{host}', 5432)");
    client.batch_execute(&register).expect("a coordinator");
    let mut citus = Citus { coordinator, nodes: Vec::new() };
    // Citus creates the extension on each node that is added.
    client.batch_execute("CREATE EXTENSION snowflake").expect("the extension is installed");
    workers.into_iter().for_each(|worker| citus.add(start(node(worker))));
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
    node.connect().batch_execute("CREATE EXTENSION citus").expect("citus is installed");
    node
}

impl Citus {
    fn add(&mut self, node: Cluster) {
        let add = format!("SELECT citus_add_node('{}', 5432)", host(&node));
        self.connect().batch_execute(&add).expect("a node");
        self.nodes.push(node);
    }

    /// A session with the coordinator.
    fn connect(&self) -> Client {
        self.coordinator.connect()
    }

    /// The coordinator and the nodes.
    fn all(&self) -> impl Iterator<Item = &Cluster> {
        std::iter::once(&self.coordinator).chain(&self.nodes)
    }

    /// Orders that are distributed by ID.
    fn orders(&self) -> Client {
        let mut client = self.connect();
        client
            .batch_execute(
                "CREATE TABLE orders (id bigint PRIMARY KEY DEFAULT snowflake_nextval(),
                                      item text);
                 SELECT create_distributed_table('orders', 'id', shard_count => 4)",
            )
            .expect("a table");
        client
    }

    /// Lines and notes that are distributed by tenant, and on the same node for each tenant.
    fn lines_and_notes(&self) -> Client {
        let mut client = self.connect();
        for table in ["lines", "notes"] {
            client
                .batch_execute(&format!(
                    "CREATE TABLE {table} (
                         tenant_id bigint, id bigint DEFAULT snowflake_nextval(), item text,
                         PRIMARY KEY (tenant_id, id)
                     );
                     SELECT create_distributed_table('{table}', 'tenant_id', shard_count => 4)"
                ))
                .expect("a table");
        }
        client
    }
}

/// The workers whose IDs a table has, in order.
fn workers(client: &mut Client, table: &str) -> Vec<i64> {
    let query =
        format!("SELECT DISTINCT snowflake_worker_id(id)::bigint AS w FROM {table} ORDER BY w");
    bigints(client, &query)
}

fn ids(client: &mut Client, table: &str) -> Vec<i64> {
    bigints(client, &format!("SELECT id FROM {table} ORDER BY id"))
}

/// `CREATE EXTENSION` at the coordinator is enough, and a query there compares the identities of
/// all nodes.
#[test]
fn the_coordinator_creates_the_extension_and_checks_all_nodes() {
    let Some(citus) = citus([2, 3]) else { return };
    let mut client = citus.connect();
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
    let Some(citus) = citus([2, 3]) else { return };
    let mut client = citus.orders();
    for (node, worker) in citus.all().zip(1_i64..) {
        let mut client = node.connect();
        client.batch_execute("TRUNCATE orders").expect("no rows");
        client.batch_execute(INSERT).expect("rows");
        client.batch_execute("COPY orders (item) FROM PROGRAM 'seq 50'").expect("rows");
        let one = bigint(&mut client, "INSERT INTO orders (item) VALUES ('x') RETURNING id");
        let found = format!("SELECT count(*) FROM orders WHERE id = {one}");
        assert_eq!(bigint(&mut client, &found), 1);
        assert_eq!(workers(&mut client, "orders"), [worker]);
    }
    client.batch_execute("TRUNCATE orders").expect("no rows");
    thread::scope(|scope| {
        for node in citus.all() {
            scope.spawn(|| {
                let mut client = node.connect();
                (0..STATEMENTS).for_each(|_| client.batch_execute(INSERT).expect("rows"));
            });
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
    let Some(citus) = citus([2, 3]) else { return };
    let mut client = citus.connect();
    client
        .batch_execute(
            "CREATE TABLE orders (id bigint PRIMARY KEY DEFAULT snowflake_nextval(), item text);
             SELECT create_reference_table('orders')",
        )
        .expect("a table");
    for node in citus.all() {
        node.connect().batch_execute(INSERT).expect("rows");
    }
    client.batch_execute("INSERT INTO orders (item) SELECT item FROM orders").expect("rows");
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
    let Some(citus) = citus([2, 3]) else { return };
    let mut client = citus.lines_and_notes();
    client
        .batch_execute("INSERT INTO lines (tenant_id) SELECT generate_series(1, 10000)")
        .expect("rows");
    assert_eq!(workers(&mut client, "lines"), [1]);
    let insert = "INSERT INTO notes (tenant_id) SELECT tenant_id FROM lines";
    let plan = explain(&mut client, insert);
    assert!(plan.contains("INSERT/SELECT method: repartition"), "{plan}");
    assert!(plan.contains("Query: SELECT tenant_id, public.snowflake_nextval() AS id"), "{plan}");
    client.batch_execute(insert).expect("rows");
    assert_eq!(workers(&mut client, "notes"), [2, 3]);
    // Into orders, the rows move to other nodes.
    let mut client = citus.orders();
    client.batch_execute("INSERT INTO orders (item) SELECT item FROM lines").expect("rows");
    assert_eq!(workers(&mut client, "orders"), [2, 3]);
    let mut all = ["lines", "notes", "orders"].map(|table| ids(&mut client, table)).concat();
    let without_rows = bigints(&mut client, "SELECT snowflake_nextval() FROM lines");
    let decode = format!("SELECT snowflake_worker_id({})::bigint", without_rows[0]);
    assert!(bigint(&mut client, &decode) > 1);
    all.extend(without_rows);
    assert_eq!(all.len(), 40000);
    assert_distinct(all);
}

/// Times become IDs, which each shard looks up in its index. The nodes have the extension, so they
/// decode and compare with `now()` as well.
#[test]
fn times_are_sent_to_the_shards_as_ids() {
    let Some(citus) = citus([2, 3]) else { return };
    let mut client = citus.orders();
    client.batch_execute(INSERT).expect("rows");
    let sent = |client: &mut Client, query: &str, condition: &str| {
        let plan = explain(client, query);
        let task = plan.lines().find(|line| line.contains("Query:")).expect("a task");
        assert!(task.contains(condition), "{plan}");
    };
    sent(
        &mut client,
        "SELECT * FROM orders WHERE snowflake_within(id, '2026-01-01+00', '2027-01-01+00')",
        "WHERE ((id OPERATOR(pg_catalog.>=) '2006515713438646272'::bigint) AND \
         (id OPERATOR(pg_catalog.<=) '2138787284382646271'::bigint))",
    );
    sent(
        &mut client,
        "SELECT * FROM orders WHERE snowflake_within(id, now() - interval '1 hour', 'infinity')",
        "WHERE ((id OPERATOR(pg_catalog.>=) snowflake_internal.snowflake_within_min((now() ",
    );
    let by_worker = "SELECT snowflake_worker_id(id), count(*) FROM orders GROUP BY 1";
    sent(&mut client, by_worker, "GROUP BY (public.snowflake_worker_id(id))");
}

/// Moving shards leaves the IDs of their rows alone, and inserts go on.
#[test]
fn moving_shards_leaves_ids_alone() {
    let Some(mut citus) = citus([2, 3]) else { return };
    let mut client = citus.orders();
    (0..20).for_each(|_| client.batch_execute(INSERT).expect("rows"));
    let before = ids(&mut client, "orders");
    citus.add(start(node(4)));
    let journals = [(); 4].map(|()| Journal::new());
    let stop = AtomicBool::new(false);
    thread::scope(|scope| {
        let _stop = StopOnDrop(&stop);
        let insert = "INSERT INTO orders (item) VALUES ('meanwhile') RETURNING id";
        for (journal, node) in journals.iter().zip(citus.all()) {
            journal.client(scope, node, insert, &stop);
        }
        for mode in ["block_writes", "force_logical"] {
            let shards = shards_of(&citus.nodes[2], &mut client);
            move_one_shard(&citus, &mut client, mode);
            assert_eq!(shards_of(&citus.nodes[2], &mut client), shards + 1);
            journals.iter().for_each(|journal| journal.wait_for(20));
        }
        let first = host(&citus.nodes[0]);
        let drain = format!("SELECT citus_drain_node('{first}', 5432, 'block_writes')");
        client.batch_execute(&drain).expect("shards are moved");
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

/// Moves a shard from the first node to the third.
fn move_one_shard(citus: &Citus, client: &mut Client, mode: &str) {
    let [from, to] = [0, 2].map(|node| host(&citus.nodes[node]));
    client
        .batch_execute(&format!(
            "SELECT citus_move_shard_placement(
                 (SELECT min(shardid) FROM citus_shards WHERE nodename = '{from}'),
                 '{from}', 5432, '{to}', 5432, '{mode}')"
        ))
        .expect("a shard is moved");
}

/// The test sees duplicates where there are some: two nodes with one identity give them at once.
/// The coordinator can tell before.
#[test]
fn equal_identities_give_duplicates() {
    let Some(citus) = citus([2, 2]) else { return };
    let mut client = citus.lines_and_notes();
    let equal = "SELECT count(*) FROM (
        SELECT FROM run_command_on_all_nodes(
            $$SELECT datacenter_id || '/' || worker_id FROM snowflake_status$$)
        GROUP BY result HAVING count(*) > 1) AS identities";
    assert_eq!(bigint(&mut client, equal), 1);
    client
        .batch_execute("INSERT INTO lines (tenant_id) SELECT generate_series(1, 50000)")
        .expect("rows");
    eventually("two rows have one ID", || duplicates(&mut client) > 0);
}

/// How many IDs of notes are duplicates, after another note on each line. No constraint is
/// violated: the key of a row has the tenant, too.
fn duplicates(client: &mut Client) -> i64 {
    client
        .batch_execute("INSERT INTO notes (tenant_id) SELECT tenant_id FROM lines")
        .expect("rows");
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
        bigint(&mut original.connect(), standbys) == 1
    });
    let (clone, original) = (host(clone), host(original));
    let add = format!("SELECT citus_add_clone_node('{clone}', 5432, '{original}', 5432)::bigint");
    let number = bigint(client, &add);
    client
        .batch_execute(&format!("SELECT citus_promote_clone_and_rebalance({number})"))
        .expect("a promotion");
}

/// A clone of a node runs beside its original. With a worker ID of its own, set before it is
/// promoted, all IDs are distinct. With that of its original, they are not.
#[test]
fn a_clone_needs_an_identity_of_its_own() {
    let Some(citus) = citus([2, 3]) else { return };
    let mut client = citus.lines_and_notes();
    client
        .batch_execute("INSERT INTO lines (tenant_id) SELECT generate_series(1, 50000)")
        .expect("rows");
    assert_eq!(duplicates(&mut client), 0);
    let good = clone_of(&citus.nodes[0], &[("snowflake.worker_id", "4")]);
    promote_clone(&mut client, &citus.nodes[0], &good);
    (0..5).for_each(|_| assert_eq!(duplicates(&mut client), 0));
    assert_eq!(workers(&mut client, "notes"), [2, 3, 4]);
    let log = good.log();
    assert!(log.contains("snowflake IDs continue after a change: "), "{log}");
    let bad = clone_of(&citus.nodes[1], &[]);
    promote_clone(&mut client, &citus.nodes[1], &bad);
    eventually("two rows have one ID", || duplicates(&mut client) > 0);
}

/// An integer column without a sequence, which changes its type, and one that is bigint already are
/// converted on all nodes.
#[test]
fn distributed_columns_are_converted() {
    let Some(citus) = citus([2, 3]) else { return };
    let mut client = citus.connect();
    for (table, id) in [("plain", "integer"), ("counted", "bigserial")] {
        client
            .batch_execute(&format!(
                "CREATE TABLE {table} (tenant_id bigint, id {id}, PRIMARY KEY (tenant_id, id));
                 SELECT create_distributed_table('{table}', 'tenant_id', shard_count => 4);
                 INSERT INTO {table} (tenant_id, id) SELECT n, n FROM generate_series(1, 50) AS n"
            ))
            .expect("a table");
    }
    for table in ["plain", "counted"] {
        client
            .batch_execute(&format!("SELECT snowflake_convert('{table}', 'id', dry_run => false)"))
            .expect("a conversion");
    }
    for table in ["plain", "counted"] {
        for node in citus.all() {
            node.connect()
                .batch_execute(&format!("INSERT INTO {table} (tenant_id) VALUES (51), (52)"))
                .expect("rows");
        }
        assert_eq!(workers(&mut client, &format!("{table} WHERE tenant_id > 50")), [1, 2, 3]);
        let old = ids(&mut client, &format!("{table} WHERE tenant_id <= 50"));
        assert_eq!(old, (1..=50).collect::<Vec<i64>>());
    }
}
