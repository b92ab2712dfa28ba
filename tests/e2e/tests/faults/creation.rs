//! The register cannot be created: nothing is issued, nothing is left behind, and nobody else is
//! stopped. While it is being created, nobody takes it for damaged.

use std::path::PathBuf;
use std::time::Duration;
use std::{fs, thread};

use postgres::NoTls;
use postgres::error::SqlState;
use snowflake_e2e::{
    Cluster, Journal, Register, Run, assert_check, bigint, error_of, eventually, within,
};

use super::{Disk, NEXT, set_mode, take};

#[test]
fn an_error_that_is_caught_does_not_stop_checkpoints() {
    let cluster = Cluster::start();
    let global = cluster.data().join("global");
    set_mode(&global, 0o500);
    let mut client = cluster.connect();
    let mut transaction = client.transaction().expect("a transaction");
    transaction.run(
        "DO $$ BEGIN
                 PERFORM snowflake_nextval();
                 ASSERT false, 'an ID without a register';
             EXCEPTION WHEN insufficient_privilege THEN NULL;
             END $$",
    );
    set_mode(&global, 0o700);
    let config = cluster.config();
    let checkpoint = within(Duration::from_secs(30), move || {
        config.connect(NoTls).expect("a session").batch_execute("CHECKPOINT")
    });
    checkpoint.expect("a checkpoint ends while the transaction goes on").expect("a checkpoint");
    transaction.run(NEXT);
    transaction.commit().expect("committed");
}

#[test]
fn a_full_disk_leaves_nothing_behind() {
    let disk = Disk::new();
    let (mut cluster, journal) = (disk.builder().start(), Journal::new());
    let full = cluster.data().join("full");
    fs::write(&full, "").expect("root, or the owner");
    let mut client = cluster.connect();
    for _ in 0..2 {
        let error = error_of(client.query(NEXT, &[]));
        assert_eq!(error.code(), &SqlState::DISK_FULL, "{error}");
        assert!(!Register::path(&cluster).exists());
        client.run("CHECKPOINT");
    }
    fs::remove_file(&full).expect("root, or the owner");
    journal.take(&mut client, NEXT).expect("an ID");
    client.run("CHECKPOINT");
    cluster.kill();
    cluster.start_again();
    take(&journal, &cluster);
    journal.check();
}

/// The number of floors.
const FLOOR: &str = "SELECT count(snowflake_floor())";

/// Lets whoever creates the register on this server wait after the file is there, until this file
/// is removed.
fn hold_open(cluster: &Cluster) -> PathBuf {
    let late = cluster.data().join("late");
    fs::write(&late, "").expect("root, or the owner");
    late
}

fn is_held_open(cluster: &Cluster) -> bool {
    cluster.data().join("waits").exists()
        && fs::metadata(Register::path(cluster)).is_ok_and(|file| file.len() == 0)
}

/// The session that takes the first ID has created the file, and not written the page yet: whoever
/// asks waits for that.
#[test]
fn a_register_that_a_session_creates_is_not_damaged() {
    let disk = Disk::new();
    let cluster = disk.builder().start();
    let (mut watcher, mut decoder) = (cluster.connect(), cluster.connect());
    let late = hold_open(&cluster);
    let mut client = cluster.connect();
    let first = thread::spawn(move || bigint(&mut client, NEXT));
    eventually("the file is empty", || is_held_open(&cluster));
    decoder.run("SELECT snowflake_timestamp(1)");
    let mut client = cluster.connect();
    let floor = thread::spawn(move || bigint(&mut client, FLOOR));
    let mut client = cluster.connect();
    let check = thread::spawn(move || assert_check(&mut client, "register", true, "The floor is "));
    let waiting = "SELECT count(*) FROM pg_stat_activity
                   WHERE wait_event = 'snowflake_reservation' AND pid <> pg_backend_pid()";
    eventually("both wait", || {
        floor.is_finished() || check.is_finished() || bigint(&mut watcher, waiting) == 2
    });
    fs::remove_file(late).expect("root, or the owner");
    first.join().expect("an ID");
    assert_eq!(floor.join().expect("no error"), 1);
    check.join().expect("a row that is well");
}

/// Recovery has created the file, and not written the page yet: there is no register so far, as a
/// moment before.
#[test]
fn a_register_that_recovery_creates_is_not_damaged() {
    let disk = Disk::new();
    let primary = disk.builder().start();
    let standby = primary.standby();
    let (mut client, mut other) = (standby.connect(), standby.connect());
    let late = hold_open(&standby);
    primary.bigint(NEXT);
    eventually("the file is empty", || is_held_open(&standby));
    for client in [&mut client, &mut other] {
        assert_eq!(bigint(client, FLOOR), 0);
        assert_check(client, "register", true, "There is none. The first ID creates it.");
        client.run("SELECT snowflake_timestamp(1)");
    }
    fs::remove_file(late).expect("root, or the owner");
    eventually("the register is there", || bigint(&mut client, FLOOR) == 1);
    assert_check(&mut client, "register", true, "The floor is ");
    drop(primary);
    standby.promote();
    bigint(&mut other, NEXT);
}
