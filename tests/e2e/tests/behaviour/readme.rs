//! Who follows README.md gets a server that is well, and whose clones do not issue its IDs.

use std::fs;

use snowflake_e2e::{Cluster, bigint, values};
use snowflake_repository::page;

use super::documents::run_block;

/// A server that was initialized by hand, so that `postgresql.conf` is in its data directory, and
/// that was configured as the README says.
fn installed() -> Cluster {
    let builder = Cluster::builder();
    let mut cluster = builder
        .unset("shared_preload_libraries")
        .unset("snowflake.datacenter_id")
        .unset("snowflake.worker_id")
        .create();
    // One block is for `postgresql.conf`, and one for the file that it includes.
    let directory = cluster.directory().display().to_string();
    let section = page("README.md").section("Install");
    for block in section.blocks().iter().filter(|block| block.language == "ini") {
        let is_main = block.text.contains("shared_preload_libraries");
        let file = if is_main { "data/postgresql.conf" } else { "identity.conf" };
        let path = cluster.directory().join(file);
        let before = fs::read_to_string(&path).unwrap_or_default();
        let text = block.text.replace("/etc/snowflake", &directory);
        fs::write(path, before + &text).expect("a file to write to");
    }
    cluster.start_again();
    cluster
}

#[test]
fn the_installation_ends_with_a_check_in_which_every_row_is_ok() {
    let cluster = installed();
    let section = page("README.md").section("Install");
    let blocks = section.blocks();
    for index in (0..blocks.len()).filter(|index| blocks[*index].language == "sql") {
        run_block(&section, index, &cluster, cluster.directory());
    }
    let mut client = cluster.connect();
    let failed = "SELECT name || ': ' || detail FROM snowflake_check() WHERE NOT ok";
    assert_eq!(values::<String>(&mut client, failed), [""; 0]);
    let worker = "SELECT snowflake_worker_id(snowflake_nextval())::bigint";
    assert_eq!(bigint(&mut client, worker), 1);
}

/// On another machine, the file that `postgresql.conf` includes is not there.
#[test]
fn a_clone_does_not_start_before_it_has_an_identity() {
    let original = installed();
    let mut clone = original.base_backup(&[]);
    let path = clone.data().join("postgresql.conf");
    let configuration = fs::read_to_string(&path).expect("postgresql.conf");
    let [here, there] =
        [original.directory(), clone.directory()].map(|path| path.display().to_string());
    fs::write(&path, configuration.replace(&here, &there)).expect("postgresql.conf is writable");
    assert!(clone.try_start().is_err());
    let log = clone.log();
    assert!(log.contains("identity.conf"), "{log}");
    assert!(log.contains("could not open"), "{log}");
}
