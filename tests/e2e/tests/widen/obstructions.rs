//! Whoever is in the way is waited for, and is not made to wait.

use std::fs::OpenOptions;
use std::thread;
use std::time::{Duration, Instant};

use snowflake_e2e::{Cluster, bigint, eventually, output};

use super::program::{Running, succeed, widen};
use super::shops::{owner, with_orders};

const PREPARE: [&str; 2] = ["prepare", "orders"];

/// A reader that never ends keeps locks from being had, and nobody queues behind the attempts.
#[test]
fn a_long_reader_holds_up_nobody_but_the_program() {
    let cluster = with_orders(Cluster::builder(), 5000);
    let mut reader = owner(&cluster, "postgres");
    let mut writer = owner(&cluster, "postgres");
    reader.batch_execute("BEGIN; SELECT count(*) FROM orders").expect("a reader");
    let mut running = Running::start(widen(&cluster, &PREPARE));
    running.wait_for("attempt 1 was in vain");
    let begin = Instant::now();
    let mut longest = Duration::ZERO;
    let mut writes = 0;
    while begin.elapsed() < Duration::from_secs(3) {
        let begin = Instant::now();
        writer.batch_execute("INSERT INTO orders (item) VALUES ('new')").expect("a row");
        longest = longest.max(begin.elapsed());
        writes += 1;
    }
    println!("{writes} writes, the longest took {longest:?}");
    assert!(longest < Duration::from_millis(500), "{longest:?}");
    // What is in the way is said again, and not how far the statement is, which is not executed.
    let line = running.line().expect("a line");
    assert!(line.contains(" was in vain: "), "{line}");
    reader.batch_execute("COMMIT").expect("the reader ends");
    let said = running.end();
    assert_eq!(said.code, Some(0), "{said:?}");
    assert!(!said.out.contains(" 0 attempts were in vain"), "{said:?}");
}

/// Rows that somebody has locked are skipped, so that he never waits for the program while it waits
/// for him. Another scan finds them.
#[test]
fn an_open_writer_is_not_waited_for_with_locks() {
    let cluster = with_orders(Cluster::builder(), 5000);
    let mut writer = owner(&cluster, "postgres");
    let mut running = Running::start(widen(&cluster, &PREPARE));
    running.wait_for("shadow columns");
    // Whoever locks a row before the table has its shadows is in the way of that.
    writer.batch_execute("SET lock_timeout = '10s'").expect("set");
    let shadow = "SELECT count(*) FROM pg_attribute
                  WHERE attrelid = 'app.orders'::regclass AND attname ~ 'snowflake_widen'";
    eventually("the shadow is there", || bigint(&mut writer, shadow) == 1);
    writer
        .batch_execute("BEGIN; SELECT FROM orders WHERE id IN (1, 4999, 5000) FOR UPDATE")
        .expect("a writer");
    let said = running.wait_for_any(&["not all rows are copied yet", "ready to swap"]);
    if said.contains("not all rows") {
        writer.batch_execute("UPDATE orders SET item = 'mine' WHERE id = 5000").expect("no wait");
    }
    writer.batch_execute("COMMIT").expect("the writer ends");
    let said = running.end();
    assert_eq!(said.code, Some(0), "{said:?}");
    let missed = "SELECT count(*) FROM orders WHERE snowflake_widen_1 IS DISTINCT FROM id";
    assert_eq!(bigint(&mut writer, missed), 0);
}

/// A cluster whose autovacuum comes at once to a table, and takes minutes there.
fn with_autovacuum(settings: &[(&str, &str)]) -> Cluster {
    let mut builder = Cluster::builder().set("autovacuum_naptime", "1s");
    for (name, value) in settings {
        builder = builder.set(name, value);
    }
    let cluster = with_orders(builder.set("autovacuum", "off"), 30_000);
    let slow = "ALTER TABLE orders SET (autovacuum_vacuum_cost_delay = 100,
        autovacuum_vacuum_cost_limit = 1, autovacuum_vacuum_threshold = 0,
        autovacuum_vacuum_scale_factor = 0.01)";
    owner(&cluster, "postgres").batch_execute(slow).expect("a slow table");
    cluster
}

/// Lets it begin.
fn begin_autovacuum(cluster: &Cluster) {
    cluster.configure(&[("autovacuum", "on")]);
    cluster.reload();
    let at_work = "SELECT count(*) FROM pg_stat_activity
                   WHERE query LIKE 'autovacuum: VACUUM%app.orders%'";
    let mut client = cluster.connect();
    eventually("autovacuum is at work", || bigint(&mut client, at_work) == 1);
}

/// It yields only to those who wait longer than deadlock_timeout. One attempt does, and does not let
/// others queue behind it meanwhile.
#[test]
fn an_autovacuum_yields_to_one_announced_attempt() {
    let cluster = with_autovacuum(&[]);
    let mut writer = owner(&cluster, "postgres");
    writer.batch_execute("DELETE FROM orders WHERE id % 2 = 0").expect("dead rows");
    begin_autovacuum(&cluster);
    let mut running = Running::start(widen(&cluster, &PREPARE));
    let line = running.wait_for("one attempt that lasts longer than deadlock_timeout");
    assert!(line.contains("to which autovacuum ") && line.contains(" of app.orders yields"));
    let begin = Instant::now();
    let mut longest = Duration::ZERO;
    while begin.elapsed() < Duration::from_secs(2) {
        let begin = Instant::now();
        writer.batch_execute("INSERT INTO orders (item) VALUES ('new')").expect("a row");
        longest = longest.max(begin.elapsed());
    }
    println!("the longest write took {longest:?}");
    assert!(longest < Duration::from_millis(500), "{longest:?}");
    cluster.configure(&[("autovacuum", "off")]);
    cluster.reload();
    let said = running.end();
    assert_eq!(said.code, Some(0), "{said:?}");
    let counted = said.out.contains("longer ones made autovacuums yield)");
    assert!(counted, "{said:?}");
    assert!(cluster.log().contains("canceling autovacuum task"));
}

