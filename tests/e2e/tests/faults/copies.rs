//! The row of the check about a copy that has the identity of its original: which copies it
//! notices, that it does not forget them, what settles it, and which copies it does not notice.

use std::fs;
use std::process::Command;

use snowflake_e2e::{Cluster, Programs, Run, archive_wal, assert_check, output};

use super::{NEXT, archive, floor, recover, wait_until_heard};

const SETTLE: &str = "SELECT snowflake_set_floor(greatest(snowflake_floor(), now()))";

/// Acts that take the memory of a server away.
const STARTS: [fn(&mut Cluster); 3] = [
    Cluster::restart,
    |cluster| cluster.crash_a_backend(),
    |cluster| {
        cluster.kill();
        cluster.start_again();
    },
];

fn take(cluster: &Cluster) {
    cluster.run(NEXT);
}

/// Asserts what the row says, before and after an ID.
#[track_caller]
fn assert_copy(cluster: &Cluster, is_copy: bool) {
    assert_row(cluster, is_copy);
    take(cluster);
    assert_row(cluster, is_copy);
}

#[track_caller]
fn assert_row(cluster: &Cluster, is_copy: bool) {
    let part = if is_copy { "was restored, and has the identity of its original" } else { "" };
    let hint = assert_check(&mut cluster.connect(), "restored copy", !is_copy, part);
    let acts = ["of its own", "snowflake_set_floor(greatest(snowflake_floor(), '...'))"];
    assert!(!is_copy || acts.iter().all(|act| hint.contains(act)), "{hint}");
}

/// A copy of the files of a server, which is stopped meanwhile.
fn copy_files(original: &mut Cluster) -> Cluster {
    original.stop();
    let copy = original.beside();
    output(Command::new("cp").arg("-a").arg(original.data()).arg(copy.data()));
    copy.use_own_socket();
    original.start_again();
    copy
}

/// Until a floor is set, or the server has an identity of its own.
#[test]
fn a_clone_with_the_identity_of_its_original_shows() {
    let original = Cluster::start();
    take(&original);
    original.assert_logged("created the register");
    original.assert_logged("set a floor above");
    assert_row(&original, false);
    let copies = [(); 3].map(|()| original.base_backup(&[]));
    let later = floor(&original);
    let [mut careless, mut own, mut told] = copies;

    careless.start_again();
    assert_copy(&careless, true);
    let line = "LOG:  snowflake IDs continue after a change: restored from a backup\n";
    careless.assert_logged(line);
    careless.assert_logged("HINT:  If it was restored from a backup while the original");
    careless.run(SETTLE);
    assert_copy(&careless, false);

    own.configure(&[("snowflake.worker_id", "10")]);
    own.start_again();
    assert_copy(&own, false);
    own.assert_not_logged("HINT:  If it was restored");

    // The time of the floor itself is what the backup says, too.
    told.configure(&[("snowflake.start_after", &later)]);
    told.start_again();
    assert_copy(&told, true);
    let later =
        told.connect().query_one("SELECT (snowflake_floor() + interval '1 min')::text", &[]);
    let later: String = later.expect("a time").get(0);
    told.restart_with(&[("snowflake.start_after", &later)]);
    assert_copy(&told, false);
    told.restart();
    assert_copy(&told, false);
}

/// The verdict is in the register: whatever ends the memory of the server or carries the register
/// on keeps it, and a floor takes it away for good.
#[test]
fn a_copy_does_not_forget_its_original() {
    let original = Cluster::start();
    take(&original);
    let mut copy = original.base_backup(&[]);
    copy.start_again();
    assert_copy(&copy, true);
    for start in STARTS {
        start(&mut copy);
        assert_copy(&copy, true);
    }
    // Copies that nothing else would show: see below.
    let mut second = copy_files(&mut copy);
    second.start_again();
    assert_copy(&second, true);
    let standby = copy.standby();
    wait_until_heard(&standby);
    assert_row(&standby, true);
    standby.promote();
    assert_copy(&standby, true);
    second.restart_with(&[("snowflake.worker_id", "10")]);
    assert_copy(&second, false);
    second.restart_with(&[("snowflake.worker_id", "9")]);
    assert_copy(&second, true);

    copy.run(SETTLE);
    assert_copy(&copy, false);
    for start in STARTS {
        start(&mut copy);
        assert_copy(&copy, false);
    }
    assert_row(&original, false);
}

