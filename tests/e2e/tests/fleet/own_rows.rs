//! A server's own rows that another one sends back. They carry its identity, and nobody is its twin.

use postgres::Client;
use snowflake_e2e::{Cluster, bigint, eventually};

use crate::twins::{rows, server, subscribe, twins};

/// Rows of the server at home, as it makes them now.
const FRESH: &str = "INSERT INTO orders (item) SELECT 'book' FROM generate_series(1, 100)";
/// Rows that it made an hour ago.
const OLD: &str = "INSERT INTO orders
    SELECT snowflake_make(now() - interval '1 hour', 5, 9, n), 'book' FROM generate_series(1, 100) AS n";

/// What replaces the table by one with a partition for each item.
const PARTITIONED: &str = "DROP TABLE orders;
    CREATE TABLE orders (id bigint DEFAULT snowflake_nextval(), item text, PRIMARY KEY (id, item))
        PARTITION BY LIST (item);
    CREATE TABLE orders_book PARTITION OF orders FOR VALUES IN ('book');
    CREATE TABLE orders_film PARTITION OF orders FOR VALUES IN ('film');
    CREATE TRIGGER watch_twins AFTER INSERT OR DELETE ON orders
        FOR EACH ROW EXECUTE FUNCTION snowflake_watch_twins('id', 'refuse');
    ALTER TABLE orders ENABLE REPLICA TRIGGER watch_twins;
    ALTER PUBLICATION orders ADD TABLE orders";
/// The same as one table, whose key has the item, too.
const PLAIN: &str = "ALTER TABLE orders DROP CONSTRAINT orders_pkey, ADD PRIMARY KEY (id, item)";

/// A server whose rows another one has, and this other one, which it follows from then on.
struct Pair {
    home: Cluster,
    other: Cluster,
}

impl Pair {
    /// Both execute statements of their own first. Then the one at home inserts rows.
    fn new(at_home: &str, at_other: &str, insert: &str) -> Pair {
        let [home, other] = [("9", at_home), ("8", at_other)].map(|(worker, statements)| {
            let server = server(worker, "'id', 'refuse'");
            server.connect().batch_execute(statements).expect("its tables");
            server
        });
        subscribe(&other, &home, "from_home", "copy_data = false");
        home.connect().batch_execute(insert).expect("rows");
        let mut client = other.connect();
        eventually("the rows arrive", || rows(&mut client) == 100);
        client.batch_execute("DROP SUBSCRIPTION from_home").expect("no loop");
        subscribe(&home, &other, "from_other", "copy_data = false");
        Pair { home, other }
    }

    /// The other one changes rows, until the condition holds at home for all of them.
    fn change(&self, statements: &[&str], condition: &str) {
        let mut other = self.other.connect();
        for statement in statements {
            other.batch_execute(statement).unwrap_or_else(|error| panic!("{statement}: {error}"));
        }
        let mut home = self.home.connect();
        let changed = format!("SELECT count(*) FROM orders WHERE {condition}");
        eventually("the change arrives", || {
            bigint(&mut home, &changed) == 100 || twins(&mut home) > 0
        });
        self.assert_unnoticed(&mut home);
        assert_eq!(rows(&mut home), 100);
    }

    fn assert_unnoticed(&self, home: &mut Client) {
        assert_eq!(twins(home), 0, "{}", self.home.log());
    }
}

/// An update that moves a row is a deletion and an insertion: on the server that executes it, on
/// the one that it is sent to, or on both.
#[test]
fn rows_that_move_between_partitions_pass() {
    let via_root =
        format!("{PARTITIONED}; ALTER PUBLICATION orders SET (publish_via_partition_root = true)");
    for (at_home, at_other) in [
        (via_root.as_str(), PARTITIONED),
        (&via_root, &via_root),
        (&via_root, PLAIN),
        (PLAIN, &via_root),
    ] {
        let pair = Pair::new(at_home, at_other, FRESH);
        for item in ["film", "book"] {
            let moved = format!("UPDATE orders SET item = '{item}'");
            pair.change(&[&moved], &format!("item = '{item}'"));
        }
    }
}

/// The rows of one transaction, and of two.
#[test]
fn rows_that_are_deleted_and_inserted_again_pass() {
    let pair = Pair::new("", "", FRESH);
    let [save, delete, insert] = [
        "CREATE TABLE saved AS TABLE orders",
        "DELETE FROM orders",
        "INSERT INTO orders SELECT id, 'again' FROM saved",
    ];
    pair.change(&[save, &format!("BEGIN; {delete}; {insert}; COMMIT")], "item = 'again'");
    let insert = "INSERT INTO orders SELECT id, 'once more' FROM saved";
    pair.change(&[delete, insert], "item = 'once more'");
}

