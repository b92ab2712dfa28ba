//! Synchronous replication: an ID that a committed transaction returned does not come back, even if
//! no row was written.

use std::thread;
use std::time::Duration;

use postgres::Client;
use snowflake_e2e::{
    Cluster, Journal, Run, assert_distinct, at_once, bigint, bigints, eventually, process, signal,
};

use super::{NEXT, wait_in_commit};

/// A primary, and its synchronous standby, whose clock is behind: nothing but the register keeps it
/// from issuing IDs again.
fn pair() -> (Cluster, Cluster) {
    let mut primary = Cluster::builder()
        .fake_clock()
        .set("synchronous_standby_names", "*")
        .set("snowflake.failover_margin", "0")
        .create();
    primary.start_with(&["-c", "synchronous_standby_names="]).expect("a start");
    primary.run("CREATE EXTENSION snowflake");
    let standby = primary.standby_at("-60s");
    primary.restart();
    let mut client = primary.connect();
    eventually("the standby is synchronous", || {
        let synchronous = "SELECT count(*) FROM pg_stat_replication WHERE sync_state = 'sync'";
        bigint(&mut client, synchronous) == 1
    });
    (primary, standby)
}

/// Stops the standby, and lets the next ID need a reservation.
fn without_answer(primary: &Cluster, standby: &mut Cluster) {
    standby.stop();
    primary.set_clock("+10s");
}

/// A session that does not wait for the standby, and has taken an ID.
fn watcher(primary: &Cluster) -> Client {
    let mut watcher = primary.connect();
    watcher.run("SET synchronous_commit = local");
    take(&mut watcher);
    watcher
}

/// Takes an ID, which can wait in its commit.
fn take(client: &mut Client) -> i64 {
    bigint(client, NEXT)
}

/// Twenty primaries are killed while sessions take IDs without writing rows. The walsender is
/// stopped before, so that the standby gets no more WAL.
#[test]
fn an_id_that_was_returned_without_a_row_does_not_come_back() {
    // Most of the time, each of them waits.
    let kept = at_once(4, |_| (0..5).map(|_| ids_without_rows()).sum::<usize>());
    println!("20 failovers, {} IDs without rows", kept.iter().sum::<usize>());
}

/// Loses a primary that issues IDs whose WAL the standby does not get. Returns how many there were.
fn ids_without_rows() -> usize {
    let (mut primary, standby) = pair();
    let journal = Journal::new();
    let sender = "SELECT pid::bigint FROM pg_stat_replication";
    let sender = primary.bigint(sender);
    journal.under_load(&primary.config(), 2, NEXT, || {
        journal.wait_for(1000);
        signal(sender, "STOP");
        // Longer than a reservation lasts: what comes then is right above the floor that the
        // standby has.
        thread::sleep(Duration::from_millis(2500));
        primary.kill();
    });
    standby.promote();
    let mut client = standby.connect();
    client.run("SET synchronous_commit = local");
    let next = bigints(&mut client, "SELECT snowflake_nextval(200000)");
    let mut ids = journal.ids();
    ids.extend(&next);
    assert_distinct(ids);
    assert!(next[0] > journal.highest());
    journal.count()
}

/// Nobody is stuck who would not be stuck in a commit.
#[test]
fn sessions_wait_in_their_commits_as_synchronous_commit_says() {
    let (primary, mut standby) = pair();
    drop(watcher(&primary));
    without_answer(&primary, &mut standby);
    let session = |commit: &str| {
        let mut client = primary.connect();
        client.run(&format!("SET synchronous_commit = {commit}"));
        client
    };
    for commit in ["local", "off"] {
        take(&mut session(commit));
    }
    let stuck = ["on", "remote_write", "remote_apply"]
        .map(|commit| wait_in_commit(&primary, session(commit), commit, take).0);
    // A session that reads only does not wait, nor does one whose transaction goes on.
    let mut open = primary.connect();
    open.run("SELECT 1; BEGIN; SELECT snowflake_nextval()");
    assert!(stuck.iter().all(|taken| !taken.is_finished()));
    standby.start_again();
    let mut ids = stuck.map(|taken| taken.join().expect("an ID")).to_vec();
    open.run("COMMIT");
    ids.push(take(&mut primary.connect()));
    assert_distinct(ids);
}

