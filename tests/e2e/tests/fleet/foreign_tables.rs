//! Shards behind foreign tables of postgres_fdw: a parent server, and two servers that hold the
//! rows. The parent is worker 1, the shards are workers 2 and 3.

use std::thread;

use postgres::Client;
use postgres::error::SqlState;
use snowflake_e2e::{Cluster, Means, assert_distinct, bigint, bigints, error_of, explain, lacks};

const ORDERS: &str = "CREATE TABLE orders (id bigint PRIMARY KEY DEFAULT snowflake_nextval(),
                                           item text)";
const STATEMENTS: usize = 100;
const ROWS: usize = 50;
const INSERT: &str = "INSERT INTO orders (item) SELECT 'item' FROM generate_series(1, 50)";

struct Fleet {
    parent: Cluster,
    shards: [Cluster; 2],
}

/// The three servers; `None` where postgres_fdw is not installed. The parent knows the shards as
/// `shard2` and `shard3`, after their workers.
fn fleet() -> Option<Fleet> {
    if lacks(&[Means::Extension("postgres_fdw")]) {
        return None;
    }
    let fleet = Fleet { parent: worker(1), shards: [worker(2), worker(3)] };
    let mut parent = fleet.parent.connect();
    parent.batch_execute("CREATE EXTENSION postgres_fdw").expect("postgres_fdw is installed");
    for (number, shard) in (2..).zip(&fleet.shards) {
        parent
            .batch_execute(&format!(
                "CREATE SERVER shard{number} FOREIGN DATA WRAPPER postgres_fdw
                     OPTIONS (host '{}', port '5432', dbname 'postgres');
                 CREATE USER MAPPING FOR CURRENT_USER SERVER shard{number}
                     OPTIONS (user 'postgres')",
                shard.directory().display()
            ))
            .expect("a server");
    }
    Some(fleet)
}

fn worker(id: u32) -> Cluster {
    Cluster::builder().set("snowflake.worker_id", &id.to_string()).start()
}

impl Fleet {
    fn on_shards(&self, statements: &str) {
        for shard in &self.shards {
            shard.connect().batch_execute(statements).expect("the shard accepts it");
        }
    }

    /// The shards have a table of orders each, with a trigger that replaces NULL by what the
    /// expression gives.
    fn take_ids_by_trigger(&self, expression: &str) {
        self.on_shards(ORDERS);
        self.on_shards(&format!(
            "CREATE FUNCTION take_id() RETURNS trigger LANGUAGE plpgsql AS $$
             BEGIN
                 NEW.id := coalesce(NEW.id, {expression});
                 RETURN NEW;
             END $$;
             CREATE TRIGGER take_id BEFORE INSERT ON orders
                 FOR EACH ROW EXECUTE FUNCTION take_id()"
        ));
    }

    /// The shards have a table of orders each, which are partitions of a table of the parent.
    fn partition(&self, by: &str, bounds: [&str; 2]) -> Client {
        self.on_shards(ORDERS);
        let mut parent = self.parent.connect();
        parent
            .batch_execute(&format!(
                "CREATE TABLE orders (id bigint DEFAULT snowflake_nextval(), item text)
                     PARTITION BY {by};
                 CREATE FOREIGN TABLE orders_2 PARTITION OF orders FOR VALUES {}
                     SERVER shard2 OPTIONS (table_name 'orders');
                 CREATE FOREIGN TABLE orders_3 PARTITION OF orders FOR VALUES {}
                     SERVER shard3 OPTIONS (table_name 'orders')",
                bounds[0], bounds[1]
            ))
            .expect("tables");
        parent
    }

    fn partition_by_hash(&self) -> Client {
        let bounds = ["WITH (MODULUS 2, REMAINDER 0)", "WITH (MODULUS 2, REMAINDER 1)"];
        self.partition("HASH (id)", bounds)
    }

    /// Each shard holds the rows whose IDs it made.
    fn partition_by_worker(&self) -> Client {
        self.partition("LIST (snowflake_worker_id(id))", ["IN (2)", "IN (3)"])
    }
}

/// The workers whose IDs a table has, in order.
fn workers(client: &mut Client, table: &str) -> Vec<i64> {
    let query =
        format!("SELECT DISTINCT snowflake_worker_id(id)::bigint AS w FROM {table} ORDER BY w");
    bigints(client, &query)
}

