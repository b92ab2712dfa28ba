//! `make image-root`, whose tree a container mounts beside its server.

use std::path::{Path, PathBuf};
use std::process::Command;

use snowflake_e2e::{
    Cluster, ClusterBuilder, Means, Programs, Run, bigint, dump_and_restore, lacks, new_directory,
    output,
};

/// The tree that `make image-root` makes for the server.
fn make_image_root(programs: &Programs) -> PathBuf {
    let said = output(
        Command::new("make")
            .args(["-C", concat!(env!("CARGO_MANIFEST_DIR"), "/../.."), "image-root"])
            .arg(format!("PG_CONFIG={}", programs.bin().join("pg_config").display())),
    );
    let mut lines = said.lines().rev().map(str::trim);
    lines.find(|line| line.starts_with('/')).expect("a path").into()
}

/// The settings that CloudNativePG makes for an image that it mounts at this directory.
fn mounted(cluster: ClusterBuilder, directory: &Path) -> ClusterBuilder {
    let directory = directory.display();
    cluster
        .set("extension_control_path", &format!("$system:{directory}/share"))
        .set("dynamic_library_path", &format!("$libdir:{directory}/lib"))
}

/// A server that does not have the extension finds it in the tree of the image alone: it preloads
/// the library, creates the extension in two databases, restores a dump, and is upgraded.
#[test]
fn a_server_finds_the_extension_in_the_tree() {
    // extension_control_path is new there.
    if lacks(&[Means::PostgreSQL(18)]) {
        return;
    }
    let programs = Programs::from_env();
    let directory = new_directory();
    let bare = programs.without_the_extension(&directory.path().join("server"));
    let log = Cluster::builder().programs(bare.clone()).try_start().err().expect("no library");
    assert!(log.contains("could not access file \"snowflake_pg\""), "{log}");

    let image = directory.path().join("extensions/snowflake");
    std::fs::create_dir_all(image.parent().expect("a parent")).expect("a directory");
    output(Command::new("cp").arg("-r").arg(make_image_root(&programs)).arg(&image));

    let mut cluster = mounted(Cluster::builder().programs(bare.clone()), &image).start();
    let mut client = cluster.connect();
    client.run(
        "CREATE TABLE visits (id serial PRIMARY KEY);
         ALTER TABLE visits ALTER id TYPE bigint, ALTER id SET DEFAULT snowflake_nextval();
         SELECT snowflake_reversion();
         CREATE TABLE orders (id bigint PRIMARY KEY DEFAULT snowflake_nextval());
         INSERT INTO orders SELECT FROM generate_series(1, 1000)",
    );
    client.run("CREATE DATABASE other");
    assert_eq!(bigint(&mut client, "SELECT count(*) FROM orders"), 1000);
    let preloaded = "SELECT count(*) FROM snowflake_status WHERE preloaded";
    assert_eq!(bigint(&mut client, preloaded), 1);

    let mut other = cluster.connect_to("other");
    other.run("CREATE EXTENSION snowflake");
    assert!(bigint(&mut other, "SELECT snowflake_nextval()") > 0);
    dump_and_restore(&cluster, "postgres", "restored");
    cluster.stop();
    // pg_upgrade looks for the library of all functions.
    let new = mounted(Cluster::builder().programs(bare), &image).start_upgraded_from(&cluster);
    assert!(bigint(&mut new.connect_to("other"), "SELECT snowflake_nextval()") > 0);
}
