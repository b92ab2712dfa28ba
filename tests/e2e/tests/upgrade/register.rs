//! The register of one release, read by the other.

use std::fs;

use snowflake_e2e::{INSERT, Journal, Register, value};

use super::{assert_well, former_cluster, start_with_former_library, start_with_new_library};

/// The newer library goes on above what the former one has issued, after a crash, and with a clock
/// that is behind.
#[test]
fn the_newer_library_goes_on_from_a_former_register() {
    let mut cluster = former_cluster();
    let journal = Journal::new();
    journal.take_times(&cluster, INSERT, 100);
    cluster.kill();
    cluster.set_clock("-1h");
    start_with_new_library(&mut cluster);
    journal.take_times(&cluster, INSERT, 100);
    cluster.connect().batch_execute("ALTER EXTENSION snowflake UPDATE").expect("an update");
    assert_well(&cluster);
    assert_eq!(journal.check(), 200);
}

/// The way back, whatever the format of the register is: without the register, and with a start above
/// every ID.
#[test]
fn a_server_goes_back_to_the_former_release() {
    let journal = Journal::new();
    let mut cluster = former_cluster();
    cluster.stop();
    start_with_new_library(&mut cluster);
    journal.take_times(&cluster, INSERT, 100);
    let start_after = "SELECT (snowflake_floor() + interval '1 min')::text";
    let start_after: String = value(&mut cluster.connect(), start_after);
    cluster.stop();
    fs::remove_file(Register::path(&cluster)).expect("the register");
    cluster.configure(&[("snowflake.start_after", &start_after)]);
    cluster.set_clock("-1h");
    start_with_former_library(&mut cluster);
    journal.take(&mut cluster.connect(), INSERT).expect("an ID");
    assert_eq!(journal.check(), 101);
}