/// The parent evaluates the default of its table, and sends the ID. The row lands on the shard to
/// which the ID belongs, and is found there.
#[test]
fn a_default_of_the_parent_gives_ids_of_the_parent() {
    let Some(fleet) = fleet() else { return };
    let mut parent = fleet.partition_by_hash();
    parent.batch_execute(INSERT).expect("rows");
    parent.batch_execute("COPY orders (item) FROM PROGRAM 'seq 50'").expect("rows");
    let id = bigint(&mut parent, "INSERT INTO orders (item) VALUES ('last') RETURNING id");
    let of_the_partition = "INSERT INTO orders_2 (item) VALUES ('x')
                            RETURNING snowflake_worker_id(id)::bigint";
    assert_eq!(bigint(&mut parent, &format!("SELECT count(*) FROM orders WHERE id = {id}")), 1);
    assert_eq!(workers(&mut parent, "orders"), [1]);
    for shard in &fleet.shards {
        assert_eq!(workers(&mut shard.connect(), "orders"), [1]);
    }
    // The foreign table has the default of the table that it is a partition of. Some IDs are for
    // the other partition.
    let worker = (0..100).find_map(|_| parent.query_one(of_the_partition, &[]).ok());
    assert_eq!(worker.map(|row| row.get::<_, i64>(0)), Some(1));
}

/// Without a default, the parent sends NULL, and the default of the shard does not count.
#[test]
fn without_a_default_the_parent_sends_null() {
    let Some(fleet) = fleet() else { return };
    fleet.on_shards(ORDERS);
    let mut parent = fleet.parent.connect();
    parent
        .batch_execute("CREATE FOREIGN TABLE orders (id bigint, item text) SERVER shard2")
        .expect("a table");
    let insert = "INSERT INTO orders (item) VALUES ('x')";
    let plan = explain(&mut parent, insert);
    assert!(plan.contains("INSERT INTO public.orders(id, item) VALUES ($1, $2)"), "{plan}");
    let error = error_of(parent.execute(insert, &[]));
    assert_eq!(error.code(), &SqlState::NOT_NULL_VIOLATION, "{error}");
}

/// A foreign table that leaves the ID out makes the default of the shard count. It has no ID to
/// return.
#[test]
fn without_the_column_the_default_of_the_shard_counts() {
    let Some(fleet) = fleet() else { return };
    fleet.on_shards(ORDERS);
    let mut parent = fleet.parent.connect();
    parent
        .batch_execute(
            "CREATE FOREIGN TABLE new_orders (item text)
                 SERVER shard2 OPTIONS (table_name 'orders');
             INSERT INTO new_orders SELECT 'x' FROM generate_series(1, 50);
             COPY new_orders FROM PROGRAM 'seq 50'",
        )
        .expect("rows");
    let mut shard = fleet.shards[0].connect();
    assert_eq!(bigint(&mut shard, "SELECT count(*) FROM orders"), 100);
    assert_eq!(workers(&mut shard, "orders"), [2]);
}

/// A trigger of the shard replaces the NULL, and the parent gets the ID back.
#[test]
fn a_trigger_of_the_shard_gives_ids_of_the_shard() {
    let Some(fleet) = fleet() else { return };
    fleet.take_ids_by_trigger("public.snowflake_nextval()");
    let mut parent = fleet.parent.connect();
    parent
        .batch_execute(
            "CREATE FOREIGN TABLE orders (id bigint, item text)
                 SERVER shard2 OPTIONS (batch_size '20')",
        )
        .expect("a table");
    parent.batch_execute(INSERT).expect("rows");
    parent.batch_execute("COPY orders (item) FROM PROGRAM 'seq 50'").expect("rows");
    let id = bigint(&mut parent, "INSERT INTO orders (item) VALUES ('last') RETURNING id");
    assert_eq!(bigint(&mut parent, "SELECT max(id) FROM orders"), id);
    assert_eq!(bigint(&mut parent, "SELECT count(*) FROM orders"), 101);
    assert_eq!(workers(&mut parent, "orders"), [2]);
}

/// postgres_fdw sets the search_path of its sessions to pg_catalog. A default is bound to its
/// function, the body of a trigger is not.
#[test]
fn a_trigger_of_the_shard_has_to_name_the_schema() {
    let Some(fleet) = fleet() else { return };
    fleet.take_ids_by_trigger("snowflake_nextval()");
    fleet.on_shards("INSERT INTO orders (id, item) VALUES (NULL, 'at the shard')");
    let mut parent = fleet.parent.connect();
    parent
        .batch_execute("CREATE FOREIGN TABLE orders (id bigint, item text) SERVER shard2")
        .expect("a table");
    let insert = "INSERT INTO orders (item) VALUES ('x')";
    let error = error_of(parent.execute(insert, &[]));
    assert_eq!(error.code(), &SqlState::UNDEFINED_FUNCTION, "{error}");
    fleet.on_shards("ALTER FUNCTION take_id() SET search_path = public");
    parent.execute(insert, &[]).expect("a row");
    assert_eq!(workers(&mut parent, "orders"), [2]);
}