/// A large transaction is sent while it goes on, and another process might apply it than those
/// before and after it.
#[test]
fn rows_that_a_large_transaction_deletes_and_a_small_one_inserts_again_pass() {
    let pair = Pair::new("", "", FRESH);
    pair.other.connect().batch_execute("CREATE TABLE saved AS TABLE orders").expect("a table");
    let mut kinds = vec!["off", "on"];
    if pair.home.programs().major() >= 16 {
        kinds.push("parallel");
    }
    for streaming in kinds {
        let set = format!("ALTER SUBSCRIPTION from_other SET (streaming = {streaming})");
        pair.home.connect().batch_execute(&set).expect("an alteration");
        let delete = format!("{LARGE} DELETE FROM orders; COMMIT");
        let insert = format!("INSERT INTO orders SELECT id, '{streaming}' FROM saved");
        pair.change(&[&delete, &insert], &format!("item = '{streaming}'"));
    }
}

/// The beginning of a transaction that is sent while it goes on.
const LARGE: &str = "BEGIN;
    INSERT INTO orders (item) SELECT repeat('x', 100) FROM generate_series(1, 3000);";

/// What one apply worker has deleted, the next one knows.
#[test]
fn rows_that_are_inserted_again_after_a_restart_of_the_worker_pass() {
    let pair = Pair::new("", "", FRESH);
    let save = ["CREATE TABLE saved AS TABLE orders", "DELETE FROM orders"];
    for statement in save {
        pair.other.connect().batch_execute(statement).expect("rows");
    }
    let mut home = pair.home.connect();
    eventually("the rows are deleted", || rows(&mut home) == 0);
    let worker = |client: &mut Client| {
        bigint(client, "SELECT coalesce(max(pid), 0)::bigint FROM pg_stat_subscription")
    };
    let first = worker(&mut home);
    let end = format!("SELECT pg_terminate_backend({first})");
    home.batch_execute(&end).expect("a superuser");
    eventually("another worker", || ![0, first].contains(&worker(&mut home)));
    pair.change(&["INSERT INTO orders SELECT id, 'again' FROM saved"], "item = 'again'");
}

/// More rows than the server keeps the IDs of. Those of the oldest are dropped, and none of them is
/// taken for a twin's; a twin's rows are newer.
#[test]
fn rows_beyond_what_is_kept_pass_and_a_twin_is_noticed() {
    const ROWS: i64 = 100_000;
    let insert = format!("INSERT INTO orders (item) SELECT 'x' FROM generate_series(1, {ROWS})");
    let [home, other] = [("9", "'id'"), ("8", "'id'")].map(|(worker, how)| server(worker, how));
    subscribe(&other, &home, "from_home", "copy_data = false");
    home.connect().batch_execute(&insert).expect("rows");
    let (mut at_home, mut at_other) = (home.connect(), other.connect());
    eventually("the rows arrive", || rows(&mut at_other) == ROWS);
    at_other.batch_execute("DROP SUBSCRIPTION from_home").expect("no loop");
    subscribe(&home, &other, "from_other", "copy_data = false");
    for statement in ["CREATE TABLE saved AS TABLE orders", "DELETE FROM orders"] {
        at_other.batch_execute(statement).expect("rows");
    }
    eventually("the rows are deleted", || rows(&mut at_home) == 0);
    at_other.batch_execute("INSERT INTO orders TABLE saved").expect("rows");
    eventually("the rows are back", || rows(&mut at_home) == ROWS);
    assert_eq!(twins(&mut at_home), 0, "{}", home.log());
    let twins_row = "INSERT INTO orders VALUES (snowflake_make(clock_timestamp(), 5, 9, 0))";
    at_other.batch_execute(twins_row).expect("a twin's row");
    eventually("the twin is noticed", || twins(&mut at_home) == 1);
}

#[test]
fn old_rows_of_a_table_that_is_restored_pass() {
    let pair = Pair::new("", "", OLD);
    let restore = [
        "CREATE TABLE saved AS TABLE orders",
        "TRUNCATE orders",
        "INSERT INTO orders SELECT id, 'restored' FROM saved",
    ];
    pair.change(&restore, "item = 'restored'");
}

/// An update after which a row passes the filter of a publication is sent as an insertion.
#[test]
fn old_rows_that_come_through_a_filter_pass() {
    let filtered = "ALTER TABLE orders REPLICA IDENTITY FULL;
        ALTER PUBLICATION orders SET TABLE orders WHERE (item = 'film')";
    let pair = Pair::new("", filtered, OLD);
    pair.home.connect().batch_execute("DELETE FROM orders").expect("no rows");
    pair.change(&["UPDATE orders SET item = 'film'"], "item = 'film'");
}
