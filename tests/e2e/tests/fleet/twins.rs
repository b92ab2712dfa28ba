//! Twins: two servers with one identity, that replicate to each other logically.

use std::thread;
use std::time::Duration;

use postgres::Client;
use snowflake_e2e::{Cluster, Means, assert_distinct, bigint, bigints, eventually, lacks};

pub const INSERT: &str = "INSERT INTO orders (item) SELECT 'book' FROM generate_series(1, 100)";

/// A server that can publish, and whose table is watched; the trigger is created with `arguments`.
pub fn server(worker_id: &str, arguments: &str) -> Cluster {
    let server = Cluster::builder()
        .set("wal_level", "logical")
        .set("snowflake.worker_id", worker_id)
        .set("max_worker_processes", "16")
        .set("max_prepared_transactions", "1")
        .set("wal_retrieve_retry_interval", "100ms")
        .set("logical_decoding_work_mem", "64kB")
        .start();
    server
        .connect()
        .batch_execute(&format!(
            "CREATE TABLE orders (id bigint PRIMARY KEY DEFAULT snowflake_nextval(), item text);
             CREATE TRIGGER watch_twins AFTER INSERT OR DELETE ON orders
                 FOR EACH ROW EXECUTE FUNCTION snowflake_watch_twins({arguments});
             ALTER TABLE orders ENABLE REPLICA TRIGGER watch_twins;
             CREATE PUBLICATION orders FOR TABLE orders"
        ))
        .expect("a table");
    server
}

pub fn subscribe(subscriber: &Cluster, publisher: &Cluster, name: &str, options: &str) {
    let rest = format!("PUBLICATION orders WITH ({options})");
    subscriber.subscribe(publisher, "postgres", name, &rest);
    subscriber.wait_for_the_copy("postgres");
}

/// Inserts at the publisher, and waits until the subscriber, which had no rows, has them.
fn send_rows(publisher: &Cluster, subscriber: &Cluster) -> Client {
    publisher.connect().batch_execute(INSERT).expect("rows");
    let mut client = subscriber.connect();
    eventually("the rows arrive", || rows(&mut client) == 100);
    client
}

pub fn rows(client: &mut Client) -> i64 {
    bigint(client, "SELECT count(*) FROM orders")
}

pub fn twins(client: &mut Client) -> i64 {
    bigint(client, "SELECT twins FROM pg_stat_snowflake")
}

/// What the log says for each row that it names.
const NOTICED: &str = "LOG:  another server issues snowflake IDs with the identity of this one: \
                       datacenter 5, worker 9\n";

/// All rows arrive, and are counted. The log names the first one alone.
#[test]
fn rows_of_a_twin_are_counted_and_logged() {
    let (publisher, subscriber) = (server("9", "'id'"), server("9", "'id'"));
    subscribe(&subscriber, &publisher, "from_other", "copy_data = false");
    let mut client = send_rows(&publisher, &subscriber);
    assert_eq!(twins(&mut client), 100);
    let log = subscriber.log();
    assert_eq!(log.matches(NOTICED).count(), 1, "{log}");
    assert!(log.contains("came through subscription \"from_other\" with ID "), "{log}");
    // What the subscriber makes itself, and what another server has made, is none of it.
    client.batch_execute(INSERT).expect("rows");
    assert_eq!(twins(&mut client), 100);
    assert_eq!(twins(&mut publisher.connect()), 0);
}

/// What counts is the time between an ID and the commit on the publisher, not the time until the row
/// arrives.
#[test]
fn a_twin_is_noticed_however_late_its_rows_arrive() {
    for action in ["log", "refuse"] {
        let arguments = format!("'id', '{action}', '1s'");
        let (publisher, subscriber) = (server("9", "'id'"), server("9", &arguments));
        subscribe(&subscriber, &publisher, "s", "copy_data = false");
        let mut client = subscriber.connect();
        client.batch_execute("ALTER SUBSCRIPTION s DISABLE").expect("an alteration");
        publisher.connect().batch_execute(INSERT).expect("rows");
        thread::sleep(Duration::from_millis(1500));
        client.batch_execute("ALTER SUBSCRIPTION s ENABLE").expect("an alteration");
        if action == "log" {
            eventually("the rows arrive", || rows(&mut client) == 100);
            assert_eq!(twins(&mut client), 100);
        } else {
            eventually("the twin is noticed", || twins(&mut client) > 0);
            assert_eq!(rows(&mut client), 0);
        }
    }
}

