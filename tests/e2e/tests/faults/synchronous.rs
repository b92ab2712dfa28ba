//! Synchronous replication: an ID that a committed transaction returned does not come back, even if
//! no row was written.

use std::sync::atomic::AtomicBool;
use std::thread;
use std::time::Duration;

use postgres::Client;
use snowflake_e2e::{
    Cluster, Journal, StopOnDrop, assert_distinct, bigint, bigints, eventually, signal,
};

use super::NEXT;

/// A primary, and its synchronous standby, whose clock is behind: nothing but the register keeps it
/// from issuing IDs again.
fn pair() -> (Cluster, Cluster) {
    let primary = Cluster::builder()
        .fake_clock()
        .set("synchronous_standby_names", "*")
        .set("snowflake.failover_margin", "0")
        .create();
    let mut primary = primary;
    primary.start_with(&["-c", "synchronous_standby_names="]).expect("a start");
    primary.connect().batch_execute("CREATE EXTENSION snowflake").expect("created");
    let mut standby = primary.base_backup(&["--write-recovery-conf"]);
    primary.stop();
    primary.start_again();
    standby.set_clock("-60s");
    standby.start_again();
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
    watcher
        .batch_execute("SET synchronous_commit = local; SELECT snowflake_nextval()")
        .expect("set");
    watcher
}

fn walsender(client: &mut Client) -> i64 {
    bigint(client, "SELECT pid::bigint FROM pg_stat_replication")
}

/// Sessions that wait for the standby.
const WAITING: &str = "SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'SyncRep'";

/// Twenty primaries are killed while sessions take IDs without writing rows. The walsender is
/// stopped before, so that the standby gets no more WAL.
#[test]
fn an_id_that_was_returned_without_a_row_does_not_come_back() {
    let mut kept = 0;
    for _ in 0..20 {
        let (mut primary, standby) = pair();
        let journal = Journal::new();
        let stop = AtomicBool::new(false);
        let mut client = primary.connect();
        thread::scope(|scope| {
            let _stop = StopOnDrop(&stop);
            for _ in 0..2 {
                journal.client(scope, &primary, NEXT, &stop);
            }
            journal.wait_for(1000);
            signal(walsender(&mut client), "STOP");
            // Longer than a reservation lasts: what comes then is right above the floor that the
            // standby has.
            thread::sleep(Duration::from_millis(2500));
            primary.kill();
        });
        kept += journal.count();
        standby.promote();
        let mut client = standby.connect();
        client.batch_execute("SET synchronous_commit = local").expect("set");
        let next = bigints(&mut client, "SELECT snowflake_nextval(200000)");
        let mut ids = journal.ids();
        ids.extend(&next);
        assert_distinct(ids);
        assert!(next[0] > journal.highest());
    }
    println!("20 failovers, {kept} IDs without rows");
}

/// Nobody is stuck who would not be stuck in a commit.
#[test]
fn sessions_wait_in_their_commits_as_synchronous_commit_says() {
    let (primary, mut standby) = pair();
    let mut watcher = watcher(&primary);
    without_answer(&primary, &mut standby);
    for commit in ["local", "off"] {
        let mut client = primary.connect();
        client.batch_execute(&format!("SET synchronous_commit = {commit}")).expect("set");
        client.batch_execute(NEXT).expect("an ID");
    }
    let stuck: Vec<_> = ["on", "remote_write", "remote_apply"]
        .into_iter()
        .map(|commit| {
            let mut client = primary.connect();
            client.batch_execute(&format!("SET synchronous_commit = {commit}")).expect("set");
            thread::spawn(move || bigint(&mut client, NEXT))
        })
        .collect();
    eventually("they wait", || bigint(&mut watcher, WAITING) == 3);
    // A session that reads only does not wait, nor does one whose transaction goes on.
    let mut open = primary.connect();
    open.batch_execute("SELECT 1; BEGIN; SELECT snowflake_nextval()").expect("an ID");
    assert_eq!(bigint(&mut watcher, WAITING), 3);
    standby.start_again();
    let mut ids: Vec<i64> = stuck.into_iter().map(|taken| taken.join().expect("an ID")).collect();
    open.batch_execute("COMMIT").expect("committed");
    ids.push(bigint(&mut primary.connect(), NEXT));
    assert_distinct(ids);
}

