//! Sessions that are interrupted while they make a reservation, or that need one together, or in
//! odd places.

use std::fs;
use std::sync::Barrier;
use std::thread;
use std::time::Duration;

use postgres::Client;
use postgres::error::SqlState;
use snowflake_e2e::{
    Cluster, Journal, Run, assert_distinct, assert_increasing, bigint, bigints, eventually,
    interruption, process,
};

use super::{Disk, NEXT, PARALLEL, PARALLEL_SAFE, take};

/// A cluster whose clock the test moves on, so that each next ID has to extend the reservation.
fn cluster() -> Cluster {
    Cluster::builder().fake_clock().start()
}

/// Asserts that whatever was issued is behind the server after a crash, with the clock set back.
fn assert_durable(mut cluster: Cluster, highest: i64) {
    cluster.crash("-1h");
    let next = cluster.bigint(NEXT);
    assert!(next > highest, "{next} is not above {highest}");
}

/// Asserts the same of a cluster whose clock is the true one. Nobody was left behind with a lock,
/// or with less than was promised.
fn assert_goes_on(mut cluster: Cluster, journal: &Journal) {
    cluster.kill();
    cluster.start_again();
    take(journal, &cluster);
    journal.check();
}

/// Lets the next ID begin above a new floor, so that it has to make a reservation.
fn raise_floor(client: &mut Client, by: &str) {
    let raise = format!("SELECT snowflake_set_floor(snowflake_floor() + interval '{by}')");
    client.run(&raise);
}

/// On the true clock: PostgreSQL's handler for timeouts reads the clock, and libfaketime's reading
/// allocates memory, which no handler may do. A new floor also takes IDs ahead of the clock.
#[test]
fn an_interrupted_session_leaves_no_lock_behind() {
    let (cluster, journal) = (Cluster::start(), Journal::new());
    let mut watcher = cluster.connect();
    journal.take(&mut watcher, NEXT).expect("an ID");
    let mut interrupted = 0;
    for round in 0..90u64 {
        raise_floor(&mut watcher, "1 ms");
        let mut client = cluster.connect();
        let pid = process(&mut client);
        if round % 3 == 0 {
            client.run("SET statement_timeout = 1");
        }
        thread::scope(|scope| {
            let taken = scope.spawn(|| {
                journal.take(&mut client, "SELECT snowflake_nextval() FROM pg_sleep(0.001)")
            });
            thread::sleep(Duration::from_micros(400 + round * 30));
            let signal = ["", "pg_cancel_backend", "pg_terminate_backend"][round as usize % 3];
            if !signal.is_empty() {
                watcher.query(&format!("SELECT {signal}({pid})"), &[]).expect("a signal");
            }
            if let Err(error) = taken.join().expect("the session") {
                let expected = [SqlState::QUERY_CANCELED, SqlState::ADMIN_SHUTDOWN];
                assert!(expected.contains(interruption(&error)), "{error}");
                interrupted += 1;
            }
        });
        journal.take(&mut watcher, NEXT).expect("an ID");
    }
    println!("90 extensions, {interrupted} sessions interrupted, {} IDs", journal.check());
    // A lead over the clock is behind the server after a crash.
    watcher.query("SELECT snowflake_set_floor(now() + interval '1 hour')", &[]).expect("a floor");
    journal.take(&mut watcher, NEXT).expect("an ID");
    assert_goes_on(cluster, &journal);
}

/// The disk takes a second to sync the WAL, so that each signal arrives while a session flushes its
/// reservation, and while another one waits for it.
#[test]
fn a_signal_during_the_flush_of_a_reservation_loses_nothing() {
    let disk = Disk::new();
    let (cluster, journal) = (disk.builder().start(), Journal::new());
    let slow = cluster.data().join("slow");
    let mut watcher = cluster.connect();
    journal.take(&mut watcher, NEXT).expect("an ID");
    for signal in ["pg_cancel_backend", "pg_terminate_backend", "statement_timeout"] {
        raise_floor(&mut watcher, "1 ms");
        let mut clients = [cluster.connect(), cluster.connect()];
        let pids = clients.each_mut().map(process);
        fs::write(&slow, "").expect("root, or the owner");
        thread::scope(|scope| {
            let mut taken = Vec::new();
            for (client, pid) in clients.iter_mut().zip(&pids) {
                let journal = &journal;
                taken.push(scope.spawn(move || {
                    if signal == "statement_timeout" {
                        client.run("SET statement_timeout = 500");
                    }
                    journal.take(client, NEXT)
                }));
                let waits = format!(
                    "SELECT count(*) FROM pg_stat_activity WHERE pid = {pid}
                     AND lower(wait_event) IN ('walsync', 'walwrite', 'snowflake_reservation')"
                );
                eventually("the session is in its reservation", || {
                    bigint(&mut watcher, &waits) == 1
                });
            }
            if signal != "statement_timeout" {
                for pid in &pids {
                    watcher.run(&format!("SELECT {signal}({pid})"));
                }
            }
            for taken in taken {
                let error = taken.join().expect("the session").expect_err("it was interrupted");
                let expected = match signal {
                    "pg_terminate_backend" => SqlState::ADMIN_SHUTDOWN,
                    _ => SqlState::QUERY_CANCELED,
                };
                assert_eq!(interruption(&error), &expected, "{error}");
            }
        });
        fs::remove_file(&slow).expect("root, or the owner");
        journal.take(&mut watcher, NEXT).expect("an ID");
    }
    assert_goes_on(cluster, &journal);
}

