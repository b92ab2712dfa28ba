//! Other users of the machine: they cannot connect to the clusters of tests, whose superuser runs
//! programs as the user who tests.

use std::env;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::process::{Command, Output};

use snowflake_e2e::{Cluster, bigint};

/// Whether this runs as root, who can become another user.
fn is_root() -> bool {
    fs::metadata("/proc/self").expect("/proc").uid() == 0
}

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
fn they_do_not_get_to_a_cluster() {
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
    let permissions = client.query_one("SHOW unix_socket_permissions", &[]).expect("a setting");
    assert_eq!(permissions.get::<_, &str>(0), "0700");
    assert_eq!(mode(directory), 0o700);
    assert_eq!(mode(&directory.join(".s.PGSQL.5432")), 0o700);
    // The one that the verbs of make have their clusters in.
    let above = env::temp_dir();
    let is_of_make = above
        .file_name()
        .is_some_and(|name| name.to_str().is_some_and(|name| name.starts_with("snowflake_pg.")));
    assert!(!is_of_make || mode(&above) == 0o700, "{}: {:o}", above.display(), mode(&above));
}

/// A cluster that somebody lets listen on a port asks for more than the name of the superuser.
#[test]
fn they_are_not_let_in_over_tcp() {
    let cluster = Cluster::start();
    let mut client = cluster.connect();
    let addresses = client.query_one("SHOW listen_addresses", &[]).expect("a setting");
    assert_eq!(addresses.get::<_, &str>(0), "");
    let rules = "SELECT count(*) FROM pg_hba_file_rules WHERE type LIKE 'host%'";
    assert!(bigint(&mut client, rules) > 0);
    assert_eq!(bigint(&mut client, &format!("{rules} AND auth_method <> 'reject'")), 0);
}
