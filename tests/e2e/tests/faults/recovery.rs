//! Copies of a cluster: point-in-time recovery, base backups, pg_rewind, pg_createsubscriber; and a
//! server without the library.

use std::fs;
use std::sync::atomic::AtomicBool;
use std::thread;
use std::time::Instant;

use postgres::error::SqlState;
use snowflake_e2e::{
    Cluster, Journal, Means, Register, StopOnDrop, archive_wal, bigint, check, error_of,
    eventually, lacks,
};

use super::{INSERT, NEXT, archive, create_orders};

/// Asserts that the next IDs are above all rows of the server's table.
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

/// Without a signal file, the copy is on the timeline of its original, and nothing is added to its
/// floor.
#[test]
fn a_base_backup_continues_above_what_it_holds() {
    let mut cluster = Cluster::builder().fake_clock().start();
    create_orders(&cluster);
    let journal = Journal::new();
    let stop = AtomicBool::new(false);
    let (before, copies) = thread::scope(|scope| {
        let _stop = StopOnDrop(&stop);
        journal.client(scope, &cluster, NEXT, &stop);
        for _ in 0..2 {
            journal.client(scope, &cluster, INSERT, &stop);
        }
        journal.wait_for(300);
        let before = journal.highest();
        let copies = [(); 3].map(|()| cluster.base_backup(&[]));
        journal.wait_for(300);
        (before, copies)
    });
    let floor = journal.issue_beyond_the_floor(&mut cluster.connect());
    cluster.kill();
    let [mut right, mut behind, mut told] = copies;
    // With the clock right, everything is above all that the original ever issued.
    right.start_again();
    journal.take(&mut right.connect(), NEXT).expect("an ID");
    assert_above_rows(&right, &journal);
    // With the clock behind, above all that the original had issued before the backup: what it
    // issued later comes again.
    behind.set_clock("-1h");
    behind.start_again();
    let next = bigint(&mut behind.connect(), NEXT);
    assert!(next > before, "{next} is not above {before}");
    assert_above_rows(&behind, &journal);
    let returned = journal.returned(&mut behind.connect());
    assert!(returned > 0);
    // Above that, too, if it is told how far the original came.
    told.set_clock("-1h");
    told.configure(&[("snowflake.start_after", &floor)]);
    told.start_again();
    journal.take(&mut told.connect(), NEXT).expect("an ID");
    assert_above_rows(&told, &journal);
    println!("3 backups under load, {} IDs, of which {returned} came again", journal.check());
}

/// What the original issued after the target is covered by the margin, or by the clock, or by
/// `start_after`; otherwise it comes again.
#[test]
fn point_in_time_recovery_continues_above_what_it_restores() {
    let mut cluster = Cluster::builder()
        .set("archive_mode", "on")
        .set("wal_level", "replica")
        .fake_clock()
        .start();
    let archive = archive(&cluster);
    create_orders(&cluster);
    let journal = Journal::new();
    let mut client = cluster.connect();
    let copies = [(); 4].map(|()| cluster.base_backup(&[]));
    for _ in 0..200 {
        journal.take(&mut client, INSERT).expect("an ID");
        journal.take(&mut client, NEXT).expect("an ID");
    }
    client.batch_execute("SELECT pg_create_restore_point('here')").expect("a restore point");
    let before = journal.highest();
    for _ in 0..200 {
        journal.take(&mut client, INSERT).expect("an ID");
    }
    let floor = journal.issue_beyond_the_floor(&mut client);
    archive_wal(&mut client);
    drop(client);
    cluster.stop();
    let recover = |mut copy: Cluster, clock: &str, settings: &[(&str, &str)]| {
        copy.configure(&[
            ("archive_mode", "off"),
            ("restore_command", &format!("cp {}/%f %p", archive.display())),
            ("recovery_target_name", "here"),
            ("recovery_target_action", "promote"),
        ]);
        copy.configure(settings);
        fs::write(copy.data().join("recovery.signal"), "").expect("a file");
        copy.set_clock(clock);
        copy.start_again();
        copy.wait_until_primary();
        assert_eq!(bigint(&mut copy.connect(), "SELECT count(*) FROM orders"), 200);
        copy
    };
    let [behind, covered, told, right] = copies;
    let without_margin = ("snowflake.failover_margin", "0");
    let behind = recover(behind, "-1h", &[without_margin]);
    let next = bigint(&mut behind.connect(), NEXT);
    assert!(next > before, "{next} is not above {before}");
    assert_above_rows(&behind, &journal);
    let returned = journal.returned(&mut behind.connect());
    assert!(returned > 0);

    let covered = recover(covered, "-1h", &[("snowflake.failover_margin", "10s")]);
    let told = recover(told, "-1h", &[without_margin, ("snowflake.start_after", &floor)]);
    let right = recover(right, "+0", &[without_margin]);
    for copy in [covered, told, right] {
        assert!(bigint(&mut copy.connect(), NEXT) > journal.highest());
        assert_above_rows(&copy, &journal);
    }
    println!("4 recoveries to a point in time, {} IDs, {returned} came again", journal.check());
}

