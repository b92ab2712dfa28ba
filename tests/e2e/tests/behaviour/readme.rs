//! Who follows README.md gets a server that is well, and whose clones do not issue its IDs.

use std::fs;
use std::path::Path;

use snowflake_e2e::{Cluster, bigint, values};
use snowflake_repository::{Block, page};

use super::documents::run_block;

/// Where the README puts the identity, outside the data directory.
const PLACE: &str = "/etc/snowflake";

/// The text with `PLACE` at a directory.
fn at(directory: &Path, text: &str) -> String {
    text.replace(PLACE, &directory.display().to_string())
}

/// A server that was initialized by hand, so that `postgresql.conf` is in its data directory, and
/// that was configured as the README says.
fn installed() -> Cluster {
    let builder = Cluster::builder();
    let mut cluster = builder
        .unset("shared_preload_libraries")
        .unset("snowflake.datacenter_id")
        .unset("snowflake.worker_id")
        .create();
    for block in page("README.md").section("Install").blocks() {
        if block.language == "ini" {
            configure(&cluster, &block);
        }
    }
    cluster.start_again();
    cluster
}

/// The block that preloads the library is for `postgresql.conf`, and another one for the file that
/// it includes.
fn configure(cluster: &Cluster, block: &Block) {
    let is_main = block.text.contains("shared_preload_libraries");
    let path = match is_main {
        true => cluster.data().join("postgresql.conf"),
        false => cluster.directory().join("identity.conf"),
    };
    let before = if is_main { fs::read_to_string(&path).expect("a file") } else { String::new() };
    fs::write(path, before + &at(cluster.directory(), &block.text)).expect("a file to write to");
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