/// However a transaction is sent, the time of its commit, or that of PREPARE, is known.
#[test]
fn a_twin_is_noticed_in_any_kind_of_transaction() {
    let (publisher, subscriber) = (server("9", "'id'"), server("9", "'id', 'log', '1s'"));
    let mut client = subscriber.connect();
    for (kind, statements) in kinds_of_transactions(&subscriber) {
        client.batch_execute("TRUNCATE orders; SELECT snowflake_stat_reset()").expect("no rows");
        subscribe(&subscriber, &publisher, "s", &format!("copy_data = false, {kind}"));
        let mut sender = publisher.connect();
        sender.batch_execute(&statements).expect("rows");
        if kind == "two_phase = true" {
            eventually("the transaction is prepared", || twins(&mut client) == 3000);
            sender.batch_execute("COMMIT PREPARED 'p'").expect("a commit");
        }
        eventually("the rows arrive", || rows(&mut client) == 3000);
        assert_eq!(twins(&mut client), 3000, "{kind}");
        client.batch_execute("DROP SUBSCRIPTION s").expect("no subscription");
    }
}

/// An ID that was taken long before the commit could be an old one of the subscriber.
#[test]
fn old_ids_of_a_twin_pass() {
    let (publisher, subscriber) = (server("9", "'id'"), server("9", "'id', 'refuse', '10min'"));
    subscribe(&subscriber, &publisher, "s", "copy_data = false");
    let mut client = subscriber.connect();
    let insert = |age| {
        let row = format!("(snowflake_make(now() - interval '{age}', 5, 9, 0))");
        let mut client = publisher.connect();
        client.batch_execute(&format!("INSERT INTO orders VALUES {row}")).expect("a row");
    };
    insert("11 minutes");
    eventually("the row arrives", || rows(&mut client) == 1);
    assert_eq!(twins(&mut client), 0);
    insert("9 minutes");
    eventually("the twin is noticed", || twins(&mut client) > 0);
    assert_eq!(rows(&mut client), 1);
}

/// A program that uses a replication origin need not say when a transaction was committed.
#[test]
fn rows_without_a_time_of_commit_are_judged_by_the_clock() {
    let subscriber = server("9", "'id'");
    let mut client = subscriber.connect();
    client
        .batch_execute(
            "SELECT pg_replication_origin_create('program');
             SELECT pg_replication_origin_session_setup('program');
             SET session_replication_role = replica",
        )
        .expect("an origin");
    let insert = |age: &str| {
        format!("INSERT INTO orders (id) SELECT snowflake_make(now() - interval '{age}', 5, 9, 0)")
    };
    client.batch_execute(&insert("1 hour")).expect("a row");
    assert_eq!(twins(&mut client), 0, "an old row");
    client.batch_execute(&insert("1 second")).expect("a row");
    assert_eq!(twins(&mut client), 1, "a fresh row");
}

#[test]
fn rows_of_another_identity_pass() {
    let (publisher, subscriber) = (server("8", "'id'"), server("9", "'id', 'refuse'"));
    subscribe(&subscriber, &publisher, "from_other", "copy_data = false");
    let mut client = send_rows(&publisher, &subscriber);
    assert_eq!(twins(&mut client), 0);
}

/// Ways in which a publisher sends a transaction, and statements that send 3000 rows so.
fn kinds_of_transactions(subscriber: &Cluster) -> Vec<(&'static str, String)> {
    let many = "INSERT INTO orders (item) SELECT repeat('x', 100) FROM generate_series(1, 3000)";
    let mut kinds = vec![
        ("streaming = off", many.to_owned()),
        ("streaming = on", many.to_owned()),
        ("two_phase = true", format!("BEGIN; {many}; PREPARE TRANSACTION 'p'")),
    ];
    if subscriber.programs().major() >= 16 {
        kinds.push(("streaming = parallel", many.to_owned()));
    }
    kinds
}

