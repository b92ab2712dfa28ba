//! Copies of a cluster: point-in-time recovery, base backups, pg_rewind, pg_createsubscriber; and a
//! server without the library.

use std::thread;
use std::time::{Duration, Instant};

use snowflake_e2e::{
    Cluster, Journal, Means, Register, Run, archive_wal, assert_check, bigint, error_of, lacks,
    output, refusal, value,
};

use super::{INSERT, NEXT, archive, begin, confirm, create_orders, recover, take, wait_for_rows};

/// Asserts that the next IDs are above all rows of the server's table.
#[track_caller]
fn assert_above_rows(cluster: &Cluster, journal: &Journal) {
    let mut client = cluster.connect();
    let highest = bigint(&mut client, "SELECT max(id) FROM orders");
    let next = bigint(&mut client, NEXT);
    assert!(next > highest, "{next} is not above {highest}");
    for _ in 0..100 {
        client.execute("INSERT INTO orders DEFAULT VALUES", &[]).expect("a row");
    }
    journal.check();
}

/// Asserts that the next IDs are above all that the original issued.
#[track_caller]
fn assert_above_all(copy: &Cluster, journal: &Journal) {
    assert!(copy.bigint(NEXT) > journal.highest());
    assert_above_rows(copy, journal);
}

/// Takes so many IDs of each kind.
fn take_of_both(cluster: &Cluster, journal: &Journal, times: usize) {
    let mut client = cluster.connect();
    for _ in 0..times {
        journal.take(&mut client, NEXT).expect("an ID");
        journal.take(&mut client, INSERT).expect("an ID");
    }
}

/// Without a signal file, the copy is on the timeline of its original, and nothing is added to its
/// floor.
#[test]
fn a_base_backup_continues_above_what_it_holds() {
    let mut cluster = Cluster::builder().fake_clock().start();
    create_orders(&cluster);
    let journal = Journal::new();
    let config = cluster.config();
    let (before, copies) = journal.under_load(&config, 1, NEXT, || {
        journal.under_load(&config, 2, INSERT, || {
            journal.wait_for(300);
            let before = journal.highest();
            let copies = [(); 3].map(|()| cluster.base_backup(&[]));
            journal.wait_for(300);
            (before, copies)
        })
    });
    let floor = journal.issue_beyond_the_floor(&mut cluster.connect());
    cluster.kill();
    let [mut right, mut behind, mut told] = copies;
    // With the clock right, everything is above all that the original ever issued; also with the
    // clock behind, if the copy is told how far the original came.
    right.start_again();
    told.set_clock("-1h");
    told.configure(&[("snowflake.start_after", &floor)]);
    told.start_again();
    for copy in [right, told] {
        assert_above_all(&copy, &journal);
    }
    // Otherwise, above all that the original had issued before the backup: what it issued later
    // comes again.
    behind.set_clock("-1h");
    behind.start_again();
    let next = behind.bigint(NEXT);
    assert!(next > before, "{next} is not above {before}");
    assert_above_rows(&behind, &journal);
    let returned = journal.returned(&mut behind.connect());
    assert!(returned > 0);
    println!("3 backups under load, {} IDs, of which {returned} came again", journal.check());
}

/// IDs that the original issued after the target are covered by the margin, or by the clock, or by
/// `start_after`; otherwise they come again.
#[test]
fn point_in_time_recovery_continues_above_what_it_restores() {
    let mut cluster = Cluster::builder().set("archive_mode", "on").fake_clock().start();
    let archive = archive(&cluster);
    create_orders(&cluster);
    let journal = Journal::new();
    let copies = [(); 4].map(|()| cluster.base_backup(&[]));
    take_of_both(&cluster, &journal, 200);
    let mut client = cluster.connect();
    client.run("SELECT pg_create_restore_point('here')");
    let before = journal.highest();
    take_of_both(&cluster, &journal, 100);
    let floor = journal.issue_beyond_the_floor(&mut client);
    archive_wal(&mut client);
    cluster.stop();
    let recover = |copy: Cluster, clock: &str, settings: &[(&str, &str)]| {
        copy.set_clock(clock);
        let copy = recover(copy, &archive, settings);
        assert_eq!(copy.bigint("SELECT count(*) FROM orders"), 200);
        copy
    };
    let [behind, covered, told, right] = copies;
    let behind = recover(behind, "-1h", &[]);
    let next = behind.bigint(NEXT);
    assert!(next > before, "{next} is not above {before}");
    assert_above_rows(&behind, &journal);
    let returned = journal.returned(&mut behind.connect());
    assert!(returned > 0);

    let covered = recover(covered, "-1h", &[("snowflake.failover_margin", "10s")]);
    let told = recover(told, "-1h", &[("snowflake.start_after", &floor)]);
    let right = recover(right, "+0", &[]);
    for copy in [covered, told, right] {
        assert_above_all(&copy, &journal);
    }
    println!("4 recoveries to a point in time, {} IDs, {returned} came again", journal.check());
}

