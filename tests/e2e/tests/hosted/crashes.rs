//! kill -9 of sessions and of the whole server under load, with the clock set back.

use std::collections::HashSet;
use std::sync::atomic::AtomicBool;
use std::thread;

use snowflake_e2e::{Cluster, INSERT, Journal, StopOnDrop, bigint, bigints, eventually, signal};

use super::{create_orders, plain_server, start};

/// Takes and stores IDs in four sessions while `crash` crashes the server so many times.
fn crash_under_load(
    cluster: &mut Cluster,
    times: usize,
    mut crash: impl FnMut(&mut Cluster, usize),
) {
    create_orders(cluster);
    let journal = Journal::new();
    let stop = AtomicBool::new(false);
    thread::scope(|scope| {
        let _stop = StopOnDrop(&stop);
        for _ in 0..4 {
            journal.client(scope, cluster, INSERT, &stop);
        }
        for time in 0..times {
            journal.wait_for(300);
            crash(cluster, time);
        }
        journal.wait_for(300);
    });
    let count = journal.check();
    let mut client = cluster.connect();
    let rows = bigints(&mut client, "SELECT id FROM orders");
    let distinct: HashSet<i64> = rows.iter().copied().collect();
    assert_eq!(rows.len(), distinct.len(), "rows with one ID");
    assert!(journal.ids().iter().all(|id| distinct.contains(id)), "a committed row is lost");
    println!("{times} crashes, {count} IDs");
}

fn back_and_forth(cluster: &Cluster, time: usize) {
    cluster.set_clock(if time.is_multiple_of(2) { "-1h" } else { "+0" });
}

#[test]
fn no_id_comes_back_after_the_server_is_killed() {
    let mut cluster = start(plain_server().fake_clock());
    crash_under_load(&mut cluster, 10, |cluster, time| {
        cluster.kill();
        back_and_forth(cluster, time);
        cluster.start_again();
    });
}

#[test]
fn no_id_comes_back_after_a_session_is_killed() {
    let mut cluster = start(plain_server().set("restart_after_crash", "on").fake_clock());
    crash_under_load(&mut cluster, 8, |cluster, time| {
        let query = "SELECT pid::bigint FROM pg_stat_activity WHERE query LIKE 'INSERT%' LIMIT 1";
        let victim = bigint(&mut cluster.connect(), query);
        back_and_forth(cluster, time);
        signal(victim, "KILL");
        eventually("the server accepts sessions again", || {
            cluster.config().connect(postgres::NoTls).is_ok()
        });
    });
}

/// A standby that has all WAL goes on above what its primary has given, however its clock is.
#[test]
fn no_id_comes_back_after_a_promotion() {
    let mut primary = start(plain_server().fake_clock());
    create_orders(&primary);
    let journal = Journal::new();
    let mut standby = primary.standby();
    let mut client = primary.connect();
    for _ in 0..2000 {
        journal.take(&mut client, INSERT).expect("an ID");
    }
    primary.stop();
    standby.set_clock("-1h");
    standby.promote();
    let mut client = standby.connect();
    for _ in 0..2000 {
        journal.take(&mut client, INSERT).expect("an ID");
    }
    journal.check();
    standby.stop();
}