#[track_caller]
fn assert_sent(client: &mut Client, query: &str, condition: &str) {
    let plan = explain(client, query);
    let sent = plan.lines().filter(|line| line.contains("Remote SQL"));
    let sent: Vec<_> = sent.collect();
    assert_eq!(sent.len(), 2, "{plan}");
    assert!(sent.iter().all(|sql| sql.contains(condition)), "{condition} is not in\n{plan}");
    assert!(!plan.contains("Filter:"), "{plan}");
}

/// The parent fetches all rows and looks at them itself.
#[track_caller]
fn assert_not_sent(client: &mut Client, query: &str) {
    let plan = explain(client, query);
    assert!(!plan.contains("WHERE") && plan.contains("Filter:"), "{plan}");
}

const LAST_HOUR: &str =
    "SELECT item FROM orders WHERE snowflake_within(id, now() - interval '1 hour', 'infinity')";
const LAST_HOUR_ONCE: &str = "SELECT item FROM orders
    WHERE id >= (SELECT snowflake_min(now() - interval '1 hour'))";
const ONE_WORKER: &str = "SELECT item FROM orders WHERE snowflake_worker_id(id) = 1";
const PREPARED: &str = "EXECUTE orders_within('2026-01-01+00', '2027-01-01+00')";

/// The shards get comparisons with constants. `now()` is no constant: a subquery makes it one.
#[test]
fn times_are_sent_as_ids() {
    let Some(fleet) = fleet() else { return };
    let mut parent = fleet.partition_by_hash();
    parent.batch_execute(INSERT).expect("rows");
    parent
        .batch_execute(
            "PREPARE orders_within(timestamptz, timestamptz) AS
             SELECT item FROM orders WHERE snowflake_within(id, $1, $2)",
        )
        .expect("a statement");
    let year = "SELECT item FROM orders
                WHERE snowflake_within(id, '2026-01-01+00', '2027-01-01+00')";
    let ids = "WHERE ((id >= 2006515713438646272::bigint)) AND \
               ((id <= 2138787284382646271::bigint))";
    assert_sent(&mut parent, year, ids);
    assert_sent(&mut parent, PREPARED, ids);
    assert_sent(&mut parent, LAST_HOUR_ONCE, "WHERE ((id >= $1::bigint))");
    assert_eq!(parent.query(LAST_HOUR_ONCE, &[]).expect("rows").len(), ROWS);
    assert_not_sent(&mut parent, LAST_HOUR);
    parent.batch_execute("SET plan_cache_mode = force_generic_plan").expect("a setting");
    assert_not_sent(&mut parent, PREPARED);
}

/// With the server option `extensions`, functions of the extension run on the shards, too.
#[test]
fn functions_are_sent_to_shards_that_have_the_extension() {
    let Some(fleet) = fleet() else { return };
    let mut parent = fleet.partition_by_hash();
    parent.batch_execute(INSERT).expect("rows");
    assert_not_sent(&mut parent, ONE_WORKER);
    parent
        .batch_execute(
            "ALTER SERVER shard2 OPTIONS (ADD extensions 'snowflake');
             ALTER SERVER shard3 OPTIONS (ADD extensions 'snowflake');
             PREPARE orders_within(timestamptz, timestamptz) AS
             SELECT item FROM orders WHERE snowflake_within(id, $1, $2);
             SET plan_cache_mode = force_generic_plan",
        )
        .expect("settings");
    assert_sent(&mut parent, ONE_WORKER, "public.snowflake_worker_id(id) = 1");
    assert_eq!(parent.query(ONE_WORKER, &[]).expect("rows").len(), ROWS);
    let condition = "id >= snowflake_internal.snowflake_within_min($1::timestamp with time zone)";
    assert_sent(&mut parent, PREPARED, condition);
    // now() is not of the extension, and each server has its own.
    assert_not_sent(&mut parent, LAST_HOUR);
    // An ID is never made on behalf of another server.
    assert_not_sent(&mut parent, "SELECT item FROM orders WHERE id < snowflake_nextval()");
}

