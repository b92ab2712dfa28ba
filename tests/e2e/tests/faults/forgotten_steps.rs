//! What somebody is told who forgets a step: each on a server on which the step was left out, and on
//! one on which it was not.

use std::fs;

use snowflake_e2e::{Cluster, archive_wal, assert_check, check, value};

use super::{NEXT, archive, floor, recover, wait_until_heard};

const COPY: &str = "restored copy";

/// Asserts what a row of the check says. Returns the hint.
#[track_caller]
fn assert_row(cluster: &Cluster, name: &str, is_well: bool, part: &str) -> String {
    assert_check(&mut cluster.connect(), name, is_well, part)
}

#[track_caller]
fn assert_doubtful(copy: &Cluster, detail: &str) {
    let hint = assert_row(copy, COPY, false, detail);
    assert!(hint.contains("of its own") && hint.contains("snowflake_set_floor('...')"), "{hint}");
}

#[track_caller]
fn assert_well(copy: &Cluster, name: &str) {
    assert_row(copy, name, true, "");
}

fn take(cluster: &Cluster) {
    cluster.connect().batch_execute(NEXT).expect("an ID");
}

/// Asserts what the row of copies says, before and after an ID.
#[track_caller]
fn assert_copy(copy: &Cluster, doubt: Option<&str>) {
    for _ in 0..2 {
        match doubt {
            Some(doubt) => assert_doubtful(copy, doubt),
            None => assert_well(copy, COPY),
        }
        take(copy);
    }
}

const FROM_BACKUP: &str = "was started from a backup, with the identity of the original";

/// Until a floor is set, or the server has an identity of its own.
#[test]
fn a_clone_with_the_identity_of_its_original_shows() {
    let original = Cluster::start();
    take(&original);
    let log = original.log();
    assert!(log.contains("created the register") && log.contains("set a floor above"), "{log}");
    assert_well(&original, COPY);
    let copies = [(); 3].map(|()| original.base_backup(&[]));
    let later = floor(&original);
    let [mut careless, mut own, mut told] = copies;

    careless.start_again();
    assert_copy(&careless, Some(FROM_BACKUP));
    let log = careless.log();
    let line = "LOG:  snowflake IDs continue after a change: restored from a backup\n";
    assert!(log.contains(line), "{log}");
    assert!(log.contains("HINT:  If it was restored from a backup while the original"), "{log}");
    careless
        .connect()
        .batch_execute("SELECT snowflake_set_floor(now() + interval '1 min')")
        .expect("a floor");
    assert_copy(&careless, None);

    own.configure(&[("snowflake.worker_id", "10")]);
    own.start_again();
    assert_copy(&own, None);
    assert!(!own.log().contains("HINT:  If it was restored"), "{}", own.log());

    // The time of the floor itself is what the backup says, too.
    told.configure(&[("snowflake.start_after", &later)]);
    told.start_again();
    assert_doubtful(&told, FROM_BACKUP);
    told.restart();
    assert_well(&told, COPY);
}

#[test]
fn a_recovery_to_a_point_in_time_without_a_floor_shows() {
    let original = Cluster::builder().set("archive_mode", "on").start();
    let archive = archive(&original);
    let mut client = original.connect();
    client.batch_execute(NEXT).expect("an ID");
    let copies = [(); 4].map(|()| original.base_backup(&[]));
    client.batch_execute("SELECT pg_create_restore_point('here')").expect("a restore point");
    // The floor of the original, after more IDs than what is recovered knows of.
    client.batch_execute("SELECT pg_sleep(2); SELECT snowflake_nextval()").expect("an ID");
    let later = floor(&original);
    archive_wal(&mut client);
    let [careless, own, told, restarted] = copies;
    assert_copy(&recover(careless, &archive, &[]), Some(FROM_BACKUP));
    for (copy, setting, is_told) in [
        (own, ("snowflake.worker_id", "10"), false),
        (told, ("snowflake.start_after", &*later), true),
    ] {
        let copy = recover(copy, &archive, &[setting]);
        assert_copy(&copy, None);
        let says = copy.log().contains("snowflake.start_after is later than that.");
        assert_eq!(says, is_told, "{}", copy.log());
    }
    // The first start has taken the label away, but the history of the timeline tells.
    let mut restarted = recover(restarted, &archive, &[]);
    restarted.restart();
    assert_copy(&restarted, Some("A recovery to a point in time began the timeline"));
}

