//! kill -9 of a backend and of the whole cluster, with the clock set back.

use std::collections::HashSet;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::thread;
use std::time::{Duration, Instant};

use snowflake_e2e::{
    Cluster, Journal, StopOnDrop, assert_distinct, bigint, bigints, eventually, signal,
};

use super::{INSERT, create_orders};

/// With as little in the WAL as can be, the register is still in it.
#[test]
fn no_id_comes_back_without_full_page_writes() {
    let settings =
        [("full_page_writes", "off"), ("wal_level", "minimal"), ("max_wal_senders", "0")];
    let builder = settings.iter().fold(Cluster::builder(), |b, (name, value)| b.set(name, value));
    let mut cluster = builder.fake_clock().start();
    create_orders(&cluster);
    let journal = Journal::new();
    for cycle in 0..4 {
        // A checkpoint writes the page, and the next change of it is in the WAL alone.
        cluster.connect().batch_execute("CHECKPOINT").expect("a checkpoint");
        for _ in 0..100 {
            journal.take(&mut cluster.connect(), INSERT).expect("an ID");
        }
        cluster.kill();
        cluster.set_clock(if cycle % 2 == 0 { "-1h" } else { "+0" });
        cluster.start_again();
    }
    journal.take(&mut cluster.connect(), INSERT).expect("an ID");
    assert_eq!(journal.check(), 401);
}

#[test]
fn no_id_comes_back_after_twenty_crashes_under_load() {
    const CYCLES: usize = 20;
    let mut cluster = Cluster::builder().fake_clock().start();
    create_orders(&cluster);
    let (journal, inserted) = (Journal::new(), Journal::new());
    let stop = AtomicBool::new(false);
    let mut slowest = Duration::ZERO;
    thread::scope(|scope| {
        let _stop = StopOnDrop(&stop);
        for _ in 0..3 {
            inserted.client(scope, &cluster, INSERT, &stop);
        }
        journal.client(scope, &cluster, "SELECT snowflake_nextval()", &stop);
        let config = cluster.config();
        let stopped = &stop;
        scope.spawn(move || {
            while !stopped.load(SeqCst) {
                match config.connect(postgres::NoTls) {
                    Ok(mut client) => {
                        while client.batch_execute("CHECKPOINT").is_ok() && !stopped.load(SeqCst) {}
                    }
                    Err(_) => thread::sleep(Duration::from_millis(5)),
                }
            }
        });
        for cycle in 0..CYCLES {
            journal.wait_for(200 + 37 * (cycle % 5));
            eventually("an ID has just come", || journal.since_last() < Duration::from_millis(20));
            let killing = Instant::now();
            cluster.kill();
            slowest = slowest.max(killing.elapsed());
            cluster.set_clock(if cycle % 2 == 0 { "-1h" } else { "+0" });
            cluster.start_again();
        }
        journal.wait_for(200);
    });
    let count = journal.check() + inserted.check();
    assert_distinct([journal.ids(), inserted.ids()].concat());
    // What a client was told is there after the crash.
    let rows: HashSet<i64> =
        bigints(&mut cluster.connect(), "SELECT id FROM orders").into_iter().collect();
    let lost = inserted.ids().into_iter().filter(|id| !rows.contains(id)).count();
    assert_eq!(lost, 0, "of {} rows", inserted.count());
    println!(
        "{CYCLES} crashes, {count} IDs; each crash began within 20 ms of one and was over in \
         {slowest:?} at most"
    );
}

#[test]
fn no_id_comes_back_after_a_backend_is_killed() {
    let cluster = Cluster::builder().set("restart_after_crash", "on").fake_clock().start();
    create_orders(&cluster);
    let journal = Journal::new();
    let stop = AtomicBool::new(false);
    thread::scope(|scope| {
        let _stop = StopOnDrop(&stop);
        for _ in 0..3 {
            journal.client(scope, &cluster, INSERT, &stop);
        }
        for round in 0..5 {
            journal.wait_for(300);
            let mut victim = cluster.connect();
            let pid = bigint(&mut victim, "SELECT pg_backend_pid()::bigint");
            thread::scope(|inner| {
                inner.spawn(|| {
                    victim
                        .query("SELECT snowflake_nextval(1000000000)", &[])
                        .expect_err("it is killed")
                });
                thread::sleep(Duration::from_millis(20));
                cluster.set_clock(if round % 2 == 0 { "-1h" } else { "+0" });
                signal(pid, "KILL");
            });
            // The postmaster throws all sessions out and makes its shared memory anew.
            eventually("the server accepts sessions again", || {
                cluster.config().connect(postgres::NoTls).is_ok()
            });
        }
        journal.wait_for(300);
    });
    println!("5 killed backends, {} IDs", journal.check());
}

/// The case that defeats designs that keep the promise in the log alone: the checkpoint lets
/// recovery begin after the reservation's record.
#[test]
fn no_id_comes_back_after_a_reservation_a_checkpoint_and_a_crash() {
    let mut cluster = Cluster::builder().fake_clock().start();
    let journal = Journal::new();
    for offset in ["-1h", "-2h", "-3h"] {
        let mut client = cluster.connect();
        journal.take(&mut client, "SELECT snowflake_nextval()").expect("an ID");
        client.batch_execute("CHECKPOINT").expect("a checkpoint");
        for _ in 0..100 {
            journal.take(&mut client, "SELECT snowflake_nextval()").expect("an ID");
        }
        cluster.kill();
        cluster.set_clock(offset);
        cluster.start_again();
        journal.take(&mut cluster.connect(), "SELECT snowflake_nextval()").expect("an ID");
    }
    println!("3 crashes, {} IDs", journal.check());
}

#[test]
fn a_crash_costs_a_reservation_at_most_and_no_availability() {
    for (strategy, settings) in super::steps::STRATEGIES {
        let mut cluster = Cluster::builder().start();
        cluster.configure(settings);
        cluster.reload();
        let journal = Journal::new();
        // Each crash after another, as fast as possible, can add two eighths: one by the first ID after
        // it, and one by the next ID, for which a reservation is made early.
        for most in [2000, 2500, 3000] {
            journal.take(&mut cluster.connect(), "SELECT snowflake_nextval()").expect("an ID");
            cluster.kill();
            cluster.start_again();
            let mut client = cluster.connect();
            let id =
                journal.take(&mut client, "SELECT snowflake_nextval()").unwrap_or_else(|error| {
                    panic!("{strategy}: {error}");
                });
            let ahead = bigint(
                &mut client,
                &format!(
                    "SELECT (extract(epoch FROM snowflake_timestamp({id}) - clock_timestamp()) * \
                     1000)::bigint"
                ),
            );
            assert!(ahead <= most, "{strategy}: {ahead} ms ahead");
        }
        journal.check();
    }
}
