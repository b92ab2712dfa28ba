//! Identities that are given out by a table: to many servers at once, from one server to the next,
//! and after a dump and a restore.

use std::thread;

use postgres::Client;
use postgres::error::SqlState;
use snowflake_e2e::{
    Cluster, NEXT, Run, bigint, dump_and_restore, dump_text, error_of, eventually, server_with,
    signal, value,
};

fn claim(registry: &Cluster, name: &str) -> String {
    registry.value::<String>(&format!("SELECT snowflake_claim_node('{name}')"))
}

/// A server whose clock can be moved, and that has this fragment in its configuration.
fn server(fragment: &str) -> Cluster {
    let mut server = server_with(Cluster::builder().fake_clock(), fragment);
    server.start_again();
    server.run("CREATE EXTENSION snowflake");
    server
}

/// However many sessions claim at once, each name gets one identity, and no two names the same.
#[test]
fn claims_at_the_same_time_are_different() {
    let registry = Cluster::start();
    thread::scope(|scope| {
        for session in 0..8 {
            let mut client = registry.connect();
            scope.spawn(move || {
                for number in 0..50 {
                    // Two sessions claim each name.
                    let name = format!("db-{}-{number}", session / 2);
                    client.query("SELECT snowflake_claim_node($1)", &[&name]).expect("an identity");
                }
            });
        }
    });
    let mut client = registry.connect();
    let count = "SELECT count(*) FROM snowflake_nodes";
    assert_eq!(bigint(&mut client, count), 200);
    let largest = "SELECT max(datacenter_id * 32 + worker_id)::bigint FROM snowflake_nodes";
    // One of them is the identity of the registry's own server.
    assert_eq!(bigint(&mut client, largest), 200, "the first ones are taken first");
}

/// A server whose clock is an hour ahead hands its identity over to one whose clock is right. Its
/// floor, which comes with the claim, keeps the new server above all that it has issued.
#[test]
fn an_identity_is_handed_over_with_its_floor() {
    let registry = Cluster::start();
    let old = server(&claim(&registry, "old"));
    old.set_clock("+1h");
    let mut client = old.connect();
    let last = bigint(&mut client, "SELECT max(id) FROM snowflake_nextval(100000) AS id");
    let floor = value::<String>(&mut client, "SELECT snowflake_floor()::text");
    drop((client, old));

    registry.run(&format!("SELECT snowflake_release_node('old', floor => '{floor}')"));
    registry.run("SELECT snowflake_claim_node('new', 0, 0)");
    let fragment = claim(&registry, "new");
    let first = bigint(&mut server(&fragment).connect(), NEXT);
    assert!(first > last, "{first} is not above {last}");

    // Without the floor, it would go back to what has been issued.
    let lines: Vec<_> = fragment.lines().filter(|line| !line.contains("start_after")).collect();
    assert_eq!(lines.len(), 3, "{fragment}");
    assert!(bigint(&mut server(&lines.join("\n")).connect(), NEXT) < last);
}

/// A database that somebody else created the extension in is dumped by its owner, and one whose
/// owners were dropped is dumped and restored, and names none of them.
#[test]
fn whoever_owns_the_database_dumps_it() {
    let cluster = Cluster::start();
    cluster.run("CREATE ROLE bob LOGIN; CREATE ROLE zoe LOGIN");
    for (owner, creator) in [("bob", "postgres"), ("zoe", "zoe")] {
        let database = format!("of_{owner}");
        cluster.run(&format!("CREATE DATABASE {database} OWNER {owner}"));
        let create = "CREATE EXTENSION snowflake; SELECT snowflake_claim_node('db-1')";
        cluster.connect_as(creator, &database).run(create);
    }
    cluster.connect_to("of_zoe").run(
        "ALTER DATABASE of_zoe OWNER TO bob; REASSIGN OWNED BY zoe TO bob;
         DROP OWNED BY zoe; DROP ROLE zoe",
    );
    for database in ["of_bob", "of_zoe"] {
        let dump = dump_text(&cluster, &["--username=bob", database]);
        assert!(dump.contains("db-1"), "{dump}");
        assert!(!dump.contains("REVOKE") && !dump.contains("GRANT"), "{dump}");
        dump_and_restore(&cluster, database, &format!("{database}_restored"));
    }
    // The new owner of the extension goes on where the old one stopped.
    cluster.connect_as("bob", "of_zoe").run("SELECT snowflake_claim_node('db-2')");
}

/// A claim that waits for a release sees it, and gives the identity to nobody else.
#[test]
fn a_claim_that_waits_for_a_release_sees_it() {
    let registry = Cluster::start();
    registry.run("SELECT snowflake_claim_node('old')");
    thread::scope(|scope| {
        let mut operator = registry.connect();
        operator.run("BEGIN;
             SELECT snowflake_release_node('old', issued_until => clock_timestamp(), fenced => true);
             SELECT snowflake_claim_node('new', 0, 0)",
        );
        let waiting = scope.spawn(|| claim(&registry, "old"));
        let waits = "SELECT count(*) FROM pg_locks WHERE NOT granted";
        eventually("the claim waits", || bigint(&mut operator, waits) > 0);
        operator.run("COMMIT");
        let fragment = waiting.join().expect("a session");
        assert!(fragment.contains("worker_id = 1"), "{fragment}");
    });
}