/// With `disable_on_error`, the subscription stops at the row, instead of trying it again and again
/// while the publisher keeps its WAL. In both cases it goes on, with that row, when the trigger lets
/// the row pass.
#[test]
fn a_refused_row_is_not_lost() {
    for disables in [true, false] {
        let (publisher, subscriber) = (server("9", "'id'"), server("9", "'id', 'refuse'"));
        let mut client = subscriber.connect();
        for (kind, statements) in kinds_of_transactions(&subscriber) {
            refuse_rows(&mut client, "refuse");
            client.batch_execute("TRUNCATE orders; SELECT snowflake_stat_reset()").expect("none");
            let options = format!("copy_data = false, disable_on_error = {disables}, {kind}");
            subscribe(&subscriber, &publisher, "s", &options);
            let mut sender = publisher.connect();
            sender.batch_execute(&statements).expect("rows");
            if disables {
                eventually("the subscription is disabled", || {
                    let enabled = "SELECT count(*) FROM pg_subscription WHERE subenabled";
                    bigint(&mut client, enabled) == 0
                });
                assert_eq!(twins(&mut client), 1);
            } else {
                eventually("it is tried again", || twins(&mut client) >= 2);
            }
            assert_eq!(rows(&mut client), 0);
            refuse_rows(&mut client, "log");
            client.batch_execute("ALTER SUBSCRIPTION s ENABLE").expect("an alteration");
            if kind == "two_phase = true" {
                sender.batch_execute("COMMIT PREPARED 'p'").expect("a commit");
            }
            eventually(kind, || rows(&mut client) == 3000);
            client.batch_execute("DROP SUBSCRIPTION s").expect("no subscription");
        }
        let log = subscriber.log();
        let error = "ERROR:  row was issued by another server with the identity of this one: \
                     datacenter 5, worker 9\n";
        assert!(log.contains(error), "{log}");
        assert!(log.contains("came through subscription \"s\" with ID "), "{log}");
    }
}

/// Creates the trigger anew, with `refuse` or `log`.
pub fn refuse_rows(client: &mut Client, action: &str) {
    client
        .batch_execute(&format!(
            "CREATE OR REPLACE TRIGGER watch_twins AFTER INSERT OR DELETE ON orders
                 FOR EACH ROW EXECUTE FUNCTION snowflake_watch_twins('id', '{action}');
             ALTER TABLE orders ENABLE REPLICA TRIGGER watch_twins"
        ))
        .expect("a trigger");
}

/// The first copy of a table, and a later one, bring back what the subscriber issued itself.
#[test]
fn copies_of_a_table_pass() {
    let (publisher, subscriber) = (server("8", "'id'"), server("9", "'id', 'refuse'"));
    subscribe(&publisher, &subscriber, "from_9", "copy_data = false");
    subscriber.connect().batch_execute(INSERT).expect("rows");
    let mut copied = publisher.connect();
    eventually("the rows arrive", || rows(&mut copied) == 100);
    copied.batch_execute("DROP SUBSCRIPTION from_9").expect("no loop");
    let mut client = subscriber.connect();
    client.batch_execute("TRUNCATE orders").expect("an empty table");
    subscribe(&subscriber, &publisher, "from_8", "copy_data = true");
    assert_eq!((rows(&mut client), twins(&mut client)), (100, 0));
    // Once more, for a table that was taken out of the publication and put back.
    copied.batch_execute("ALTER PUBLICATION orders DROP TABLE orders").expect("an alteration");
    client.batch_execute("ALTER SUBSCRIPTION from_8 REFRESH PUBLICATION").expect("a refresh");
    client.batch_execute("TRUNCATE orders").expect("an empty table");
    copied.batch_execute("ALTER PUBLICATION orders ADD TABLE orders").expect("an alteration");
    client.batch_execute("ALTER SUBSCRIPTION from_8 REFRESH PUBLICATION").expect("a refresh");
    subscriber.wait_for_the_copy("postgres");
    eventually("the table was copied", || rows(&mut client) == 100);
    assert_eq!(twins(&mut client), 0);
    // After the copy, it watches.
    copied
        .batch_execute("INSERT INTO orders VALUES (snowflake_make(now(), 5, 9, 0))")
        .expect("a twin's row");
    eventually("the twin is noticed", || twins(&mut client) > 0);
}

