//! kill -9 of a backend and of the whole cluster, with the clock set back.

use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::thread;
use std::time::{Duration, Instant};

use postgres::NoTls;
use snowflake_e2e::{
    Cluster, Journal, assert_distinct, beside, bigint, eventually, process, signal,
};

use super::{INSERT, NEXT, assert_rows, begin, create_orders, steps, take};

/// The clock after a crash.
fn clock(cycle: usize) -> &'static str {
    if cycle.is_multiple_of(2) { "-1h" } else { "+0" }
}

/// With as little in the WAL as can be, the register is still in it.
#[test]
fn no_id_comes_back_without_full_page_writes() {
    let mut cluster = Cluster::builder()
        .set("full_page_writes", "off")
        .set("wal_level", "minimal")
        .set("max_wal_senders", "0")
        .fake_clock()
        .start();
    create_orders(&cluster);
    let journal = Journal::new();
    for cycle in 0..4 {
        // A checkpoint writes the page, and the next change of it is in the WAL alone.
        cluster.run("CHECKPOINT");
        journal.take_times(&cluster, INSERT, 100);
        cluster.crash(clock(cycle));
    }
    journal.take(&mut cluster.connect(), INSERT).expect("an ID");
    assert_eq!(journal.check(), 401);
}

/// Makes checkpoints until `stop`, on a server that crashes.
fn make_checkpoints(config: &postgres::Config, stop: &AtomicBool) {
    while !stop.load(SeqCst) {
        match config.connect(NoTls) {
            Ok(mut client) => {
                while client.batch_execute("CHECKPOINT").is_ok() && !stop.load(SeqCst) {}
            }
            Err(_) => thread::sleep(Duration::from_millis(5)),
        }
    }
}

#[test]
fn no_id_comes_back_after_twenty_crashes_under_load() {
    const CYCLES: usize = 20;
    let mut cluster = Cluster::builder().fake_clock().start();
    create_orders(&cluster);
    let (journal, inserted) = (Journal::new(), Journal::new());
    let config = cluster.config();
    let mut slowest = Duration::ZERO;
    let crashes = || {
        for cycle in 0..CYCLES {
            journal.wait_for(200 + 37 * (cycle % 5));
            eventually("an ID has just come", || journal.since_last() < Duration::from_millis(20));
            let killing = Instant::now();
            cluster.kill();
            slowest = slowest.max(killing.elapsed());
            cluster.set_clock(clock(cycle));
            cluster.start_again();
        }
        journal.wait_for(200);
    };
    let make_checkpoints = |_, stop: &AtomicBool| make_checkpoints(&config, stop);
    beside(1, make_checkpoints, || {
        inserted.under_load(&config, 3, INSERT, || journal.under_load(&config, 1, NEXT, crashes));
    });
    let count = journal.check() + inserted.check();
    assert_distinct([journal.ids(), inserted.ids()].concat());
    assert_rows(&cluster, &inserted);
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
    journal.under_load(&cluster.config(), 3, INSERT, || {
        for round in 0..5 {
            journal.wait_for(300);
            let mut victim = cluster.connect();
            let pid = process(&mut victim);
            thread::scope(|scope| {
                let endless = "SELECT snowflake_nextval(1000000000)";
                scope.spawn(|| victim.query(endless, &[]).expect_err("it is killed"));
                thread::sleep(Duration::from_millis(20));
                cluster.set_clock(clock(round));
                signal(pid, "KILL");
            });
            // The postmaster throws all sessions out and makes its shared memory anew.
            let config = cluster.config();
            eventually("the server accepts sessions again", || config.connect(NoTls).is_ok());
        }
        journal.wait_for(300);
    });
    println!("5 killed backends, {} IDs", journal.check());
}

/// The case that defeats designs that keep the promise in the log alone: the checkpoint lets
/// recovery begin after the reservation's record.
#[test]
fn no_id_comes_back_after_a_reservation_a_checkpoint_and_a_crash() {
    let (mut cluster, journal) = begin();
    for offset in ["-1h", "-2h", "-3h"] {
        take(&journal, &cluster);
        cluster.run("CHECKPOINT");
        journal.take_times(&cluster, NEXT, 100);
        cluster.crash(offset);
        take(&journal, &cluster);
    }
    println!("3 crashes, {} IDs", journal.check());
}

#[test]
fn a_crash_costs_a_reservation_at_most_and_no_availability() {
    for (strategy, settings) in steps::STRATEGIES {
        let mut cluster = steps::server(settings);
        let journal = Journal::new();
        // Each crash after another, as fast as possible, can add two eighths: one by the first ID
        // after it, and one by the next ID, for which a reservation is made early.
        for most in [2000, 2500, 3000] {
            take(&journal, &cluster);
            cluster.crash("+0");
            let mut client = cluster.connect();
            let id = journal.take(&mut client, NEXT);
            let id = id.unwrap_or_else(|error| panic!("{strategy}: {error}"));
            let ahead = format!("snowflake_timestamp({id}) - clock_timestamp()");
            let ahead = format!("SELECT (extract(epoch FROM {ahead}) * 1000)::bigint");
            let ahead = bigint(&mut client, &ahead);
            assert!(ahead <= most, "{strategy}: {ahead} ms ahead");
        }
        journal.check();
    }
}
