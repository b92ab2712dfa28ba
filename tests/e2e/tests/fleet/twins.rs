//! Twins: two servers with one identity, that replicate to each other logically.

use std::thread;
use std::time::Duration;

use postgres::Client;
use snowflake_e2e::{
    Cluster, Means, Run, assert_distinct, bigint, bigints, eventually, lacks, publishing,
};

pub const INSERT: &str = "INSERT INTO orders (item) SELECT 'book' FROM generate_series(1, 100)";

/// A server that can publish, and whose table is watched; the trigger is created with `arguments`.
pub fn server(worker_id: &str, arguments: &str) -> Cluster {
    let server = publishing(worker_id)
        .set("max_prepared_transactions", "1")
        .set("logical_decoding_work_mem", "64kB")
        .start();
    let table =
        "CREATE TABLE orders (id bigint PRIMARY KEY DEFAULT snowflake_nextval(), item text);
                 CREATE PUBLICATION orders FOR TABLE orders";
    server.run(&format!("{table}; {}", watch(arguments)));
    server
}

/// The statement that creates the trigger, or replaces it by one with these arguments.
pub fn watch(arguments: &str) -> String {
    format!(
        "CREATE OR REPLACE TRIGGER watch_twins AFTER INSERT OR DELETE ON orders
             FOR EACH ROW EXECUTE FUNCTION snowflake_watch_twins({arguments});
         ALTER TABLE orders ENABLE REPLICA TRIGGER watch_twins"
    )
}

/// The statements that replace the table by one with a partition for each item.
pub fn partitioned(arguments: &str) -> String {
    let tables = "DROP TABLE orders;
        CREATE TABLE orders (id bigint DEFAULT snowflake_nextval(), item text,
            PRIMARY KEY (id, item)) PARTITION BY LIST (item);
        CREATE TABLE orders_book PARTITION OF orders FOR VALUES IN ('book');
        CREATE TABLE orders_film PARTITION OF orders FOR VALUES IN ('film');
        ALTER PUBLICATION orders ADD TABLE orders";
    format!("{tables}; {}", watch(arguments))
}

pub fn subscribe(subscriber: &Cluster, publisher: &Cluster, name: &str, options: &str) {
    let rest = format!("PUBLICATION orders WITH ({options})");
    subscriber.subscribe(publisher, "postgres", name, &rest);
    subscriber.wait_for_the_copy("postgres");
}

pub fn rows(client: &mut Client) -> i64 {
    bigint(client, "SELECT count(*) FROM orders")
}

#[track_caller]
pub fn wait_for_rows(client: &mut Client, count: i64) {
    eventually("the rows arrive", || rows(client) == count);
}

pub fn twins(client: &mut Client) -> i64 {
    bigint(client, "SELECT twins FROM pg_stat_snowflake")
}

/// The entry of the log for each row that it names.
const NOTICED: &str = "LOG:  another server issues snowflake IDs with the identity of this one: \
                       datacenter 5, worker 9\n";

/// All rows of a twin arrive, and are counted, also in partitions. The log names the first one
/// alone. A column list that leaves the IDs out lets the subscriber take its own.
#[test]
fn rows_of_a_twin_are_counted_and_logged() {
    let partitions = partitioned("'id'");
    let without_ids = "ALTER TABLE orders DROP CONSTRAINT orders_pkey;
                       ALTER PUBLICATION orders SET TABLE orders (item)";
    for (at_publisher, at_subscriber, arguments, noticed) in [
        ("", "", "'id'", 100),
        (&partitions, &*partitions, "'id'", 100),
        (without_ids, "", "'id', 'refuse'", 0),
    ] {
        let (publisher, subscriber) = (server("9", "'id'"), server("9", arguments));
        publisher.run(at_publisher);
        subscriber.run(at_subscriber);
        subscribe(&subscriber, &publisher, "from_other", "copy_data = false");
        publisher.run(INSERT);
        let mut client = subscriber.connect();
        wait_for_rows(&mut client, 100);
        assert_eq!(twins(&mut client), noticed, "{at_publisher}");
        let log = subscriber.log();
        assert_eq!(log.matches(NOTICED).count(), usize::from(noticed > 0), "{log}");
        let named = log.contains("came through subscription \"from_other\" with ID ");
        assert_eq!(named, noticed > 0, "{log}");
        // IDs that the subscriber makes itself, or another server has made, do not count.
        client.run(INSERT);
        assert_eq!(twins(&mut client), noticed);
        assert_eq!(twins(&mut publisher.connect()), 0);
    }
}

/// The time between an ID and the commit on the publisher counts, not the time until the row
/// arrives.
#[test]
fn a_twin_is_noticed_however_late_its_rows_arrive() {
    let (publisher, subscriber) = (server("9", "'id'"), server("9", "'id', 'log', '1s'"));
    subscribe(&subscriber, &publisher, "s", "copy_data = false");
    let mut client = subscriber.connect();
    client.run("ALTER SUBSCRIPTION s DISABLE");
    publisher.run(INSERT);
    thread::sleep(Duration::from_millis(1500));
    client.run("ALTER SUBSCRIPTION s ENABLE");
    wait_for_rows(&mut client, 100);
    assert_eq!(twins(&mut client), 100);
}