#[test]
fn no_id_comes_back_after_pg_rewind_and_a_second_promotion() {
    let mut first = Cluster::builder()
        .set("wal_log_hints", "on")
        .set("wal_keep_size", "1GB")
        .fake_clock()
        .start();
    create_orders(&first);
    let journal = Journal::new();
    let mut second = first.base_backup(&["--write-recovery-conf"]);
    second.start_again();
    let mut client = first.connect();
    for _ in 0..200 {
        journal.take(&mut client, INSERT).expect("an ID");
    }
    let highest = journal.highest();
    let mut reader = second.connect();
    eventually("the rows reach the standby", || {
        bigint(&mut reader, "SELECT coalesce(max(id), 0) FROM orders") == highest
    });
    second.promote();
    second.wait_until_primary();
    second.connect().batch_execute("CHECKPOINT").expect("a checkpoint");
    // Two primaries with one identity for a moment: only what the second one issues counts from
    // here on.
    client
        .batch_execute("INSERT INTO orders SELECT snowflake_nextval() FROM generate_series(1, 100)")
        .expect("rows");
    drop(client);
    first.stop();
    let mut client = second.connect();
    for _ in 0..200 {
        journal.take(&mut client, NEXT).expect("an ID");
        journal.take(&mut client, INSERT).expect("an ID");
    }
    let rewound = first
        .programs()
        .program("pg_rewind")
        .arg("--target-pgdata")
        .arg(first.data())
        .arg(format!(
            "--source-server=host={} port=5432 user=postgres dbname=postgres",
            second.directory().display()
        ))
        .output()
        .expect("pg_rewind runs");
    assert!(rewound.status.success(), "{}", String::from_utf8_lossy(&rewound.stderr));
    // It has copied whom the second one followed, which counts for more than what is set below.
    fs::write(first.data().join("postgresql.auto.conf"), "").expect("a file");
    first.configure(&[
        ("unix_socket_directories", &first.directory().to_string_lossy()),
        (
            "primary_conninfo",
            &format!("host={} port=5432 user=postgres", second.directory().display()),
        ),
    ]);
    fs::write(first.data().join("standby.signal"), "").expect("a file");
    first.set_clock("-1h");
    first.start_again();
    let highest = journal.highest();
    let mut reader = first.connect();
    eventually("the rows reach the rewound server", || {
        bigint(&mut reader, "SELECT max(id) FROM orders") == highest
    });
    // No row of these, either, tells the standby.
    for _ in 0..200 {
        journal.take(&mut client, NEXT).expect("an ID");
    }
    drop(client);
    second.kill();
    first.promote();
    first.wait_until_primary();
    journal.take(&mut first.connect(), NEXT).expect("an ID");
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
    journal.take(&mut primary.connect(), INSERT).expect("an ID");
    journal.take(&mut primary.connect(), NEXT).expect("an ID");
    let mut subscriber = primary.base_backup(&["--write-recovery-conf"]);
    let created = subscriber
        .programs()
        .program("pg_createsubscriber")
        .args(["--database=postgres", "--subscriber-username=postgres", "--pgdata"])
        .arg(subscriber.data())
        .arg("--socketdir")
        .arg(subscriber.directory())
        .arg(format!(
            "--publisher-server=host={} port=5432 user=postgres dbname=postgres",
            primary.directory().display()
        ))
        .output()
        .expect("pg_createsubscriber runs");
    assert!(
        created.status.success(),
        "{}{}",
        String::from_utf8_lossy(&created.stdout),
        String::from_utf8_lossy(&created.stderr)
    );
    subscriber.configure(&[("snowflake.worker_id", "10")]);
    subscriber.start_again();
    let mut client = subscriber.connect();
    let error = error_of(client.query(NEXT, &[]));
    assert_eq!(error.code(), &SqlState::OBJECT_NOT_IN_PREREQUISITE_STATE);
    assert_eq!(error.message(), "the register of snowflake IDs belongs to another database system");
    let confirmed: bool = client
        .query_one("SELECT snowflake_confirm('system_identifier')", &[])
        .expect("a row")
        .get(0);
    assert!(confirmed);
    journal.take(&mut client, NEXT).expect("an ID");
    assert_above_rows(&subscriber, &journal);
    // Once is enough.
    subscriber.stop();
    subscriber.start_again();
    assert_above_rows(&subscriber, &journal);
}