#[test]
fn without_names_nobody_waits_any_more() {
    let (primary, mut standby) = pair();
    let mut watcher = primary.connect();
    watcher.batch_execute(NEXT).expect("an ID");
    without_answer(&primary, &mut standby);
    let mut client = primary.connect();
    let stuck = thread::spawn(move || bigint(&mut client, NEXT));
    eventually("it waits", || bigint(&mut watcher, WAITING) == 1);
    primary.configure(&[("synchronous_standby_names", "")]);
    primary.reload();
    stuck.join().expect("an ID");
    // Once the session knows, too, it takes no transaction ID.
    let transactions = "SELECT pg_snapshot_xmax(pg_current_snapshot())::text::bigint";
    eventually("nothing is written", || {
        let before = bigint(&mut watcher, transactions);
        watcher.batch_execute(NEXT).expect("an ID");
        bigint(&mut watcher, transactions) == before
    });
}

/// What an administrator has set is on the standby before anybody is told.
#[test]
fn a_floor_that_is_set_waits_for_the_standby() {
    let (primary, mut standby) = pair();
    standby.stop();
    let mut client = primary.connect();
    let stuck = thread::spawn(move || {
        client.batch_execute("SELECT snowflake_set_floor(now() + interval '1 min')")
    });
    let mut watcher = primary.connect();
    eventually("it waits", || bigint(&mut watcher, WAITING) == 1);
    standby.start_again();
    stuck.join().expect("a thread").expect("a floor");
}

/// A statement that began before there were synchronous standbys has not heard of them. The server
/// has, before the statement ends.
#[test]
fn a_long_statement_that_knows_of_no_standby_waits() {
    let cluster = Cluster::start();
    let mut watcher = cluster.connect();
    watcher.batch_execute("SET synchronous_commit = local").expect("set");
    let mut long = cluster.connect();
    let pid = bigint(&mut long, "SELECT pg_backend_pid()::bigint");
    let long = thread::spawn(move || {
        let slowly = "SELECT snowflake_nextval()
                      FROM generate_series(1, 60) AS n, LATERAL pg_sleep(0.05 + n * 0)";
        bigints(&mut long, slowly)
    });
    eventually("it runs", || {
        let running = format!(
            "SELECT count(*) FROM pg_stat_activity
             WHERE pid = {pid} AND state = 'active' AND query LIKE 'SELECT ARRAY%'"
        );
        bigint(&mut watcher, &running) == 1
    });
    cluster.configure(&[("synchronous_standby_names", "away")]);
    cluster.reload();
    eventually("it waits", || {
        assert!(!long.is_finished(), "it did not wait");
        bigint(&mut watcher, &format!("{WAITING} AND pid = {pid}")) == 1
    });
    cluster.configure(&[("synchronous_standby_names", "")]);
    cluster.reload();
    assert_distinct(long.join().expect("IDs"));
}

/// Waiting for a standby can be canceled, as in any commit.
#[test]
fn a_wait_for_the_standby_can_be_canceled() {
    let (primary, mut standby) = pair();
    let mut watcher = watcher(&primary);
    without_answer(&primary, &mut standby);
    let mut client = primary.connect();
    let pid = bigint(&mut client, "SELECT pg_backend_pid()::bigint");
    let stuck = thread::spawn(move || client.query_one(NEXT, &[]).map(|row| row.get::<_, i64>(0)));
    eventually("it waits", || bigint(&mut watcher, WAITING) == 1);
    watcher.batch_execute(&format!("SELECT pg_terminate_backend({pid})")).expect("a signal");
    assert!(stuck.join().expect("a thread").is_err());
    // The others go on.
    watcher.batch_execute(NEXT).expect("an ID");
}
