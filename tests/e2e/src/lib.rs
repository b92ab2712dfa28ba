//! Real PostgreSQL clusters for tests: each in a directory of its own, reached through a socket in
//! it.
//!
//! The server is the private copy that `tools/setup test` made and `tools/install` installed the
//! extension into; the environment variable `SNOWFLAKE_PG_CONFIG` names its `pg_config`. A cluster
//! is stopped and removed when its [`Cluster`] is dropped, and its server goes down when the test
//! process dies.

mod clock;
mod cluster;
mod deaf_client;
mod fleet;
mod http;
mod journal;
mod means;
mod programs;
mod register;
mod repack;

pub use clock::{clock_of_file, set_clock_of_file};
pub use cluster::{Cluster, ClusterBuilder, create_directory, new_directory};
pub use deaf_client::DeafClient;
pub use fleet::{
    Service, fleet_program, fleet_program_path, free_port, listening_ports, new_password,
};
pub use http::{Request, http_get};
pub use journal::{Journal, StopOnDrop};
pub use means::{Means, lacks, skip, without_network};
pub use programs::{Programs, as_server_user, is_root, kill_server};
pub use register::Register;
pub use repack::repack_under_inserts;

use postgres::Client;
use postgres::error::DbError;
use std::env;
use std::io::BufRead;
use std::process::Command;
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

/// Takes an ID.
pub const NEXT: &str = "SELECT snowflake_nextval()";

/// Inserts a row, and returns its ID.
pub const INSERT: &str = "INSERT INTO orders DEFAULT VALUES RETURNING id";

/// The table that [`INSERT`] inserts into.
pub fn create_orders(cluster: &Cluster) {
    cluster
        .connect()
        .batch_execute("CREATE TABLE orders (id bigint PRIMARY KEY DEFAULT snowflake_nextval())")
        .expect("a table");
}

/// What a program prints that has to succeed.
#[track_caller]
pub fn output(command: &mut Command) -> String {
    let output = command.output().expect("the program runs");
    let said = String::from_utf8(output.stdout).expect("UTF-8");
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command:?}: {said}{errors}");
    said
}

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

/// The plan of a query, with the statements that it sends to other servers.
#[track_caller]
pub fn explain(client: &mut Client, query: &str) -> String {
    let query = format!("EXPLAIN (VERBOSE, COSTS OFF) {query}");
    let rows = client.query(&query, &[]).unwrap_or_else(|error| panic!("{query}: {error}"));
    rows.iter().map(|row| row.get::<_, String>(0) + "\n").collect()
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

/// Calls each function of the extension in this session once, with ordinary arguments, and looks at
/// the views. None may end the server, or fail with an internal error.
#[track_caller]
pub fn call_everything(cluster: &Cluster, client: &mut Client) {
    const STARTED: &str = "SELECT (extract(epoch FROM pg_postmaster_start_time()) * 1000)::bigint";
    let calls = "
        SELECT format('SELECT * FROM %s(%s)', p.oid::regproc, string_agg(CASE a.type
                   WHEN 'bigint'::regtype THEN '1268118639732232192'
                   WHEN 'integer'::regtype THEN '1'
                   WHEN 'boolean'::regtype THEN 'false'
                   WHEN 'timestamptz'::regtype THEN 'now()'
                   WHEN 'text'::regtype THEN '''clock'''
                   WHEN 'name'::regtype THEN '''oid'''
                   WHEN 'regclass'::regtype THEN '''pg_class''' END || '::' || a.type::regtype, ', '
                   ORDER BY a.number))
        FROM pg_proc AS p JOIN pg_depend AS d ON d.classid = 'pg_proc'::regclass AND d.objid = p.oid
        JOIN pg_extension AS e ON e.oid = d.refobjid AND e.extname = 'snowflake' AND d.deptype = 'e'
        LEFT JOIN LATERAL unnest(p.proargtypes) WITH ORDINALITY AS a (type, number) ON true
        WHERE p.prorettype <> 'trigger'::regtype GROUP BY p.oid";
    let before = bigint(client, STARTED);
    let calls = client.query(calls, &[]).expect("functions");
    let mut calls: Vec<String> = calls.iter().map(|row| row.get(0)).collect();
    calls.extend(["pg_stat_snowflake", "snowflake_status"].map(|view| format!("TABLE {view}")));
    let mut failed = 0;
    for call in &calls {
        if let Err(error) = client.batch_execute(call) {
            let error = error_of::<()>(Err(error));
            println!("{call}: {} {error}", error.code().code());
            assert_ne!(error.code().code(), "XX000", "{call}: {error}");
            failed += 1;
        }
    }
    println!("{} calls, of which {failed} failed", calls.len());
    assert_eq!(bigint(&mut cluster.connect(), STARTED), before, "the server has crashed");
    assert!(!cluster.log().contains("was terminated by signal"));
}

/// Dumps a database, restores it as a new one, and asserts that a dump of that says the same.
#[track_caller]
pub fn dump_and_restore(cluster: &Cluster, database: &str, restored: &str) {
    let run =
        |program: &str, arguments: &[&str]| output(cluster.client_program(program).args(arguments));
    let dump = |database| {
        let text = run("pg_dump", &["--dbname", database]);
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

/// Ends the WAL segment of a cluster that archives, and waits until all of its WAL is archived.
pub fn archive_wal(client: &mut Client) {
    client.batch_execute("SELECT pg_switch_wal()").expect("a new segment");
    eventually("the WAL is archived", || {
        bigint(
            client,
            "SELECT count(*) FROM pg_ls_dir('pg_wal/archive_status') AS f WHERE f LIKE '%.ready'",
        ) == 0
    });
}

/// Sends a signal, such as `STOP`, to a process of a server.
#[track_caller]
pub fn signal(pid: i64, name: &str) {
    let status = Command::new("kill").arg(format!("-{name}")).arg(pid.to_string()).status();
    assert!(status.expect("kill runs").success(), "no process {pid}");
}

/// Waits until `condition` holds; panics after three minutes, which no machine that is only slow
/// takes, or after `SNOWFLAKE_PATIENCE` seconds, which `tools/break-promises` sets, since its tests
/// are expected to fail.
#[track_caller]
pub fn eventually(what: &str, mut condition: impl FnMut() -> bool) {
    let patience = env::var("SNOWFLAKE_PATIENCE")
        .map_or(180, |seconds| seconds.parse().expect("SNOWFLAKE_PATIENCE is a number of seconds"));
    let deadline = Instant::now() + Duration::from_secs(patience);
    while !condition() {
        assert!(Instant::now() < deadline, "not within {patience} seconds: {what}");
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