/// Whoever confirms a copy without a look at its identity makes a twin.
#[test]
fn a_copy_with_the_identity_of_its_original_is_confirmed_by_force_alone() {
    let mut copy = Cluster::start();
    let journal = Journal::new();
    journal.take(&mut copy.connect(), NEXT).expect("an ID");
    copy.stop();
    Register::of(&copy).of_another_system().write();
    let confirm = |copy: &Cluster, force: &str| {
        let query = format!("SELECT snowflake_confirm('system_identifier'{force})");
        copy.connect().query_one(&query, &[]).map(|row| row.get::<_, bool>(0))
    };
    let failing = |copy: &Cluster| -> Vec<String> {
        let rows = copy.connect().query("SELECT name FROM snowflake_check() WHERE NOT ok", &[]);
        rows.expect("rows").iter().map(|row| row.get(0)).collect()
    };

    // Without an identity, nobody knows whether it is the original's.
    copy.configure(&[("snowflake.worker_id", "-1"), ("snowflake.datacenter_id", "-1")]);
    copy.start_again();
    let error = error_of(confirm(&copy, ""));
    assert_eq!(error.message(), "snowflake.datacenter_id and snowflake.worker_id are not both set");

    let [datacenter, worker] = [("snowflake.datacenter_id", "5"), ("snowflake.worker_id", "9")];
    copy.stop();
    copy.configure(&[datacenter, worker]);
    copy.start_again();
    let error = error_of(confirm(&copy, ""));
    assert_eq!(error.code(), &SqlState::OBJECT_NOT_IN_PREREQUISITE_STATE);
    assert_eq!(
        error.message(),
        "this server has the datacenter and worker ID of the one that it was copied from"
    );
    let hint = error.hint().expect("a hint");
    assert!(hint.starts_with("Give this server a datacenter and worker ID of its own"), "{hint}");
    assert!(hint.contains("snowflake_confirm('system_identifier', force => true)"), "{hint}");
    assert!(failing(&copy).contains(&"register".to_owned()));
    let (_, detail, _) = check(&mut copy.connect(), "register");
    assert!(detail.contains("datacenter 5 and worker 9 wrote it"), "{detail}");
    assert!(
        error_of(copy.connect().query(NEXT, &[])).message().contains("another database system")
    );

    // The original is gone for good.
    assert!(confirm(&copy, ", force => true").expect("confirmed"));
    assert!(!confirm(&copy, ", force => true").expect("nothing to confirm"));
    assert!(!failing(&copy).contains(&"register".to_owned()));
    journal.take(&mut copy.connect(), NEXT).expect("an ID");

    // With an identity of its own, no force is needed.
    copy.stop();
    Register::of(&copy).of_another_system().write();
    copy.configure(&[("snowflake.worker_id", "10")]);
    copy.start_again();
    assert!(confirm(&copy, "").expect("confirmed"));
    journal.take(&mut copy.connect(), NEXT).expect("an ID");
    journal.check();
}

