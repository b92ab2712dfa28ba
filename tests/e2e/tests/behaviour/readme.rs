//! Who follows README.md, or gives each server a file as docs/setup.md does, gets a server that is
//! well, and whose clones do not issue its IDs.

use std::fs;

use snowflake_e2e::{Cluster, NEXT, bigint, error_of, values};
use snowflake_repository::{Block, page};

use super::documents::run_block;

/// A server that was initialized by hand, so that `postgresql.conf` is in its data directory, and
/// that was configured as these blocks of a page say. Its host is called `db-1`, as far as the
/// environment can say.
fn installed(blocks: &[Block]) -> Cluster {
    let builder = Cluster::builder().environment("HOST=db-1".into());
    let mut cluster = builder.without_identity().create();
    let directory = cluster.directory().display().to_string();
    for block in blocks {
        let file = match &*block.language {
            _ if block.text.contains("include '") => "data/postgresql.conf",
            "ini" if block.text.contains("shared_preload_libraries") => "data/postgresql.conf",
            "ini" => "identity.conf",
            _ => continue,
        };
        let path = cluster.directory().join(file);
        let before = fs::read_to_string(&path).unwrap_or_default();
        let text = block.text.replace("/etc/snowflake", &directory).replace("hostname=", "HOST=");
        fs::write(path, before + &text).expect("a file to write to");
    }
    cluster.start_again();
    cluster
}

#[test]
fn the_installation_ends_with_a_check_in_which_every_row_is_ok() {
    let section = page("README.md").section("Install");
    let blocks = section.blocks();
    let cluster = installed(&blocks);
    for index in (0..blocks.len()).filter(|index| blocks[*index].language == "sql") {
        run_block(&section, index, &cluster, cluster.directory());
    }
    let mut client = cluster.connect();
    let failed = "SELECT name || ': ' || detail FROM snowflake_check() WHERE NOT ok";
    assert_eq!(values::<String>(&mut client, failed), [""; 0]);
    let worker = "SELECT snowflake_worker_id(snowflake_nextval())::bigint";
    assert_eq!(bigint(&mut client, worker), 1);
    // A clone has the same lines, and another name.
    let mut clone = cluster.base_backup(&[]);
    clone.set_environment("HOST=staging");
    clone.start_again();
    let error = error_of(clone.connect().batch_execute(NEXT));
    assert_eq!(error.message(), "snowflake.worker_id_from gives this server no worker ID");
}

/// On another machine, the file that `postgresql.conf` includes is not there.
#[test]
fn a_clone_does_not_start_before_it_has_an_identity() {
    let mut blocks = page("docs/setup.md").section("Identity").blocks();
    blocks.retain(|block| {
        ["include", "snowflake.worker_id ="].iter().any(|text| block.text.contains(text))
    });
    assert_eq!(blocks.len(), 2);
    let original = installed(&blocks);
    let mut clone = original.base_backup(&[]);
    let path = clone.data().join("postgresql.conf");
    let configuration = fs::read_to_string(&path).expect("postgresql.conf");
    let [here, there] =
        [original.directory(), clone.directory()].map(|path| path.display().to_string());
    fs::write(&path, configuration.replace(&here, &there)).expect("postgresql.conf is writable");
    assert!(clone.try_start().is_err());
    clone.assert_logged("identity.conf");
    clone.assert_logged("could not open");
}