#[test]
fn no_id_comes_back_after_pg_rewind_and_a_second_promotion() {
    let builder = Cluster::builder().set("wal_log_hints", "on").set("wal_keep_size", "1GB");
    let mut first = builder.fake_clock().start();
    create_orders(&first);
    let journal = Journal::new();
    let mut second = first.standby();
    take_of_both(&first, &journal, 200);
    wait_for_rows(&second, 200);
    second.promote();
    // Two primaries with one identity for a moment: only what the second one issues counts from
    // here on.
    first.run("INSERT INTO orders SELECT snowflake_nextval() FROM generate_series(1, 100)");
    first.stop();
    take_of_both(&second, &journal, 200);
    first.rewind_to(&second);
    first.set_clock("-1h");
    first.start_again();
    wait_for_rows(&first, 400);
    // No row of these, either, tells the standby.
    journal.take_times(&second, NEXT, 200);
    second.kill();
    first.promote();
    take(&journal, &first);
    assert_above_rows(&first, &journal);
    println!("a rewind, {} IDs", journal.check());
}

#[test]
fn a_subscriber_made_of_a_standby_needs_a_confirmation() {
    // pg_createsubscriber is new there.
    if lacks(&[Means::PostgreSQL(17)]) {
        return;
    }
    let primary = Cluster::builder().set("wal_level", "logical").start();
    create_orders(&primary);
    let journal = Journal::new();
    take_of_both(&primary, &journal, 1);
    let mut subscriber = primary.base_backup(&["--write-recovery-conf"]);
    let publisher = primary.connection("postgres") + " user=postgres";
    let mut create = subscriber.programs().program("pg_createsubscriber");
    create.args(["--database=postgres", "--subscriber-username=postgres", "--pgdata"]);
    create.arg(subscriber.data()).arg("--socketdir").arg(subscriber.directory());
    output(create.arg(format!("--publisher-server={publisher}")));
    subscriber.configure(&[("snowflake.worker_id", "10")]);
    subscriber.start_again();
    let error = refusal(subscriber.connect().query(NEXT, &[]));
    assert_eq!(error.message(), "the register of snowflake IDs belongs to another database system");
    assert!(confirm(&subscriber, "system_identifier"));
    take(&journal, &subscriber);
    assert_above_rows(&subscriber, &journal);
    // Once is enough.
    subscriber.restart();
    assert_above_rows(&subscriber, &journal);
}