/// A server that has the register replays its WAL and starts without the library.
#[test]
fn a_server_without_the_library_recovers_and_issues_nothing() {
    let mut cluster = Cluster::builder().fake_clock().start();
    create_orders(&cluster);
    let journal = Journal::new();
    let mut client = cluster.connect();
    for _ in 0..200 {
        journal.take(&mut client, INSERT).expect("an ID");
        journal.take(&mut client, NEXT).expect("an ID");
    }
    cluster.kill();
    cluster.set_clock("-1h");
    cluster.configure(&[("shared_preload_libraries", "")]);
    cluster.start_again();
    let mut client = cluster.connect();
    assert_eq!(bigint(&mut client, "SELECT count(*) FROM orders"), 200);
    let error = error_of(client.query(NEXT, &[]));
    assert_eq!(error.code(), &SqlState::OBJECT_NOT_IN_PREREQUISITE_STATE);
    drop(client);
    cluster.stop();
    cluster.configure(&[("shared_preload_libraries", "snowflake_pg")]);
    cluster.start_again();
    journal.take(&mut cluster.connect(), NEXT).expect("an ID");
    journal.check();
}

/// What a reservation costs in WAL, and that a server which issues nothing writes none.
#[test]
fn the_wal_of_reservations_is_small() {
    let mut cluster = Cluster::builder().set("autovacuum", "off").start();
    let mut client = cluster.connect();
    bigint(&mut client, NEXT);
    client.batch_execute("CHECKPOINT; SELECT pg_switch_wal()").expect("a new segment");
    let position = |client: &mut postgres::Client| -> String {
        client
            .query_one("SELECT pg_current_wal_insert_lsn()::text", &[])
            .expect("a position")
            .get(0)
    };
    let start = position(&mut client);
    let begun = Instant::now();
    let issued =
        bigint(&mut client, "SELECT count(snowflake_nextval()) FROM generate_series(1, 10000000)");
    let seconds = begun.elapsed().as_secs();
    let end = position(&mut client);
    // Nothing is issued for a while: nothing is reserved.
    thread::sleep(std::time::Duration::from_secs(3));
    let idle = position(&mut client);
    drop(client);
    cluster.stop();
    let records = |from: &str, to: &str| -> Vec<i64> {
        let dump = cluster
            .programs()
            .program("pg_waldump")
            .arg("--path")
            .arg(cluster.data().join("pg_wal"))
            .args(["--start", from, "--end", to])
            .output()
            .expect("pg_waldump runs");
        // "rmgr: XLOG  len (rec/tot): 49/ 174, ... desc: FPI , blkref #0: rel 1664/0/4294965250 blk
        // 0 FPW"
        let text = String::from_utf8_lossy(&dump.stdout).into_owned();
        let ours = text.lines().filter(|line| line.contains("rel 1664/0/4294965250"));
        ours.map(|line| {
            let total = line
                .split("len (rec/tot):")
                .nth(1)
                .and_then(|rest| rest.split('/').nth(1))
                .expect("a length");
            total.split(',').next().expect("a number").trim().parse().expect("a number")
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
