//! The register is deleted under a running server: everybody who asks is told, and what the server
//! says to do keeps the floor.

use std::{fs, thread};

use postgres::Client;
use snowflake_e2e::{
    Cluster, Register, Run, assert_check, bigint, check, error_of, eventually, refusal,
};

use super::floor::{INDEX_SCANS_ALONE, SCANS};
use super::{Disk, NEXT, begin, begin_with, confirm, set_mode, take};

/// Asserts that the check and the floor say that the register was deleted. Returns the hint.
#[track_caller]
fn assert_said(client: &mut Client) -> String {
    let hint = assert_check(client, "register", false, "was deleted while the server runs.");
    let error = refusal(client.query("SELECT snowflake_floor()", &[]));
    assert_eq!(error.hint(), Some(&*hint));
    hint
}

fn delete(cluster: &Cluster) {
    fs::remove_file(Register::path(cluster)).expect("root, or the owner");
}

/// The statement that a hint has before it names a page.
fn statement(hint: &str) -> &str {
    let statement = &hint[hint.find("SELECT").expect("a statement")..];
    statement.split_once(". See ").expect("a page").0
}

/// The page is not written any more, so checkpoints succeed without it: only the server's memory
/// says what was issued.
#[test]
fn ids_ahead_of_the_clock_do_not_come_back() {
    let (mut cluster, journal) = begin();
    let mut client = cluster.connect();
    cluster.set_clock("-10m");
    client.run("CHECKPOINT");
    delete(&cluster);
    journal.take(&mut client, NEXT).expect("an ID");
    client.run("CHECKPOINT");
    let hint = assert_said(&mut client);
    // IDs are issued, as the last row says.
    assert_check(&mut client, "issues IDs", true, "This server issues IDs.");
    journal.take(&mut client, NEXT).expect("an ID");
    client.run(statement(&hint));
    assert_check(&mut client, "register", true, "");
    client.run("SELECT snowflake_floor(); CHECKPOINT");
    journal.take(&mut client, NEXT).expect("an ID");
    cluster.crash("-10m");
    take(&journal, &cluster);
    journal.check();
}

/// A floor writes the register again, and waits for the clock to be confirmed. So that can be done
/// without the register.
#[test]
fn a_clock_is_confirmed_before_the_register_is_written_again() {
    let (cluster, journal) = begin();
    let mut client = cluster.connect();
    delete(&cluster);
    assert!(!confirm(&cluster, "clock"));
    cluster.set_clock("+3d");
    let set = "SELECT snowflake_set_floor(clock_timestamp())";
    for statement in [NEXT, set] {
        let error = error_of(client.query(statement, &[]));
        assert!(error.message().starts_with("the clock has jumped ahead by "), "{error}");
    }
    assert!(confirm(&cluster, "clock"));
    client.run(set);
    journal.take(&mut client, NEXT).expect("an ID");
    assert_check(&mut client, "register", true, "");
    journal.check();
}

#[test]
fn the_log_reports_the_deletion_with_the_next_reservation() {
    let (cluster, _) = begin();
    let mut client = cluster.connect();
    delete(&cluster);
    for offset in ["+10s", "+20s"] {
        cluster.set_clock(offset);
        client.run(NEXT);
    }
    let said = "LOG:  the register of snowflake IDs, \"global/4294965250\", was deleted while";
    assert_eq!(cluster.log().matches(said).count(), 1, "at most once a minute");
    let hint = assert_said(&mut client);
    client.run(statement(&hint));
    client.run("CHECKPOINT");
}

/// A session that had the file open writes its page to the new one: each process has closed the
/// deleted one.
#[test]
fn nobody_writes_to_the_deleted_file() {
    let (mut cluster, journal) = begin_with(Cluster::builder().set("shared_buffers", "400kB"));
    let (mut writer, mut administrator) = (cluster.connect(), cluster.connect());
    journal.take(&mut writer, NEXT).expect("an ID");
    administrator.run("CHECKPOINT");
    // The writer has the file open, to the end of its transaction.
    writer.run("BEGIN; SELECT snowflake_floor()");
    delete(&cluster);
    let hint = assert_said(&mut administrator);
    administrator.run(statement(&hint));
    // The first ID looks for the file by its name, others do not.
    journal.take(&mut administrator, NEXT).expect("an ID");
    // The latest record is in the buffer pool alone, until the writer needs the buffer.
    cluster.set_clock("+1h");
    let before = fs::read(Register::path(&cluster)).expect("the register");
    journal.take(&mut writer, NEXT).expect("an ID");
    writer.run(INDEX_SCANS_ALONE);
    eventually("the page is in the new file", || {
        writer.run(SCANS);
        fs::read(Register::path(&cluster)).expect("the register") != before
    });
    administrator.run("CHECKPOINT");
    cluster.crash("+0");
    take(&journal, &cluster);
    journal.check();
}

#[test]
fn a_standby_reports_the_deletion_and_receives_the_file_again() {
    let (primary, journal) = begin();
    let mut standby = primary.standby();
    let mut client = standby.connect();
    eventually("the register is on the standby", || check(&mut client, "register").0);
    client.run("SELECT snowflake_floor(); CHECKPOINT");
    delete(&standby);
    let hint = assert_said(&mut client);
    assert!(hint.contains("on the primary"), "{hint}");
    let issues = "This standby would issue no ID if it were promoted now, because of: register.";
    assert_check(&mut client, "issues IDs", false, issues);
    standby.kill();
    standby.start_again();
    primary.run(statement(&hint));
    let mut client = standby.connect();
    let floor = "SELECT (extract(epoch FROM snowflake_floor()) * 1000)::bigint";
    let expected = primary.bigint(floor);
    eventually("the register is on the standby", || {
        check(&mut client, "register").1 != "There is none. The first ID creates it."
    });
    assert!(bigint(&mut client, floor) >= expected);
    drop(primary);
    standby.set_clock("-1h");
    standby.promote();
    journal.take(&mut client, NEXT).expect("an ID");
    journal.check();
}

/// It cannot be opened, which is an error of PostgreSQL's own: a row, and not an end of the check.
#[test]
fn a_file_that_cannot_be_opened_is_a_row_of_the_check() {
    let (mut cluster, _) = begin();
    let path = Register::path(&cluster);
    let mut client = cluster.connect();
    set_mode(&path, 0o000);
    let denied = "ould not open file \"global/4294965250\": Permission denied.";
    assert_check(&mut client, "register", false, denied);
    // IDs are issued, from what is in memory.
    assert_check(&mut client, "issues IDs", true, "This server issues IDs.");
    client.run(NEXT);
    set_mode(&path, 0o600);
    cluster.stop();
    set_mode(&path, 0o000);
    cluster.start_again();
    let mut client = cluster.connect();
    assert_check(&mut client, "register", false, denied);
    let expected = "This server issues no ID, because of: register.";
    assert_check(&mut client, "issues IDs", false, expected);
    error_of(client.batch_execute(NEXT));
}

/// The check looks for the file and finds none, and the first ID creates it before the check asks
/// whether there has been one.
#[test]
fn a_file_that_was_just_created_is_not_reported_as_deleted() {
    let disk = Disk::new();
    let cluster = disk.builder().start();
    let look = cluster.data().join("look");
    fs::write(&look, "").expect("root, or the owner");
    let mut client = cluster.connect();
    let check = thread::spawn(move || assert_check(&mut client, "register", true, ""));
    eventually("the check has found no file", || cluster.data().join("waits").exists());
    cluster.run(NEXT);
    fs::remove_file(&look).expect("root, or the owner");
    check.join().expect("a row that is well");
}