/// With `disable_on_error`, the subscription stops at the row, instead of trying it again and again
/// while the publisher keeps its WAL. In both cases it goes on, with that row, when the trigger
/// lets the row pass. However the transaction is sent, each of its rows is noticed then: the time
/// of its commit, or that of PREPARE, is known.
#[test]
fn a_refused_row_is_not_lost() {
    let many = "INSERT INTO orders (item) SELECT repeat('x', 100) FROM generate_series(1, 3000)";
    let prepared = format!("BEGIN; {many}; PREPARE TRANSACTION 'p'");
    for disables in [true, false] {
        let (publisher, subscriber) = (server("9", "'id'"), server("9", "'id'"));
        let mut client = subscriber.connect();
        let mut kinds = vec!["streaming = off", "streaming = on", "two_phase = true"];
        if subscriber.programs().major() >= 16 {
            kinds.push("streaming = parallel");
        }
        for kind in kinds {
            let is_prepared = kind == "two_phase = true";
            let reset = "SELECT snowflake_stat_reset()";
            let watch = |action| watch(&format!("'id', '{action}', '1s'"));
            client.run(&format!("{}; TRUNCATE orders; {reset}", watch("refuse")));
            let options = format!("copy_data = false, disable_on_error = {disables}, {kind}");
            subscribe(&subscriber, &publisher, "s", &options);
            let mut sender = publisher.connect();
            sender.run(if is_prepared { &prepared } else { many });
            if disables {
                let enabled = "SELECT count(*) FROM pg_subscription WHERE subenabled";
                eventually("it is disabled", || bigint(&mut client, enabled) == 0);
                assert_eq!(twins(&mut client), 1);
            } else {
                eventually("it is tried again", || twins(&mut client) >= 2);
            }
            assert_eq!(rows(&mut client), 0);
            // While the trigger is replaced, no row is applied, and counted.
            client.run(&format!("{}; {reset}", watch("log")));
            client.run("ALTER SUBSCRIPTION s ENABLE");
            if is_prepared {
                eventually("the transaction is prepared", || twins(&mut client) == 3000);
                sender.run("COMMIT PREPARED 'p'");
            }
            eventually(kind, || rows(&mut client) == 3000);
            assert_eq!(twins(&mut client), 3000, "{kind}");
            client.run("DROP SUBSCRIPTION s");
        }
        let error = "ERROR:  row was issued by another server with the identity of this one: \
                     datacenter 5, worker 9\n";
        subscriber.assert_logged(error);
        subscriber.assert_logged("came through subscription \"s\" with ID ");
    }
}

/// The first copy of a table, and a later one, bring back what the subscriber issued itself.
#[test]
fn copies_of_a_table_pass() {
    let (publisher, subscriber) = (server("8", "'id'"), server("9", "'id', 'refuse'"));
    subscribe(&publisher, &subscriber, "from_9", "copy_data = false");
    subscriber.run(INSERT);
    let (mut copied, mut client) = (publisher.connect(), subscriber.connect());
    wait_for_rows(&mut copied, 100);
    copied.run("DROP SUBSCRIPTION from_9");
    client.run("TRUNCATE orders");
    subscribe(&subscriber, &publisher, "from_8", "copy_data = true");
    assert_eq!((rows(&mut client), twins(&mut client)), (100, 0));
    // Once more, for a table that was taken out of the publication and put back.
    for change in ["DROP", "ADD"] {
        copied.run(&format!("ALTER PUBLICATION orders {change} TABLE orders"));
        client.run("TRUNCATE orders");
        client.run("ALTER SUBSCRIPTION from_8 REFRESH PUBLICATION");
    }
    subscriber.wait_for_the_copy("postgres");
    wait_for_rows(&mut client, 100);
    assert_eq!(twins(&mut client), 0);
    // After the copy, it watches.
    copied.run("INSERT INTO orders VALUES (snowflake_make(now(), 5, 9, 0))");
    eventually("the twin is noticed", || twins(&mut client) > 0);
}

/// Rows that are sent while a table is copied are applied after the copy, by the same worker.
#[test]
fn rows_sent_during_the_copy_are_watched() {
    let (publisher, subscriber) = (server("9", "'id'"), server("9", "'id'"));
    publisher.run(INSERT);
    let mut client = subscriber.connect();
    client.run(
        "CREATE FUNCTION linger() RETURNS trigger LANGUAGE plpgsql AS $$
         BEGIN PERFORM pg_sleep(0.03); RETURN NEW; END $$;
         CREATE TRIGGER linger BEFORE INSERT ON orders FOR EACH ROW EXECUTE FUNCTION linger();
         ALTER TABLE orders ENABLE ALWAYS TRIGGER linger",
    );
    subscriber.subscribe(&publisher, "postgres", "s", "PUBLICATION orders");
    // The state of the subscription says so before the publisher's snapshot is taken.
    let copying = "SELECT count(*) FROM pg_stat_progress_copy WHERE tuples_processed > 0";
    eventually("it is being copied", || bigint(&mut client, copying) == 1);
    publisher.run(INSERT);
    wait_for_rows(&mut client, 200);
    assert_eq!(twins(&mut client), 100);
}

