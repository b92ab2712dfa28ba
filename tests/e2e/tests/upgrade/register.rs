//! The register of one release, read by the other.

use std::fs;

use snowflake_e2e::{Cluster, INSERT, Journal, Register};

use super::{
    assert_well, former_cluster, insert, start_with_former_library, start_with_new_library,
};

/// The newer library goes on above what the former one has issued, after a crash, and with a clock
/// that is behind.
#[test]
fn the_newer_library_goes_on_from_a_former_register() {
    let mut cluster = former_cluster();
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
    let mut cluster = former_cluster();
    cluster.stop();
    start_with_new_library(&mut cluster);
    insert(&cluster, journal);
    cluster.stop();
    cluster
}

/// The way back, whatever the format of the register is: without the register, and with a floor above
/// every ID.
#[test]
fn a_server_goes_back_to_the_former_release() {
    let journal = Journal::new();
    let mut cluster = stopped_with_a_newer_register(&journal);
    fs::remove_file(Register::path(&cluster)).expect("the register");
    start_with_former_library(&mut cluster);
    let mut client = cluster.connect();
    client.batch_execute("SELECT snowflake_set_floor(now() + interval '1 min')").expect("a floor");
    journal.take(&mut client, INSERT).expect("an ID");
    assert_eq!(journal.check(), 101);
}