/// Whoever confirms a copy without a look at its identity makes a twin.
#[test]
fn a_copy_with_the_identity_of_its_original_is_confirmed_by_force_alone() {
    const FORCE: &str = ", force => true";
    let (mut copy, journal) = begin();
    copy.stop();
    Register::set_another_system(&copy);
    let confirm = |copy: &Cluster, force: &str| {
        let query = format!("SELECT snowflake_confirm('system_identifier'{force})");
        copy.connect().query_one(&query, &[]).map(|row| row.get::<_, bool>(0))
    };

    // Without an identity, nobody knows whether it is the original's.
    copy.configure(&[("snowflake.worker_id", "-1"), ("snowflake.datacenter_id", "-1")]);
    copy.start_again();
    let error = error_of(confirm(&copy, ""));
    assert_eq!(error.message(), "snowflake.datacenter_id and snowflake.worker_id are not both set");

    copy.restart_with(&[("snowflake.datacenter_id", "5"), ("snowflake.worker_id", "9")]);
    let error = refusal(confirm(&copy, ""));
    assert_eq!(
        error.message(),
        "this server has the datacenter and worker ID of the one that it was copied from"
    );
    let hint = error.hint().expect("a hint");
    assert!(hint.starts_with("Give this server a datacenter and worker ID of its own"), "{hint}");
    assert!(hint.contains("snowflake_confirm('system_identifier', force => true)"), "{hint}");
    assert_check(&mut copy.connect(), "register", false, "datacenter 5 and worker 9 wrote it");
    let error = error_of(copy.connect().query(NEXT, &[]));
    assert!(error.message().contains("another database system"), "{error}");

    // The original is gone for good.
    assert!(confirm(&copy, FORCE).expect("confirmed"));
    assert!(!confirm(&copy, FORCE).expect("nothing to confirm"));
    assert_check(&mut copy.connect(), "register", true, "");
    take(&journal, &copy);

    // With an identity of its own, no force is needed.
    copy.stop();
    Register::set_another_system(&copy);
    copy.configure(&[("snowflake.worker_id", "10")]);
    copy.start_again();
    assert!(confirm(&copy, "").expect("confirmed"));
    take(&journal, &copy);
    journal.check();
}

/// A server that has the register replays its WAL and starts without the library.
#[test]
fn a_server_without_the_library_recovers_and_issues_nothing() {
    let mut cluster = Cluster::builder().fake_clock().start();
    create_orders(&cluster);
    let journal = Journal::new();
    take_of_both(&cluster, &journal, 200);
    cluster.configure(&[("shared_preload_libraries", "")]);
    cluster.crash("-1h");
    let mut client = cluster.connect();
    assert_eq!(bigint(&mut client, "SELECT count(*) FROM orders"), 200);
    refusal(client.query(NEXT, &[]));
    cluster.restart_with(&[("shared_preload_libraries", "snowflake_pg")]);
    take(&journal, &cluster);
    journal.check();
}

/// Measures the WAL of a reservation, and sees that a server which issues nothing writes none.
#[test]
fn the_wal_of_reservations_is_small() {
    let mut cluster = Cluster::builder().set("autovacuum", "off").start();
    let mut client = cluster.connect();
    bigint(&mut client, NEXT);
    client.run("CHECKPOINT; SELECT pg_switch_wal()");
    let position = "SELECT pg_current_wal_insert_lsn()::text";
    let start: String = value(&mut client, position);
    let begun = Instant::now();
    let issued =
        bigint(&mut client, "SELECT count(snowflake_nextval()) FROM generate_series(1, 10000000)");
    let seconds = begun.elapsed().as_secs();
    let end: String = value(&mut client, position);
    // Nothing is issued for a while: nothing is reserved.
    thread::sleep(Duration::from_secs(3));
    let idle: String = value(&mut client, position);
    cluster.stop();
    let records = |from: &str, to: &str| -> Vec<i64> {
        let mut dump = cluster.programs().program("pg_waldump");
        dump.arg("--path").arg(cluster.data().join("pg_wal"));
        let dump = dump.args(["--start", from, "--end", to]).output().expect("pg_waldump runs");
        // "rmgr: XLOG  len (rec/tot): 49/ 174, ... desc: FPI , blkref #0: rel 1664/0/4294965250 blk
        // 0 FPW"
        let text = String::from_utf8_lossy(&dump.stdout).into_owned();
        let ours = text.lines().filter(|line| line.contains("rel 1664/0/4294965250"));
        ours.map(|line| {
            let (_, lengths) = line.split_once("len (rec/tot):").expect("lengths");
            let total = lengths.split(['/', ',']).nth(1).expect("a length");
            total.trim().parse().expect("a number")
        })
        .collect()
    };
    let lengths = records(&start, &end);
    let count = lengths.len();
    println!("{issued} IDs in {seconds} s: {count} reservations of {:?} bytes", lengths.first());
    assert!(!lengths.is_empty());
    assert!(lengths.iter().all(|length| *length <= 250), "{lengths:?}");
    // The one that the start asks for, and then less than one for each second.
    assert!(count as u64 <= 2 + seconds, "{count} in {seconds} s");
    if end != idle {
        assert_eq!(records(&end, &idle), [0; 0]);
    }
}
