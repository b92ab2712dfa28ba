//! The recipes of docs/setup.md that give servers their identities, run as they are
//! printed, with other paths and hosts.

use std::env;
use std::fs;
use std::process::Command;

use snowflake_e2e::{Cluster, Means, check, fleet_program, lacks, output, server_with};
use snowflake_repository::page;

/// The first block of the page that contains `mark`.
fn block(mark: &str) -> String {
    page("docs/setup.md").block(mark)
}

/// The identity of a server with these lines in its configuration, and these arguments, on a host
/// of this name, as far as the environment can say.
fn identity(lines: &str, host: &str, arguments: &[&str]) -> (i32, i32) {
    let builder = Cluster::builder().environment(format!("HOST={host}"));
    let mut server = server_with(builder.unset("shared_preload_libraries"), lines);
    let preloads = ["-c", "shared_preload_libraries=snowflake_pg"];
    server.start_with(&[&preloads, arguments].concat()).expect("a start");
    server.run("CREATE EXTENSION snowflake");
    let mut client = server.connect();
    let parts = "SELECT datacenter_id, worker_id FROM snowflake_parse(snowflake_nextval())";
    let row = client.query_one(parts, &[]).expect("an ID");
    assert!(check(&mut client, "origin of the identity").0);
    (row.get(0), row.get(1))
}

/// cloud-init's own validation accepts the file, and its commands write what a server includes.
#[test]
fn cloud_init_gives_a_server_its_identity() {
    if lacks(&[Means::Program("cloud-init")]) {
        return;
    }
    let registry = Cluster::start();
    registry.run(&block("CREATE ROLE provisioner"));
    let home = registry.directory().display();
    let mut text = block("#cloud-config");
    for (printed, here) in [
        ("host=registry dbname=operations", format!("host={home} dbname=postgres")),
        ("/etc/snowflake", format!("{home}/snowflake")),
    ] {
        assert!(text.contains(printed), "{text}");
        text = text.replace(printed, &here);
    }
    let run = |command: &mut Command| {
        // A client program of the registry's server comes first in the path of what is run.
        let (bin, path) = (registry.programs().bin(), env::var("PATH").unwrap_or_default());
        command.env("PATH", format!("{}:{path}", bin.display()));
        output(command.env("HOME", registry.directory()).env("LC_ALL", "C.UTF-8"))
    };
    let file = registry.directory().join("cloud.yaml");
    fs::write(&file, &text).expect("a directory to write to");
    let said = run(fleet_program("cloud-init").args(["schema", "--config-file"]).arg(&file));
    // Versions continue in different words.
    assert!(said.contains("Valid "), "{said}");
    let (_, script) = text.split_once("- |\n").expect("a script");
    run(Command::new("sh").args(["-ec", script]));
    assert_eq!(identity(&format!("include '{home}/snowflake/identity.conf'\n"), "", &[]), (0, 0));
}

/// All pods have the same arguments.
#[test]
fn a_stateful_set_gives_each_pod_its_identity() {
    let manifest = block("kind: StatefulSet");
    let (_, arguments) = manifest.split_once("args:\n").expect("arguments");
    let arguments = arguments.replace("hostname=", "HOST=");
    let arguments: Vec<&str> =
        arguments.lines().map(|line| line.trim().trim_start_matches("- ")).collect();
    for (host, worker) in [("db-0", 0), ("db-2", 2)] {
        assert_eq!(identity("", host, &arguments), (1, worker));
    }
}
