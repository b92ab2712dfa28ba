//! The script for servers without the library takes the place of that of the former release.

use std::process::Command;

use snowflake_e2e::{Cluster, NEXT, Run, assert_increasing, bigint, hosted_script, output};

/// The script of the former release, which psql runs with the numbers as variables.
fn former_script() -> String {
    let releases = include_str!("../../../upgrade/releases");
    let last = releases.lines().last().expect("a release");
    let commit = last.split_whitespace().nth(1).expect("its commit");
    let mut git = Command::new("git");
    git.args(["-C", env!("CARGO_MANIFEST_DIR"), "show", &format!("{commit}:sql/hosted.sql")]);
    // From 0.5.0 on, the numbers are in the script.
    output(&mut git)
        .replace("_id CONSTANT pg_catalog.text := NULL", "_id CONSTANT pg_catalog.text := 5")
}

#[test]
fn functions_of_the_former_script_are_replaced_and_ids_go_on() {
    let cluster =
        Cluster::builder().without_identity().set("shared_preload_libraries", "").start_bare();
    let path = cluster.directory().join("former.sql");
    std::fs::write(&path, former_script()).expect("a file");
    let mut psql = cluster.client_program("psql");
    psql.args(["-Xqv", "datacenter_id=5", "-v", "worker_id=9", "-f"]).arg(path);
    output(&mut psql);
    let mut client = cluster.connect();
    let index = "CREATE TABLE orders (id bigint PRIMARY KEY DEFAULT snowflake_nextval());
                 CREATE INDEX ON orders (snowflake_timestamp(id))";
    client.run(index);
    let insert = "INSERT INTO orders DEFAULT VALUES RETURNING id";
    let mut ids = vec![bigint(&mut client, NEXT), bigint(&mut client, insert)];
    for _ in 0..2 {
        client.run(&hosted_script("5", "9"));
        ids.extend([bigint(&mut client, NEXT), bigint(&mut client, insert)]);
    }
    assert_increasing(&ids);
    assert!(bigint(&mut client, "SELECT count(*) FROM snowflake_script()") > 20);
}
