//! The register of one release, read by the other.

use std::fs;

use postgres::error::SqlState;
use snowflake_e2e::{Cluster, INSERT, Journal, NEXT, Register, bigint, error_of};

use super::{assert_well, insert, old_cluster, start_with_new_library, start_with_old_library};

/// The newer library goes on above what the older one has issued, after a crash, and with a clock
/// that is behind.
#[test]
fn the_newer_library_goes_on_from_an_older_register() {
    let mut cluster = old_cluster();
    let journal = Journal::new();
    insert(&cluster, &journal);
    cluster.kill();
    cluster.set_clock("-1h");
    start_with_new_library(&mut cluster);
    insert(&cluster, &journal);
    cluster.connect().batch_execute("ALTER EXTENSION snowflake UPDATE").expect("an update");
    assert_well(&cluster);
    assert_eq!(journal.check(), 200);
}

/// A cluster whose register the newer library has written, and that is down.
fn stopped_with_a_newer_register(journal: &Journal) -> Cluster {
    let mut cluster = old_cluster();
    cluster.stop();
    start_with_new_library(&mut cluster);
    insert(&cluster, journal);
    cluster.stop();
    cluster
}

/// The older library refuses a register that the newer one has written, and says why. Nothing is
/// lost: the newer one goes on.
#[test]
fn the_older_library_refuses_a_newer_register() {
    let journal = Journal::new();
    let mut cluster = stopped_with_a_newer_register(&journal);
    start_with_old_library(&mut cluster);
    let mut client = cluster.connect();
    for query in [NEXT, "SELECT snowflake_floor()"] {
        let error = error_of(client.query(query, &[]));
        assert_eq!(error.code(), &SqlState::OBJECT_NOT_IN_PREREQUISITE_STATE, "{error}");
        let detail = error.detail().expect("a detail");
        assert!(detail.contains("record has version 2, and this release reads up to 1"), "{error}");
        assert!(
            error.hint().is_some_and(|hint| hint.starts_with("Install the release that wrote"))
        );
    }
    assert_eq!(bigint(&mut client, "SELECT count(*) FROM orders"), 100);
    drop(client);
    cluster.stop();
    start_with_new_library(&mut cluster);
    journal.take(&mut cluster.connect(), INSERT).expect("an ID");
    assert_eq!(journal.check(), 101);
}

/// The way back: without the register, and with a floor above every ID.
#[test]
fn a_server_goes_back_to_the_older_release() {
    let journal = Journal::new();
    let mut cluster = stopped_with_a_newer_register(&journal);
    fs::remove_file(Register::path(&cluster)).expect("the register");
    start_with_old_library(&mut cluster);
    let mut client = cluster.connect();
    client.batch_execute("SELECT snowflake_set_floor(now() + interval '1 min')").expect("a floor");
    journal.take(&mut client, INSERT).expect("an ID");
    assert_eq!(journal.check(), 101);
}