/// A standby that has followed its primary is no copy of one that runs on, as far as anybody knows;
/// nor is a server that a failover manager starts as a standby after a crash, and promotes.
#[test]
fn a_promotion_is_no_copy() {
    let mut primary = Cluster::start();
    take(&primary);
    let standby = primary.standby();
    wait_until_heard(&standby);
    assert_well(&standby, COPY);
    primary.kill();
    standby.promote();
    assert_copy(&standby, None);

    fs::write(primary.data().join("standby.signal"), "").expect("a file");
    primary.start_again();
    primary.promote();
    assert_copy(&primary, None);
}

/// An identity that all members share is a choice, so the row is well.
#[test]
fn a_standby_with_the_identity_of_its_primary_shows() {
    let primary = Cluster::start();
    take(&primary);
    let shared = primary.standby();
    let own = "Datacenter 5, worker 9, the same as that of the server that it follows: fence that \
               one before a promotion.";
    assert_row(&shared, "identity", true, own);
    let mut other = primary.base_backup(&["--write-recovery-conf"]);
    other.configure(&[("snowflake.worker_id", "10")]);
    other.start_again();
    assert_row(&other, "identity", true, "Datacenter 5, worker 10.");
    for promoted in [&shared, &primary] {
        if check(&mut promoted.connect(), "issues IDs").1.contains("standby") {
            promoted.promote();
        }
        assert_row(promoted, "identity", true, "Datacenter 5, worker 9.");
    }
}

/// The database that keeps the identities is one of the server that has, or had, the identity.
#[test]
fn claims_that_contradict_the_identity_show() {
    let mut server = Cluster::start();
    take(&server);
    let execute = |server: &Cluster, call: &str| {
        server.connect().batch_execute(&format!("SELECT {call}")).expect("a call");
    };
    assert_row(&server, "claims", true, "No claim in this database");
    execute(&server, "snowflake_claim_node('old', 5, 9)");
    let claimed = "Node \"old\" has claimed the identity of this server.";
    assert_eq!(assert_row(&server, "claims", true, claimed), "");
    // Released, but the server still has it.
    let release = "snowflake_release_node('old', fenced => true,
                       issued_until => clock_timestamp() + interval '1 hour')";
    execute(&server, release);
    let hint = assert_row(&server, "claims", false, "Node \"old\" released the identity");
    assert!(hint.contains("Set both IDs to -1, and restart"), "{hint}");
    // Claimed again, but the line of the floor is missing in the configuration.
    server.restart_with(&[("snowflake.worker_id", "10")]);
    execute(&server, "snowflake_claim_node('new', 5, 9)");
    server.restart_with(&[("snowflake.worker_id", "9")]);
    assert_row(&server, "claims", false, "\"new\"");
    let hint = assert_row(&server, "claims", false, "must start after");
    assert!(hint.contains("snowflake.start_after"), "{hint}");
    let claim = "SELECT start_after::text FROM snowflake_nodes WHERE name = 'new'";
    let start_after: String = value(&mut server.connect(), claim);
    server.restart_with(&[("snowflake.start_after", &start_after)]);
    assert_well(&server, "claims");
    take(&server);
    assert_well(&server, "claims");
}

/// The statements with which the pages let a handover, a restore and an upgrade end.
#[test]
fn the_last_statement_of_a_procedure_shows_what_was_forgotten() {
    let answers = |cluster: &Cluster, condition: &str| -> Option<bool> {
        value(&mut cluster.connect(), &format!("SELECT {condition} FROM snowflake_status"))
    };
    let mut old = Cluster::start();
    take(&old);
    let starts_above = format!("snowflake_floor() >= '{}'", floor(&old));
    let without_identity = "datacenter_id IS NULL OR worker_id IS NULL";
    assert_eq!(answers(&old, without_identity), Some(false));
    old.restart_with(&[("snowflake.datacenter_id", "-1"), ("snowflake.worker_id", "-1")]);
    assert_eq!(answers(&old, without_identity), Some(true));

    let mut new = Cluster::start();
    assert_ne!(answers(&new, &starts_above), Some(true), "the line was forgotten");
    new.restart_with(&[("snowflake.start_after", &floor(&old))]);
    assert_eq!(answers(&new, &starts_above), Some(true));
}