/// However asynchronous the sessions of the database are.
#[test]
fn a_claim_outlives_a_crash_of_its_database() {
    let builder = Cluster::builder().set("synchronous_commit", "off");
    let mut registry = builder.set("wal_writer_delay", "10s").start();
    for number in 0..3 {
        let fragment = claim(&registry, &format!("db-{number}"));
        assert!(fragment.ends_with(&format!("snowflake.worker_id = {number}")), "{fragment}");
        registry.kill();
        registry.start_again();
    }
}

/// Waits until one session waits for a synchronous standby.
fn wait_for_a_wait(client: &mut Client) {
    let waiting = "SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'SyncRep'";
    eventually("it waits", || bigint(client, waiting) == 1);
}

/// Ends such a wait.
const CANCEL: &str =
    "SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE wait_event = 'SyncRep'";

/// A claim waits for the synchronous standbys, whatever `synchronous_commit` says, and so does one
/// that is made again after its wait was canceled.
#[test]
fn a_claim_outlives_a_synchronous_failover_of_its_database() {
    let mut registry = Cluster::start();
    let mut standby = registry.standby();
    standby.stop();
    registry.reload_with(&[("synchronous_standby_names", "*"), ("synchronous_commit", "off")]);
    let mut operator = registry.connect();
    thread::scope(|scope| {
        let claim = || scope.spawn(|| claim(&registry, "db-1"));
        let canceled = claim();
        wait_for_a_wait(&mut operator);
        operator.run(CANCEL);
        canceled.join().expect("committed here alone");
        let again = claim();
        wait_for_a_wait(&mut operator);
        standby.start_again();
        assert!(again.join().expect("committed").ends_with("worker_id = 0"));
    });
    drop(operator);
    registry.kill();
    standby.reload_with(&[("synchronous_standby_names", "")]);
    standby.promote();
    assert!(claim(&standby, "db-2").ends_with("worker_id = 1"));
}

/// A claim that is prepared waits for the synchronous standbys, too: with the prepared transaction,
/// they have its lock, and nobody else claims before it ends.
#[test]
fn a_claim_that_is_prepared_waits_for_synchronous_standbys() {
    let registry = Cluster::builder()
        .set("max_prepared_transactions", "1")
        .set("synchronous_commit", "off")
        .set("synchronous_standby_names", "nobody")
        .start();
    let mut operator = registry.connect();
    operator.run("BEGIN; SELECT snowflake_claim_node('db-1')");
    let prepared = thread::spawn(move || operator.run("PREPARE TRANSACTION 'p'"));
    let mut watcher = registry.connect();
    wait_for_a_wait(&mut watcher);
    watcher.run(CANCEL);
    prepared.join().expect("prepared, with a warning");

    watcher.run("SET lock_timeout = '100ms'");
    let error = error_of(watcher.batch_execute("SELECT snowflake_claim_node('db-2')"));
    assert_eq!(error.code(), &SqlState::LOCK_NOT_AVAILABLE, "{error}");
    watcher.run("COMMIT PREPARED 'p'");
    watcher.run("BEGIN");
    let next = value::<String>(&mut watcher, "SELECT snowflake_claim_node('db-2')");
    assert!(next.ends_with("worker_id = 1"), "that of db-1");
}

/// The claims that an asynchronous standby has not received are gone with the primary. Servers that
/// enter themselves before anybody claims keep what they have.
#[test]
fn after_an_asynchronous_failover_running_servers_enter_themselves() {
    let mut registry = Cluster::start();
    let standby = registry.standby();
    assert!(claim(&registry, "db-1").ends_with("worker_id = 0"));
    let mut operator = standby.connect();
    let claims = "SELECT count(*) FROM snowflake_nodes";
    eventually("the standby has it", || bigint(&mut operator, claims) == 1);
    let sender = "SELECT pid::bigint FROM pg_stat_replication";
    signal(registry.bigint(sender), "STOP");
    assert!(claim(&registry, "db-2").ends_with("worker_id = 1"));
    registry.kill();
    standby.promote();
    // Before the running servers are entered, a claim gets the numbers of one of them.
    operator.run("BEGIN");
    let careless = value::<String>(&mut operator, "SELECT snowflake_claim_node('db-3')");
    assert!(careless.ends_with("worker_id = 1"), "that of db-2");
    operator.run("ROLLBACK");

    operator.run("SELECT snowflake_claim_node('db-1', 0, 0)");
    operator.run("SELECT snowflake_claim_node('db-2', 0, 1)");
    let error = error_of(operator.batch_execute("SELECT snowflake_claim_node('db-3', 0, 1)"));
    assert_eq!(error.code(), &SqlState::OBJECT_IN_USE, "{error}");
    assert!(claim(&standby, "db-3").ends_with("worker_id = 2"));
}