/// An autovacuum that prevents transaction IDs from wrapping does not yield, so it is waited for. The
/// role does not see what others execute.
#[test]
fn an_autovacuum_against_wraparound_is_waited_for() {
    let mut cluster = with_autovacuum(&[("autovacuum_freeze_max_age", "100000")]);
    // Transactions are spent by a jump, which needs a file for the states of all of them.
    cluster.stop();
    let file = OpenOptions::new().write(true).open(cluster.data().join("pg_xact/0000"));
    file.and_then(|file| file.set_len(256 * 1024)).expect("the states of transactions");
    let reset = ["-x", "300000", "-D"];
    let mut command = cluster.programs().program("pg_resetwal");
    output(command.args(reset).arg(cluster.data()));
    cluster.start_again();
    begin_autovacuum(&cluster);
    let mut running = Running::start(widen(&cluster, &PREPARE));
    let line = running.wait_for("to prevent wraparound");
    assert!(
        line.contains(" of app.orders (to prevent wraparound), which does not yield"),
        "{line}"
    );
    let fast = "ALTER SYSTEM SET autovacuum_vacuum_cost_delay = 0";
    cluster.connect().batch_execute(fast).expect("set");
    // The settings of the table are read when a vacuum begins. The one that is at work is ended by hand.
    thread::sleep(Duration::from_secs(1));
    let mut admin = cluster.connect();
    admin
        .batch_execute(
            "UPDATE pg_class SET reloptions = NULL WHERE oid = 'app.orders'::regclass;
             SELECT pg_reload_conf();
             SELECT pg_terminate_backend(pid) FROM pg_stat_activity
             WHERE query LIKE 'autovacuum: VACUUM%app.orders%'",
        )
        .expect("a fast vacuum");
    let said = running.end();
    assert_eq!(said.code, Some(0), "{said:?}");
}

/// It leaves an index that is not valid, which is dropped and made again.
#[test]
fn a_canceled_index_is_made_again() {
    let cluster = with_orders(Cluster::builder(), 5000);
    let mut reader = cluster.connect();
    let mut running = Running::start(widen(&cluster, &PREPARE));
    running.wait_for("compare");
    // CREATE INDEX CONCURRENTLY waits for whoever may still see rows without the index.
    reader
        .batch_execute("BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT FROM pg_class LIMIT 1")
        .expect("a snapshot");
    running.wait_for("indexes: app.orders_pkey");
    let mut admin = cluster.connect();
    let waits = "SELECT count(*) FROM pg_stat_activity, pg_blocking_pids(pid) AS b
                 WHERE query LIKE 'CREATE UNIQUE INDEX CONCURRENTLY%' AND cardinality(b) > 0";
    eventually("the index waits", || bigint(&mut admin, waits) == 1);
    running.wait_for("indexes: app.orders_pkey: waits for session");
    admin
        .batch_execute(
            "SELECT pg_cancel_backend(pid) FROM pg_stat_activity
             WHERE query LIKE 'CREATE UNIQUE INDEX CONCURRENTLY%'",
        )
        .expect("canceled");
    running.wait_for("drop index: ");
    reader.batch_execute("COMMIT").expect("the reader ends");
    let said = running.end();
    assert_eq!(said.code, Some(0), "{said:?}");
    let invalid = "SELECT count(*) FROM pg_index
                   WHERE indrelid = 'app.orders'::regclass AND NOT indisvalid";
    assert_eq!(bigint(&mut admin, invalid), 0);
    succeed(&cluster, &["swap", "orders"]);
}

/// An event trigger undoes what a statement does, each time.
#[test]
fn a_statement_that_changes_nothing_is_not_repeated_for_ever() {
    let cluster = with_orders(Cluster::builder(), 10);
    let mut client = owner(&cluster, "postgres");
    client.batch_execute("COMMENT ON COLUMN orders.id IS 'the key'").expect("a comment");
    cluster
        .connect()
        .batch_execute(
            "CREATE FUNCTION public.undo() RETURNS event_trigger LANGUAGE plpgsql AS $$ BEGIN
                 IF current_setting('test.undoes', true) = 'yes' THEN RETURN; END IF;
                 PERFORM set_config('test.undoes', 'yes', true);
                 COMMENT ON COLUMN app.orders.snowflake_widen_1 IS 'another';
                 PERFORM set_config('test.undoes', '', true);
             END $$;
             CREATE EVENT TRIGGER undo ON ddl_command_end WHEN TAG IN ('COMMENT')
                 EXECUTE FUNCTION public.undo()",
        )
        .expect("an event trigger");
    let said = Running::start(widen(&cluster, &["prepare", "orders"])).end();
    assert_eq!(said.code, Some(1), "{said:?}");
    let error =
        "properties: app.orders: a statement has succeeded 5 times, and is still the next one";
    assert!(said.errors.contains(error), "{said:?}");
    assert!(said.errors.contains("detail: The statement is: "), "{said:?}");
    cluster.connect().batch_execute("DROP EVENT TRIGGER undo").expect("dropped");
    let said = Running::start(widen(&cluster, &["prepare", "orders"])).end();
    assert_eq!(said.code, Some(0), "{said:?}");
}