/// It gets a transaction ID when it commits, by which the horizon of an older snapshot finds it.
#[test]
fn an_id_without_a_row_is_above_the_horizon_of_an_older_snapshot() {
    let (primary, _standby) = pair();
    let mut old = primary.connect();
    old.run("BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT");
    let id = take(&mut primary.connect());
    assert!(bigint(&mut old, "SELECT snowflake_horizon()") < id);
}

#[test]
fn without_names_nobody_waits_any_more() {
    let (primary, mut standby) = pair();
    let mut client = watcher(&primary);
    client.run("RESET synchronous_commit");
    without_answer(&primary, &mut standby);
    let (stuck, _) = wait_in_commit(&primary, primary.connect(), "an ID", take);
    primary.reload_with(&[("synchronous_standby_names", "")]);
    stuck.join().expect("an ID");
    // Once the session knows, too, it takes no transaction ID.
    let transactions = "SELECT pg_snapshot_xmax(pg_current_snapshot())::text::bigint";
    eventually("nothing is written", || {
        let before = bigint(&mut client, transactions);
        take(&mut client);
        bigint(&mut client, transactions) == before
    });
}

/// A floor that an administrator sets is on the standby before the statement returns.
#[test]
fn a_floor_that_is_set_waits_for_the_standby() {
    let (primary, mut standby) = pair();
    standby.stop();
    let set = "SELECT snowflake_set_floor(now() + interval '1 min')";
    let set = |client: &mut Client| client.batch_execute(set);
    let (stuck, _) = wait_in_commit(&primary, primary.connect(), "a floor", set);
    standby.start_again();
    stuck.join().expect("a thread").expect("a floor");
}

/// A statement that began before there were synchronous standbys has not heard of them. The server
/// has, before the statement ends.
#[test]
fn a_long_statement_that_knows_of_no_standby_waits() {
    let cluster = Cluster::start();
    let mut watcher = cluster.connect();
    let mut long = cluster.connect();
    let pid = process(&mut long);
    let long = thread::spawn(move || {
        let slowly = "SELECT snowflake_nextval()
                      FROM generate_series(1, 60) AS n, LATERAL pg_sleep(0.05 + n * 0)";
        bigints(&mut long, slowly)
    });
    let activity = format!("SELECT count(*) FROM pg_stat_activity WHERE pid = {pid}");
    let runs = format!("{activity} AND state = 'active' AND query LIKE 'SELECT ARRAY%'");
    eventually("it runs", || bigint(&mut watcher, &runs) == 1);
    cluster.reload_with(&[("synchronous_standby_names", "away")]);
    let waits = format!("{activity} AND wait_event = 'SyncRep'");
    eventually("it waits", || {
        assert!(!long.is_finished(), "it did not wait");
        bigint(&mut watcher, &waits) == 1
    });
    cluster.reload_with(&[("synchronous_standby_names", "")]);
    assert_distinct(long.join().expect("IDs"));
}

/// Waiting for a standby can be canceled, as in any commit.
#[test]
fn a_wait_for_the_standby_can_be_canceled() {
    let (primary, mut standby) = pair();
    let mut watcher = watcher(&primary);
    without_answer(&primary, &mut standby);
    let next = |client: &mut Client| client.query(NEXT, &[]).map(drop);
    let (stuck, pid) = wait_in_commit(&primary, primary.connect(), "an ID", next);
    watcher.run(&format!("SELECT pg_terminate_backend({pid})"));
    assert!(stuck.join().expect("a thread").is_err());
    // The others go on.
    take(&mut watcher);
}