/// Rows that are sent while a table is copied are applied after the copy, by the same worker.
#[test]
fn rows_sent_during_the_copy_are_watched() {
    let (publisher, subscriber) = (server("9", "'id'"), server("9", "'id'"));
    publisher.connect().batch_execute(INSERT).expect("rows");
    let mut client = subscriber.connect();
    client
        .batch_execute(
            "CREATE FUNCTION linger() RETURNS trigger LANGUAGE plpgsql AS $$
             BEGIN PERFORM pg_sleep(0.03); RETURN NEW; END $$;
             CREATE TRIGGER linger BEFORE INSERT ON orders FOR EACH ROW EXECUTE FUNCTION linger();
             ALTER TABLE orders ENABLE ALWAYS TRIGGER linger",
        )
        .expect("a trigger");
    subscriber.subscribe(&publisher, "postgres", "s", "PUBLICATION orders");
    // The state of the subscription says so before the publisher's snapshot is taken.
    eventually("it is being copied", || {
        let copying = "SELECT count(*) FROM pg_stat_progress_copy WHERE tuples_processed > 0";
        bigint(&mut client, copying) == 1
    });
    publisher.connect().batch_execute(INSERT).expect("rows");
    eventually("all rows arrive", || rows(&mut client) == 200);
    assert_eq!(twins(&mut client), 100);
}

/// A column list that leaves the IDs out lets the subscriber take its own.
#[test]
fn ids_of_the_subscriber_itself_pass() {
    let (publisher, subscriber) = (server("9", "'id'"), server("9", "'id', 'refuse'"));
    let keyless = "ALTER TABLE orders DROP CONSTRAINT orders_pkey";
    publisher
        .connect()
        .batch_execute(&format!("{keyless}; ALTER PUBLICATION orders SET TABLE orders (item)"))
        .expect("a column list");
    subscribe(&subscriber, &publisher, "s", "copy_data = false");
    let mut client = send_rows(&publisher, &subscriber);
    assert_eq!(twins(&mut client), 0);
}

/// A partition's rows are watched as those of its table.
#[test]
fn partitions_are_watched() {
    let (publisher, subscriber) = (server("9", "'id'"), server("9", "'id'"));
    for server in [&publisher, &subscriber] {
        server
            .connect()
            .batch_execute(
                "DROP TABLE orders;
                 CREATE TABLE orders (id bigint PRIMARY KEY DEFAULT snowflake_nextval(), item text)
                     PARTITION BY RANGE (id);
                 CREATE TABLE orders_all PARTITION OF orders DEFAULT;
                 CREATE TRIGGER watch_twins AFTER INSERT OR DELETE ON orders
                     FOR EACH ROW EXECUTE FUNCTION snowflake_watch_twins('id');
                 ALTER TABLE orders ENABLE REPLICA TRIGGER watch_twins;
                 ALTER PUBLICATION orders SET TABLE orders",
            )
            .expect("a table");
    }
    subscribe(&subscriber, &publisher, "from_other", "copy_data = false");
    let mut client = send_rows(&publisher, &subscriber);
    assert_eq!(twins(&mut client), 100);
}

