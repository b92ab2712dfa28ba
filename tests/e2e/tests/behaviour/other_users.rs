//! Other users of the machine: they cannot connect to the clusters of tests, whose superuser runs
//! programs as the user who tests, and cannot put a server of their own in the place of the private
//! one.

use std::env;
use std::fs::{self, Permissions};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use snowflake_e2e::{Cluster, is_root, output, value};

/// Runs a program as a user who owns nothing.
fn as_nobody(program: &Command) -> Output {
    let mut command = Command::new("setpriv");
    command.args(["--reuid=65534", "--regid=65534", "--clear-groups", "--"]);
    command.arg(program.get_program()).args(program.get_args()).current_dir("/");
    for (name, value) in program.get_envs() {
        match value {
            Some(value) => command.env(name, value),
            None => command.env_remove(name),
        };
    }
    command.output().expect("setpriv runs")
}

/// The permissions of a file, as `chmod` takes them.
fn mode(path: &Path) -> u32 {
    fs::metadata(path).expect("a file").mode() & 0o7777
}

#[test]
fn nobody_else_gets_to_a_cluster() {
    let cluster = Cluster::start();
    let directory = cluster.directory();
    if is_root() {
        let mut psql = cluster.client_program("psql");
        let connected = as_nobody(psql.args(["--no-psqlrc", "--command", "SELECT 1"]));
        let said = String::from_utf8_lossy(&connected.stderr);
        assert!(!connected.status.success() && said.contains("Permission denied"), "{connected:?}");
        let listed = as_nobody(Command::new("ls").arg(directory));
        let said = String::from_utf8_lossy(&listed.stderr);
        assert!(!listed.status.success() && said.contains("Permission denied"), "{listed:?}");
    }
    let mut client = cluster.connect();
    assert_eq!(value::<String>(&mut client, "SHOW unix_socket_permissions"), "0700");
    assert_eq!(mode(directory), 0o700);
    assert_eq!(mode(&directory.join(".s.PGSQL.5432")), 0o700);
    // The one that the verbs of make have their clusters in.
    let above = env::temp_dir();
    let is_of_make = above
        .file_name()
        .is_some_and(|name| name.to_str().is_some_and(|name| name.starts_with("snowflake_pg.")));
    assert!(!is_of_make || mode(&above) == 0o700, "{}: {:o}", above.display(), mode(&above));
}

/// Runs commands in bash after `tools/environment`, for a tree that builds into this directory.
fn with_environment(target: &Path, commands: &str) -> Output {
    let environment = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tools/environment");
    let mut bash = Command::new("bash");
    bash.args(["-euo", "pipefail", "-c", &format!(". \"{environment}\"\n{commands}")]);
    bash.env("CARGO_TARGET_DIR", target).output().expect("bash runs")
}

/// Asserts that commands fail, and that a line of their error says this.
#[track_caller]
fn assert_refused(output: &Output, said: &str) {
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success() && stderr.contains(said), "{output:?}");
}

/// Where root builds in a place that the user of servers cannot enter, the private server is at a
/// path that everybody knows, and can create first. Nothing is run from there then.
#[test]
fn nobody_else_takes_the_place_of_the_private_server() {
    let below = tempfile::Builder::new().permissions(Permissions::from_mode(0o700)).tempdir();
    let below = below.expect("a directory for temporary files");
    let (target, mark) = (below.path().join("target"), below.path().join("mark"));
    // Other users than root run their servers themselves, and always have them in the tree.
    let find = match is_root() {
        true => "home=$(private_home)",
        false => "home=$CARGO_TARGET_DIR; own_directory \"$home\"",
    };
    let use_it = format!("{find}\nPG_CONFIG=$home/pg_config\nrequire_server");

    let find_home = || {
        let found = with_environment(&target, &format!("{find}\necho \"$home\""));
        assert!(found.status.success(), "{found:?}");
        PathBuf::from(String::from_utf8(found.stdout).expect("UTF-8").trim())
    };
    let home = find_home();
    assert_eq!((mode(&home), &find_home()), (0o755, &home));
    fs::remove_dir(&home).expect("an empty directory");

    let elsewhere = below.path().join("elsewhere");
    fs::create_dir(&elsewhere).expect("a directory");
    let at = home.display();
    let mut traps = vec![
        format!("ln -s {} {at}", elsewhere.display()),
        format!("install -d -m 775 {at}"),
        format!("install -d -m 757 {at}"),
    ];
    if is_root() {
        traps.push(format!("install -d -m 755 -o 65534 {at}"));
    } else {
        assert_refused(&with_environment(&target, "own_directory /usr"), "/usr is not a directory");
    }
    for trap in traps {
        println!("{trap}");
        output(Command::new("sh").args(["-c", &trap]));
        let program = home.join("pg_config");
        fs::write(&program, format!("#!/bin/sh\ntouch {}\n", mark.display())).expect("a file");
        fs::set_permissions(&program, Permissions::from_mode(0o755)).expect("our own");
        let used = with_environment(&target, &use_it);
        let named = format!("PG_CONFIG={}\nrequire_server", program.display());
        let named = is_root().then(|| with_environment(&target, &named));
        fs::remove_file(&program).expect("our own");
        fs::remove_dir(&home).or_else(|_| fs::remove_file(&home)).expect("our own");
        assert!(!mark.exists(), "it was run");
        for refused in [Some(used), named].iter().flatten() {
            assert_refused(refused, &format!("{at} is not a directory of this user"));
        }
    }

    let open = below.path().join("open");
    fs::create_dir(&open).expect("a directory");
    fs::set_permissions(&open, Permissions::from_mode(0o777)).expect("our own");
    let refused = with_environment(&target, &format!("own_directory {}/home", open.display()));
    assert_refused(&refused, "every user may replace");
}
