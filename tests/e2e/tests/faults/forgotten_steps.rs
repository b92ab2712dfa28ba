//! Messages for somebody who forgets a step: each on a server on which the step was left out, and
//! on one on which it was not.

use snowflake_e2e::{Cluster, assert_check, check};

use super::{NEXT, floor};

/// Asserts what a row of the check says. Returns the hint.
#[track_caller]
fn assert_row(cluster: &Cluster, name: &str, is_well: bool, part: &str) -> String {
    assert_check(&mut cluster.connect(), name, is_well, part)
}

#[track_caller]
fn assert_well(copy: &Cluster, name: &str) {
    assert_row(copy, name, true, "");
}

fn take(cluster: &Cluster) {
    cluster.run(NEXT);
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
        server.run(&format!("SELECT {call}"));
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
    let start_after: String = server.value(claim);
    server.restart_with(&[("snowflake.start_after", &start_after)]);
    assert_well(&server, "claims");
    take(&server);
    assert_well(&server, "claims");
}

/// The statements with which the pages let a handover, a restore and an upgrade end.
#[test]
fn the_last_statement_of_a_procedure_shows_what_was_forgotten() {
    let answers = |cluster: &Cluster, condition: &str| -> Option<bool> {
        cluster.value(&format!("SELECT {condition} FROM snowflake_status"))
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
