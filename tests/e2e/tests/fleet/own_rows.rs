//! A server's own rows that another one sends back. They carry its identity, and nobody is its
//! twin.

use postgres::Client;
use snowflake_e2e::{Cluster, Run, bigint, eventually};

use crate::twins::{partitioned, rows, server, subscribe, twins, wait_for_rows};

/// Rows of the server at home, as it makes them now.
const FRESH: &str = "INSERT INTO orders (item) SELECT 'book' FROM generate_series(1, 100)";
/// Rows that it made an hour ago.
const OLD: &str = "INSERT INTO orders
    SELECT snowflake_make(now() - interval '1 hour', 5, 9, n), 'book' FROM generate_series(1, 100) AS n";

const SAVE: &str = "CREATE TABLE saved AS TABLE orders";
const DELETE: &str = "DELETE FROM orders";

/// A server whose rows another one has, and this other one, which it follows from then on.
struct Pair {
    home: Cluster,
    other: Cluster,
    rows: i64,
}

impl Pair {
    /// Both execute statements of their own first. Then the one at home inserts rows.
    fn new(at_home: &str, at_other: &str, insert: &str) -> Pair {
        Pair::with_rows("'id', 'refuse'", [at_home, at_other], insert, 100)
    }

    fn with_rows(arguments: &str, statements: [&str; 2], insert: &str, rows: i64) -> Pair {
        let [home, other] = ["9", "8"].map(|worker| server(worker, arguments));
        home.run(statements[0]);
        other.run(statements[1]);
        subscribe(&other, &home, "from_home", "copy_data = false");
        home.run(insert);
        wait_for_rows(&mut other.connect(), rows);
        other.run("DROP SUBSCRIPTION from_home");
        subscribe(&home, &other, "from_other", "copy_data = false");
        Pair { home, other, rows }
    }

    /// The other one changes rows, until the condition holds at home for all of them.
    #[track_caller]
    fn change(&self, statements: &[&str], condition: &str) {
        statements.iter().for_each(|statement| self.other.run(statement));
        let mut home = self.home.connect();
        let changed = format!("SELECT count(*) FROM orders WHERE {condition}");
        eventually("the change arrives", || {
            bigint(&mut home, &changed) == self.rows || twins(&mut home) > 0
        });
        assert_eq!(twins(&mut home), 0, "{}", self.home.log());
        assert_eq!(rows(&mut home), self.rows);
    }
}

/// An update that moves a row is a deletion and an insertion: on the server that executes it, on
/// the one that it is sent to, or on both.
#[test]
fn rows_that_move_between_partitions_pass() {
    let partitions = &*partitioned("'id', 'refuse'");
    let via_root =
        format!("{partitions}; ALTER PUBLICATION orders SET (publish_via_partition_root = true)");
    // One table, whose key has the item, too.
    let plain = "ALTER TABLE orders DROP CONSTRAINT orders_pkey, ADD PRIMARY KEY (id, item)";
    for (at_home, at_other) in [
        (via_root.as_str(), partitions),
        (&via_root, &via_root),
        (&via_root, plain),
        (plain, &via_root),
    ] {
        let pair = Pair::new(at_home, at_other, FRESH);
        for item in ["film", "book"] {
            let moved = format!("UPDATE orders SET item = '{item}'");
            pair.change(&[&moved], &format!("item = '{item}'"));
        }
    }
}

/// The rows of one transaction, and of two. What one apply worker has deleted, the next one knows.
#[test]
fn rows_that_are_deleted_and_inserted_again_pass() {
    let pair = Pair::new("", "", FRESH);
    let insert = |item| format!("INSERT INTO orders SELECT id, '{item}' FROM saved");
    let at_once = format!("BEGIN; {DELETE}; {}; COMMIT", insert("again"));
    pair.change(&[SAVE, &at_once], "item = 'again'");
    pair.change(&[DELETE, &insert("once more")], "item = 'once more'");
    pair.other.run(DELETE);
    let mut home = pair.home.connect();
    wait_for_rows(&mut home, 0);
    let worker = |client: &mut Client| {
        bigint(client, "SELECT coalesce(max(pid), 0)::bigint FROM pg_stat_subscription")
    };
    let first = worker(&mut home);
    home.run(&format!("SELECT pg_terminate_backend({first})"));
    eventually("another worker", || ![0, first].contains(&worker(&mut home)));
    pair.change(&[&insert("by the next one")], "item = 'by the next one'");
}

/// A large transaction is sent while it goes on, and another process might apply it than those
/// before and after it.
#[test]
fn rows_that_a_large_transaction_deletes_and_a_small_one_inserts_again_pass() {
    let pair = Pair::new("", "", FRESH);
    pair.other.run(SAVE);
    let mut kinds = vec!["off", "on"];
    if pair.home.programs().major() >= 16 {
        kinds.push("parallel");
    }
    let large = "INSERT INTO orders (item) SELECT repeat('x', 100) FROM generate_series(1, 3000)";
    let delete = format!("BEGIN; {large}; {DELETE}; COMMIT");
    for streaming in kinds {
        let set = format!("ALTER SUBSCRIPTION from_other SET (streaming = {streaming})");
        pair.home.run(&set);
        let insert = format!("INSERT INTO orders SELECT id, '{streaming}' FROM saved");
        pair.change(&[&delete, &insert], &format!("item = '{streaming}'"));
    }
}

/// More rows than the server keeps the IDs of. Those of the oldest are dropped, and none of them is
/// taken for a twin's; a twin's rows are newer.
#[test]
fn rows_beyond_what_is_kept_pass_and_a_twin_is_noticed() {
    let insert = "INSERT INTO orders (item) SELECT 'x' FROM generate_series(1, 100000)";
    let pair = Pair::with_rows("'id'", [""; 2], insert, 100_000);
    pair.other.run(SAVE);
    pair.other.run(DELETE);
    let mut home = pair.home.connect();
    wait_for_rows(&mut home, 0);
    pair.change(&["INSERT INTO orders TABLE saved"], "true");
    pair.other.run("INSERT INTO orders VALUES (snowflake_make(clock_timestamp(), 5, 9, 0))");
    eventually("the twin is noticed", || twins(&mut home) == 1);
}

/// Those of a table that is restored, and those that an update lets pass the filter of a
/// publication, which sends them as insertions.
#[test]
fn old_rows_pass() {
    let pair = Pair::new("", "", OLD);
    let restore = "INSERT INTO orders SELECT id, 'restored' FROM saved";
    pair.change(&[SAVE, "TRUNCATE orders", restore], "item = 'restored'");
    let filtered = "ALTER TABLE orders REPLICA IDENTITY FULL;
        ALTER PUBLICATION orders SET TABLE orders WHERE (item = 'film')";
    let pair = Pair::new("", filtered, OLD);
    pair.home.run(DELETE);
    pair.change(&["UPDATE orders SET item = 'film'"], "item = 'film'");
}