/// Servers that fail over share the identity of the one that they follow. Neither the new publisher
/// nor the new subscriber is taken for a twin.
#[test]
fn a_failover_with_a_shared_identity_makes_no_twin() {
    let (mut publisher, mut subscriber) = (server("8", "'id'"), server("9", "'id', 'refuse'"));
    subscribe(&subscriber, &publisher, "s", "copy_data = false");
    let (new_publisher, new_subscriber) = (publisher.standby(), subscriber.standby());
    publisher.connect().batch_execute(INSERT).expect("rows");
    subscriber.connect().batch_execute(INSERT).expect("rows");
    for (server, standby, count) in
        [(&publisher, &new_publisher, 100), (&subscriber, &new_subscriber, 200)]
    {
        eventually("the rows reach the standby", || rows(&mut standby.connect()) == count);
        assert_eq!(rows(&mut server.connect()), count);
    }
    subscriber.kill();
    new_subscriber.promote();
    let mut client = new_subscriber.connect();
    publisher.connect().batch_execute(INSERT).expect("rows");
    eventually("rows reach the new subscriber", || rows(&mut client) == 300);
    publisher.kill();
    new_publisher.promote();
    new_publisher
        .connect()
        .batch_execute("SELECT pg_create_logical_replication_slot('s', 'pgoutput')")
        .expect("a slot");
    let connection = new_publisher.connection("postgres");
    client
        .batch_execute(&format!("ALTER SUBSCRIPTION s CONNECTION '{connection} user=postgres'"))
        .expect("an alteration");
    new_publisher.connect().batch_execute(INSERT).expect("rows");
    eventually("rows of the new publisher arrive", || rows(&mut client) >= 400);
    client.batch_execute(INSERT).expect("rows");
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

/// In the same millisecond, twins would make the same IDs.
fn insert_one_after_the_other(clients: &mut [Client]) {
    for client in clients {
        client.batch_execute(INSERT).expect("rows");
        thread::sleep(Duration::from_millis(5));
    }
}

/// Each server gets the other one's rows. Those with different identities notice nothing, and twins
/// notice it on both sides.
#[test]
fn twins_that_follow_each_other_are_noticed_on_both_sides() {
    for (workers, noticed) in [(["8", "9"], 0), (["9", "9"], 100)] {
        let Some(servers) = two_that_follow_each_other(workers) else { return };
        let mut clients = servers.each_ref().map(Cluster::connect);
        insert_one_after_the_other(&mut clients);
        for client in &mut clients {
            eventually("the rows of both arrive", || rows(client) == 200);
            assert_eq!(twins(client), noticed);
        }
    }
}

/// Without the trigger, nothing tells twins of each other, until both make the same ID.
#[test]
fn without_the_trigger_a_key_collides() {
    for workers in [["8", "9"], ["9", "9"]] {
        let Some(servers) = two_that_follow_each_other(workers) else { return };
        let mut clients = servers.each_ref().map(Cluster::connect);
        for client in &mut clients {
            client.batch_execute("DROP TRIGGER watch_twins ON orders").expect("a trigger");
        }
        insert_one_after_the_other(&mut clients);
        for client in &mut clients {
            eventually("the rows of both arrive", || rows(client) == 200);
            assert_eq!(twins(client), 0);
        }
        let mut insert_on_both = || {
            let many = "INSERT INTO orders SELECT snowflake_nextval(400000)";
            thread::scope(|scope| {
                for client in &mut clients {
                    scope.spawn(|| client.batch_execute(many).expect("rows"));
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
            for client in &mut clients {
                eventually("all rows arrive", || rows(client) == 800_200);
            }
            assert!(!has_collided());
        }
    }
}

/// Without `origin = none`, a server gets its own rows back. That ends at the primary key, and is no
/// twin.
#[test]
fn own_rows_that_come_back_are_no_twin() {
    let servers = ["8", "9"].map(|worker| server(worker, "'id'"));
    subscribe(&servers[0], &servers[1], "from_1", "copy_data = false");
    let options = "copy_data = false, disable_on_error = true";
    subscribe(&servers[1], &servers[0], "from_0", options);
    let mut client = servers[1].connect();
    client.batch_execute(INSERT).expect("rows");
    eventually("the rows come back", || {
        bigint(&mut client, "SELECT count(*) FROM pg_subscription WHERE subenabled") == 0
    });
    assert!(servers[1].log().contains("\"orders_pkey\""));
    assert_eq!(twins(&mut client), 0);
}