/// The first start takes away what shows that there was a backup. It is remembered before that,
/// also by a server without an identity.
#[test]
fn a_copy_that_is_restarted_before_its_first_id_shows() {
    let identity = |id| [("snowflake.datacenter_id", id), ("snowflake.worker_id", id)];
    let mut original = Cluster::start();
    original.restart_with(&identity("0"));
    take(&original);
    let mut copy = original.base_backup(&[]);
    copy.configure(&identity("-1"));
    copy.start_again();
    assert_row(&copy, false);
    copy.restart_with(&identity("0"));
    assert_copy(&copy, true);

    // A standby that is started as if it were none begins no timeline, and adds no margin.
    let mut standby = original.standby();
    wait_until_heard(&standby);
    standby.stop();
    fs::remove_file(standby.data().join("standby.signal")).expect("the file");
    standby.start_again();
    standby.restart();
    assert_copy(&standby, true);
}

#[test]
fn a_recovery_to_a_point_in_time_without_a_floor_shows() {
    let mut original = Cluster::builder().set("archive_mode", "on").start();
    let archive = archive(&original);
    take(&original);
    let [careless, own, told, restarted, standby] = [(); 5].map(|()| original.base_backup(&[]));
    let files = copy_files(&mut original);
    let mut client = original.connect();
    client.run("SELECT pg_create_restore_point('here')");
    // The floor of the original, after more IDs than what is recovered knows of.
    client.run("SELECT pg_sleep(2); SELECT snowflake_nextval()");
    let later = floor(&original);
    archive_wal(&mut client);
    let careless = recover(careless, &archive, &[]);
    assert_copy(&careless, true);
    careless.run(SETTLE);
    assert_copy(&careless, false);
    for (copy, setting, is_told) in [
        (own, ("snowflake.worker_id", "10"), false),
        (told, ("snowflake.start_after", &*later), true),
    ] {
        let copy = recover(copy, &archive, &[setting]);
        assert_copy(&copy, false);
        let says = copy.log().contains("snowflake.start_after is later than that.");
        assert_eq!(says, is_told, "{}", copy.log());
    }
    // Neither the backup nor the recovery is left, and a floor is set before the first ID.
    let mut restarted = recover(restarted, &archive, &[]);
    restarted.restart();
    assert_row(&restarted, true);
    restarted.run(SETTLE);
    restarted.restart();
    assert_copy(&restarted, false);
    // A standby that stops at a target is one, too.
    fs::write(standby.data().join("standby.signal"), "").expect("a file");
    let mut standby = recover(standby, &archive, &[]);
    assert_copy(&standby, true);
    // PostgreSQL has taken the other file away; from 19 on, this one, too.
    let left = fs::remove_file(standby.data().join("recovery.signal")).is_ok();
    assert_eq!(left, Programs::from_env().major() < 19);
    standby.restart();
    assert_copy(&standby, true);
    // Files that were copied while the server was down are no backup, but are recovered like one.
    assert_copy(&recover(files, &archive, &[]), true);
}

/// A standby that has followed its primary is no copy of one that runs on, as far as anybody knows;
/// nor is a server that a failover manager starts as a standby after a crash, and promotes.
#[test]
fn a_promotion_is_no_copy() {
    let mut primary = Cluster::start();
    take(&primary);
    let mut standby = primary.standby();
    wait_until_heard(&standby);
    assert_row(&standby, false);
    primary.kill();
    standby.promote();
    assert_copy(&standby, false);
    standby.restart();
    assert_copy(&standby, false);

    fs::write(primary.data().join("standby.signal"), "").expect("a file");
    primary.start_again();
    primary.promote();
    assert_copy(&primary, false);
    primary.kill();
    primary.start_again();
    assert_copy(&primary, false);
}

/// Nothing shows these copies, as the page says of the row.
#[test]
fn some_copies_do_not_show() {
    let mut original = Cluster::start();
    let mut before_the_first_id = original.base_backup(&[]);
    before_the_first_id.start_again();
    take(&original);
    assert_copy(&before_the_first_id, false);

    let mut files = copy_files(&mut original);
    files.start_again();
    assert_copy(&files, false);

    let standby = original.standby();
    wait_until_heard(&standby);
    standby.promote();
    take(&original);
    assert_copy(&standby, false);
}
