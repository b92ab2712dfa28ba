//! Real PostgreSQL clusters for tests: each in a directory of its own, reached through a socket in
//! it.
//!
//! The server is the private copy that `tools/setup test` made and `tools/install` installed the
//! extension into; the environment variable `SNOWFLAKE_PG_CONFIG` names its `pg_config`. A cluster
//! is stopped and removed when its [`Cluster`] is dropped, and its server goes down when the test
//! process dies.

mod cluster;
mod deaf_client;
mod journal;
mod register;
mod server;

pub use cluster::{Cluster, ClusterBuilder};
pub use deaf_client::DeafClient;
pub use journal::{Journal, StopOnDrop};
pub use register::Register;
pub use server::Server;

use postgres::Client;
use postgres::error::DbError;
use std::fs;
use std::io::BufRead;
use std::os::unix::fs::MetadataExt;
use std::process::Command;
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

/// What the server says of a statement that has to fail.
#[track_caller]
pub fn error_of<T>(result: Result<T, postgres::Error>) -> DbError {
    match result {
        Ok(_) => panic!("the statement succeeded"),
        Err(error) => match error.as_db_error() {
            Some(error) => error.clone(),
            None => panic!("not an error of the server: {error}"),
        },
    }
}

/// The single bigint that a query returns.
#[track_caller]
pub fn bigint(client: &mut Client, query: &str) -> i64 {
    client.query_one(query, &[]).unwrap_or_else(|error| panic!("{query}: {error}")).get(0)
}

/// All bigints that a query of one column returns, in order.
pub fn bigints(client: &mut Client, query: &str) -> Vec<i64> {
    let reader = client.copy_out(&format!("COPY ({query}) TO STDOUT")).expect("COPY starts");
    reader.lines().map(|line| line.expect("COPY goes on").parse().expect("a bigint")).collect()
}

/// Asserts that no ID occurs twice.
#[track_caller]
pub fn assert_distinct(mut ids: Vec<i64>) {
    let count = ids.len();
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len(), count, "{} of {count} IDs are duplicates", count - ids.len());
}

/// Asserts that each ID is greater than the one before it.
#[track_caller]
pub fn assert_increasing(ids: &[i64]) {
    if let Some(pair) = ids.windows(2).find(|pair| pair[0] >= pair[1]) {
        panic!("{} came after {}", pair[1], pair[0]);
    }
}

/// A session with another database of the cluster, as superuser.
pub fn connect_to(cluster: &Cluster, database: &str) -> Client {
    cluster.config().dbname(database).connect(postgres::NoTls).expect("a session")
}

/// Dumps a database, restores it as a new one, and asserts that a dump of that says the same.
#[track_caller]
pub fn dump_and_restore(cluster: &Cluster, database: &str, restored: &str) {
    let run = |program: &str, arguments: &[&str]| {
        let output =
            cluster.client_program(program).args(arguments).output().expect("the program runs");
        assert!(output.status.success(), "{program}: {}", String::from_utf8_lossy(&output.stderr));
        output.stdout
    };
    let dump = |database| {
        let text = String::from_utf8(run("pg_dump", &["--dbname", database])).expect("UTF-8");
        // Some versions bracket a dump with a random word.
        let lines = text
            .lines()
            .filter(|line| !line.starts_with("\\restrict") && !line.starts_with("\\unrestrict"));
        lines.map(|line| format!("{line}\n")).collect::<String>()
    };
    cluster.connect().batch_execute(&format!("CREATE DATABASE {restored}")).expect("a database");
    let file = tempfile::NamedTempFile::new().expect("a file");
    let path = file.path().to_str().expect("UTF-8");
    run("pg_dump", &["--format=custom", "--file", path, "--dbname", database]);
    run("pg_restore", &["--exit-on-error", "--dbname", restored, path]);
    let (original, copy) = (dump(database), dump(restored));
    let first = original.lines().zip(copy.lines()).find(|(one, other)| one != other);
    assert!(original == copy, "the dumps differ: {first:?}");
}

/// Sends a signal, such as `STOP`, to a process of a server.
#[track_caller]
pub fn signal(pid: i64, name: &str) {
    let status = Command::new("kill").arg(format!("-{name}")).arg(pid.to_string()).status();
    assert!(status.expect("kill runs").success(), "no process {pid}");
}

/// The user that servers run as.
pub fn server_uid() -> u32 {
    fs::metadata(Server::from_env().template()).expect("the template").uid()
}

/// Waits until `condition` holds; panics after a minute.
#[track_caller]
pub fn eventually(what: &str, mut condition: impl FnMut() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(60);
    while !condition() {
        assert!(Instant::now() < deadline, "not within a minute: {what}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// What `act` gives within the time; `None` when it takes longer. Then its thread is left behind.
pub fn within<T: Send + 'static>(
    time: Duration,
    act: impl FnOnce() -> T + Send + 'static,
) -> Option<T> {
    let (sender, receiver) = mpsc::channel();
    thread::spawn(move || sender.send(act()));
    receiver.recv_timeout(time).ok()
}