/// Servers that fail over share the identity of the one that they follow. Neither the new publisher
/// nor the new subscriber is taken for a twin.
#[test]
fn a_failover_with_a_shared_identity_makes_no_twin() {
    let (mut publisher, mut subscriber) = (server("8", "'id'"), server("9", "'id', 'refuse'"));
    subscribe(&subscriber, &publisher, "s", "copy_data = false");
    let (new_publisher, new_subscriber) = (publisher.standby(), subscriber.standby());
    publisher.run(INSERT);
    subscriber.run(INSERT);
    for (server, standby, count) in
        [(&publisher, &new_publisher, 100), (&subscriber, &new_subscriber, 200)]
    {
        wait_for_rows(&mut standby.connect(), count);
        assert_eq!(rows(&mut server.connect()), count);
    }
    subscriber.kill();
    new_subscriber.promote();
    let mut client = new_subscriber.connect();
    publisher.run(INSERT);
    wait_for_rows(&mut client, 300);
    publisher.kill();
    new_publisher.promote();
    new_publisher.run("SELECT pg_create_logical_replication_slot('s', 'pgoutput')");
    let connection = new_publisher.connection("postgres");
    let follow = format!("ALTER SUBSCRIPTION s CONNECTION '{connection} user=postgres'");
    client.run(&follow);
    new_publisher.run(INSERT);
    eventually("rows of the new publisher arrive", || rows(&mut client) >= 400);
    client.run(INSERT);
    assert_eq!(twins(&mut client), 0);
    assert_distinct(bigints(&mut client, "SELECT id FROM orders"));
}

/// Two servers that follow each other, with these workers; `None` before PostgreSQL 16, where a
/// subscription would bring a server's own rows back.
pub fn two_that_follow_each_other(workers: [&str; 2]) -> Option<[Cluster; 2]> {
    if lacks(&[Means::PostgreSQL(16)]) {
        return None;
    }
    let servers = workers.map(|worker| server(worker, "'id'"));
    let options = "copy_data = false, origin = none";
    subscribe(&servers[0], &servers[1], "from_1", options);
    subscribe(&servers[1], &servers[0], "from_0", options);
    Some(servers)
}

/// Both insert rows, not in the same millisecond, in which twins would make the same IDs. Each gets
/// the rows of the other one, and notices so many twins.
fn insert_one_after_the_other(clients: &mut [Client], noticed: i64) {
    for client in &mut *clients {
        client.run(INSERT);
        thread::sleep(Duration::from_millis(5));
    }
    for client in clients {
        wait_for_rows(client, 200);
        assert_eq!(twins(client), noticed);
    }
}

/// Those with different identities notice nothing, and twins notice it on both sides.
#[test]
fn twins_that_follow_each_other_are_noticed_on_both_sides() {
    for (workers, noticed) in [(["8", "9"], 0), (["9", "9"], 100)] {
        let Some(servers) = two_that_follow_each_other(workers) else { return };
        insert_one_after_the_other(&mut servers.each_ref().map(Cluster::connect), noticed);
    }
}

/// Without the trigger, nothing tells twins of each other, until both make the same ID.
#[test]
fn without_the_trigger_a_key_collides() {
    for workers in [["8", "9"], ["9", "9"]] {
        let Some(servers) = two_that_follow_each_other(workers) else { return };
        let mut clients = servers.each_ref().map(Cluster::connect);
        for client in &mut clients {
            client.run("DROP TRIGGER watch_twins ON orders");
        }
        insert_one_after_the_other(&mut clients, 0);
        let mut insert_on_both = || {
            let many = "INSERT INTO orders SELECT snowflake_nextval(400000)";
            thread::scope(|scope| {
                for client in &mut clients {
                    scope.spawn(|| client.run(many));
                }
            });
        };
        let has_collided = || servers.iter().any(|server| server.log().contains("orders_pkey"));
        insert_on_both();
        if workers[0] == workers[1] {
            // On a busy machine, the two might have inserted one after the other.
            eventually("a key collides", || {
                let collided = has_collided();
                if !collided {
                    insert_on_both();
                }
                collided
            });
        } else {
            clients.iter_mut().for_each(|client| wait_for_rows(client, 800_200));
            assert!(!has_collided());
        }
    }
}

/// Without `origin = none`, a server gets its own rows back. That ends at the primary key, and is
/// no twin.
#[test]
fn own_rows_that_come_back_are_no_twin() {
    let servers = ["8", "9"].map(|worker| server(worker, "'id'"));
    subscribe(&servers[0], &servers[1], "from_1", "copy_data = false");
    let options = "copy_data = false, disable_on_error = true";
    subscribe(&servers[1], &servers[0], "from_0", options);
    let mut client = servers[1].connect();
    client.run(INSERT);
    let enabled = "SELECT count(*) FROM pg_subscription WHERE subenabled";
    eventually("the rows come back", || bigint(&mut client, enabled) == 0);
    servers[1].assert_logged("\"orders_pkey\"");
    assert_eq!(twins(&mut client), 0);
}
