//! A standby whose clock is an hour behind is promoted.

use std::sync::atomic::AtomicBool;
use std::thread;

use snowflake_e2e::{Cluster, Journal, StopOnDrop, bigint, eventually};

use super::{INSERT, create_orders};

struct Pair {
    primary: Cluster,
    standby: Cluster,
    journal: Journal,
}

/// A primary that has been under load, and a standby with all of its rows.
fn pair() -> Pair {
    let primary = Cluster::builder().fake_clock().start();
    create_orders(&primary);
    let mut standby = primary.base_backup(&["--write-recovery-conf"]);
    standby.set_clock("-1h");
    standby.start_again();
    let journal = Journal::new();
    load(&primary, &journal, 1000);
    let rows = journal.count() as i64;
    let mut reader = standby.connect();
    eventually("the rows reach the standby", || {
        bigint(&mut reader, "SELECT count(*) FROM orders") == rows
    });
    Pair { primary, standby, journal }
}

fn load(cluster: &Cluster, journal: &Journal, ids: usize) {
    let stop = AtomicBool::new(false);
    thread::scope(|scope| {
        let _stop = StopOnDrop(&stop);
        for _ in 0..3 {
            journal.client(scope, cluster, INSERT, &stop);
        }
        journal.wait_for(ids);
    });
}

/// Promotes the standby. What it issues is above its rows, and above all that clients ever
/// received.
fn promote_and_check(pair: &Pair) {
    let Pair { standby, journal, .. } = pair;
    standby.promote();
    let mut client = standby.connect();
    let highest = bigint(&mut client, "SELECT max(id) FROM orders");
    let next = journal.take(&mut client, "SELECT snowflake_nextval()").expect("an ID");
    assert!(next > highest, "{next} is not above {highest}");
    load(standby, journal, 1000);
    println!("a promotion, {} IDs", journal.check());
}

#[test]
fn no_id_comes_back_after_a_clean_stop() {
    let mut pair = pair();
    pair.primary.stop();
    promote_and_check(&pair);
}

#[test]
fn no_id_comes_back_after_a_crash_of_the_primary() {
    let mut pair = pair();
    pair.primary.kill();
    promote_and_check(&pair);
}

/// The clock of the primary was set back, and its IDs go on from where they were.
#[test]
fn no_id_comes_back_after_a_crash_of_a_primary_whose_ids_are_ahead() {
    let mut pair = pair();
    pair.primary.set_clock("-10min");
    load(&pair.primary, &pair.journal, 1000);
    let rows = pair.journal.count() as i64;
    let mut reader = pair.standby.connect();
    eventually("the rows reach the standby", || {
        bigint(&mut reader, "SELECT count(*) FROM orders") == rows
    });
    pair.primary.kill();
    promote_and_check(&pair);
}

#[test]
fn no_id_comes_back_after_a_restart_of_the_standby() {
    let mut pair = pair();
    pair.standby.stop();
    pair.standby.start_again();
    pair.primary.kill();
    promote_and_check(&pair);
}

#[test]
fn no_id_comes_back_after_a_crash_of_the_standby() {
    let mut pair = pair();
    pair.standby.connect().batch_execute("CHECKPOINT").expect("a restartpoint");
    pair.standby.kill();
    pair.standby.start_again();
    pair.primary.kill();
    promote_and_check(&pair);
}

#[test]
fn no_id_comes_back_on_a_standby_that_was_made_before_the_first_id() {
    let primary = Cluster::builder().fake_clock().start();
    let mut standby = primary.base_backup(&["--write-recovery-conf"]);
    standby.set_clock("-1h");
    standby.start_again();
    create_orders(&primary);
    let journal = Journal::new();
    load(&primary, &journal, 100);
    let rows = journal.count() as i64;
    let mut reader = standby.connect();
    eventually("the table reaches the standby", || reader.query("SELECT FROM orders", &[]).is_ok());
    eventually("the rows reach the standby", || {
        bigint(&mut reader, "SELECT count(*) FROM orders") == rows
    });
    promote_and_check(&Pair { primary, standby, journal });
}