#[test]
fn four_sessions_that_have_to_reserve_at_once_share_a_reservation() {
    let cluster = cluster();
    let mut sessions = [(); 4].map(|()| cluster.connect());
    let mut all = Vec::new();
    for round in 0..50 {
        cluster.set_clock(&format!("+{}s", round * 3));
        let barrier = Barrier::new(sessions.len());
        let take = |client: &mut Client| {
            barrier.wait();
            bigint(client, NEXT)
        };
        let mut ids = thread::scope(|scope| {
            let taken = sessions.each_mut().map(|client| scope.spawn(|| take(client)));
            taken.map(|taken| taken.join().expect("a session"))
        });
        ids.sort_unstable();
        if let Some(last) = all.last() {
            assert!(ids[0] > *last);
        }
        all.extend(ids);
    }
    let highest = all[all.len() - 1];
    assert_distinct(all);
    assert_durable(cluster, highest);
}

/// Asserts that each of several sessions, before and after a restart, takes IDs above those before,
/// which are durable.
fn begin_and_reserve(before: &str, query: &str, expected: usize) {
    let mut cluster = cluster();
    let source = "CREATE TABLE source AS SELECT generate_series(1, 50000) AS n; ANALYZE source";
    cluster.run(source);
    cluster.run(PARALLEL_SAFE);
    let (mut ids, mut highest) = (Vec::new(), 0);
    for round in 0..4 {
        if round == 2 {
            cluster.restart();
        }
        cluster.set_clock(&format!("+{}s", round * 10));
        let mut client = cluster.connect();
        client.run(before);
        let taken = bigints(&mut client, query);
        client.run("COMMIT");
        assert_eq!(taken.len(), expected);
        assert!(taken.iter().all(|id| *id > highest));
        ids.extend(taken);
        highest = *ids.iter().max().expect("some");
    }
    assert_distinct(ids);
    assert_durable(cluster, highest);
}

#[test]
fn parallel_workers_begin_and_reserve() {
    begin_and_reserve(PARALLEL, "SELECT snowflake_nextval() FROM source", 50_000);
}

#[test]
fn read_only_transactions_begin_and_reserve() {
    begin_and_reserve("BEGIN ISOLATION LEVEL SERIALIZABLE, READ ONLY, DEFERRABLE", NEXT, 1);
}

#[test]
fn rows_that_are_applied_take_ids_of_the_subscriber() {
    let publisher =
        Cluster::builder().set("wal_level", "logical").set("snowflake.worker_id", "10").start();
    let mut source = publisher.connect();
    source.run("CREATE TABLE notes (note text PRIMARY KEY); CREATE PUBLICATION p FOR TABLE notes");
    let subscriber = cluster();
    let mut target = subscriber.connect();
    target.run(
        "CREATE TABLE notes
             (note text PRIMARY KEY, id bigint NOT NULL UNIQUE DEFAULT snowflake_nextval())",
    );
    subscriber.subscribe(&publisher, "postgres", "s", "PUBLICATION p");
    for round in 0..20 {
        let notes = format!("SELECT 'note {round} ' || n FROM generate_series(1, 50) AS n");
        source.run(&format!("INSERT INTO notes {notes}"));
    }
    let applied = "SELECT count(*) FROM notes WHERE snowflake_worker_id(id) = 9";
    eventually("the rows are applied", || bigint(&mut target, applied) == 1000);
    let ids = bigints(&mut target, "SELECT id FROM notes ORDER BY id");
    assert_increasing(&ids);
    assert!(bigint(&mut target, NEXT) > *ids.last().expect("rows"));
    target.run("DROP SUBSCRIPTION s");
    let highest = bigint(&mut target, NEXT);
    assert_durable(subscriber, highest);
}
