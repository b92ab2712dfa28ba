//! The register of one release, read by the other.

use std::fs;

use snowflake_e2e::{Cluster, INSERT, Journal, Register, assert_check, eventually};

use super::{
    assert_well, follow, former_cluster, start_with_former_library, start_with_new_library,
};

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
    cluster.run("ALTER EXTENSION snowflake UPDATE");
    assert_well(&cluster);
    assert_eq!(journal.check(), 200);
}

/// The way back, whatever the format of the register is: without the register, and with a start
/// above every ID.
#[test]
fn a_server_goes_back_to_the_former_release() {
    let journal = Journal::new();
    let mut cluster = former_cluster();
    cluster.stop();
    start_with_new_library(&mut cluster);
    journal.take_times(&cluster, INSERT, 100);
    let start_after = "SELECT (snowflake_floor() + interval '1 min')::text";
    let start_after: String = cluster.value(start_after);
    cluster.stop();
    fs::remove_file(Register::path(&cluster)).expect("the register");
    cluster.configure(&[("snowflake.start_after", &start_after)]);
    cluster.set_clock("-1h");
    start_with_former_library(&mut cluster);
    journal.take(&mut cluster.connect(), INSERT).expect("an ID");
    assert_eq!(journal.check(), 101);
}

/// A standby of the former release follows a copy, is promoted, and is followed by it in turn.
/// Neither library stumbles over what the other one wrote. The former one drops what the register
/// says of the copy, when it writes it.
#[test]
fn the_former_library_reads_the_register_of_a_copy_and_drops_what_it_says_of_that() {
    let rows = |cluster: &Cluster| cluster.bigint("SELECT count(*) FROM orders");
    let assert_row = |cluster: &Cluster, is_well: bool| {
        assert_check(&mut cluster.connect(), "restored copy", is_well, "");
    };
    let journal = Journal::new();
    let mut original = former_cluster();
    journal.take_times(&original, INSERT, 100);
    original.stop();
    start_with_new_library(&mut original);
    let mut copy = original.base_backup(&[]);
    original.kill();
    copy.start_again();
    let mut standby = copy.standby();
    standby.stop();
    start_with_former_library(&mut standby);
    journal.take_times(&copy, INSERT, 100);
    assert_row(&copy, false);
    eventually("the rows reach the standby", || rows(&standby) == 200);

    // The record that it has received is still there before it writes.
    standby.stop();
    start_with_new_library(&mut standby);
    assert_row(&standby, false);
    standby.stop();
    start_with_former_library(&mut standby);
    copy.stop();
    standby.promote();
    journal.take_times(&standby, INSERT, 100);

    follow(&mut copy, &standby);
    eventually("the rows reach the copy", || rows(&copy) == 300);
    assert_row(&copy, true);
    standby.stop();
    copy.promote();
    journal.take_times(&copy, INSERT, 100);
    assert_row(&copy, true);
    assert_eq!(journal.check(), 400);
}