/// A query asks only the shards that can have rows of the time.
#[test]
fn shards_by_time_are_pruned() {
    let Some(fleet) = fleet() else { return };
    let mut parent = fleet.parent.connect();
    let bounds = ["2025-01-01+00", "2026-01-01+00", "2080-01-01+00"]
        .map(|time| bigint(&mut parent, &format!("SELECT snowflake_min('{time}')")));
    let [past, now] = [0, 1].map(|n| format!("FROM ({}) TO ({})", bounds[n], bounds[n + 1]));
    let mut parent = fleet.partition("RANGE (id)", [&past, &now]);
    parent.batch_execute(INSERT).expect("rows");
    parent
        .batch_execute(
            "INSERT INTO orders VALUES (snowflake_make('2025-05-01+00', 0, 0, 0), 'old')",
        )
        .expect("a row");
    let past = "SELECT item FROM orders
                WHERE snowflake_within(id, '2025-01-01+00', '2025-06-01+00')";
    let plan = explain(&mut parent, past);
    assert!(plan.contains("orders_2") && !plan.contains("orders_3"), "{plan}");
    assert_eq!(parent.query(past, &[]).expect("rows").len(), 1);
    // now() is known when the query starts.
    let plan = explain(&mut parent, LAST_HOUR);
    assert!(plan.contains("Subplans Removed: 1") && !plan.contains("orders_2"), "{plan}");
    assert_eq!(parent.query(LAST_HOUR, &[]).expect("rows").len(), ROWS);
}

/// Rows come in through the parent and at both shards at the same time.
fn insert_everywhere(fleet: &Fleet, servers: &[&Cluster]) {
    thread::scope(|scope| {
        for server in servers {
            scope.spawn(|| {
                let mut client = server.connect();
                (0..STATEMENTS).for_each(|_| client.batch_execute(INSERT).expect("rows"));
            });
        }
    });
    let mut parent = fleet.parent.connect();
    let ids = bigints(&mut parent, "SELECT id FROM orders");
    assert_eq!(ids.len(), servers.len() * STATEMENTS * ROWS);
    assert_distinct(ids);
}

/// How many IDs of the shards the parent does not find when it is asked for one at a time.
fn not_found(fleet: &Fleet, condition: &str) -> usize {
    let mut parent = fleet.parent.connect();
    let query = format!("SELECT id FROM orders WHERE id = $1 AND {condition}");
    let query = parent.prepare(&query).expect("a query");
    fleet
        .shards
        .iter()
        .map(|shard| {
            let ids = bigints(&mut shard.connect(), "SELECT id FROM orders LIMIT 100");
            ids.iter().filter(|id| parent.query(&query, &[*id]).expect("rows").is_empty()).count()
        })
        .sum()
}

/// The IDs are distinct. But a shard does not know which hashes belong to it: the parent looks for
/// some of its rows at the other one.
#[test]
fn rows_inserted_at_the_shards_are_lost_to_a_parent_that_hashes() {
    let Some(fleet) = fleet() else { return };
    fleet.partition_by_hash();
    let [one, other] = &fleet.shards;
    insert_everywhere(&fleet, &[&fleet.parent, one, other]);
    assert_eq!(workers(&mut fleet.parent.connect(), "orders"), [1, 2, 3]);
    assert!(not_found(&fleet, "true") > 0);
}

/// Partitioned by the worker in the ID, each shard holds the IDs that it made. The parent has a
/// partition of its own.
#[test]
fn a_parent_that_partitions_by_worker_finds_the_rows_of_its_shards() {
    let Some(fleet) = fleet() else { return };
    let mut parent = fleet.partition_by_worker();
    parent
        .batch_execute("CREATE TABLE orders_1 PARTITION OF orders FOR VALUES IN (1)")
        .expect("a table");
    let [one, other] = &fleet.shards;
    insert_everywhere(&fleet, &[&fleet.parent, one, other]);
    for (table, worker) in [("orders_1", 1), ("orders_2", 2), ("orders_3", 3)] {
        assert_eq!(workers(&mut parent, table), [worker]);
    }
    let condition = "snowflake_worker_id(id) = snowflake_worker_id($1)";
    assert_eq!(not_found(&fleet, condition), 0);
    let id = bigint(&mut parent, "SELECT max(id) FROM orders_3");
    let plan = explain(
        &mut parent,
        &format!(
            "SELECT item FROM orders
             WHERE id = {id} AND snowflake_worker_id(id) = snowflake_worker_id({id})"
        ),
    );
    assert!(plan.contains("orders_3") && !plan.contains("orders_2"), "{plan}");
}
