//! The instructions of a call, counted in a single-user server under valgrind. The count is the
//! same on a busy machine.
//!
//! The cost of a row is the cost of a query with 110,000 rows, minus that of the query with 10,000
//! rows, divided by 100,000. Under valgrind, reading the clock is a system call. The instructions
//! that read the clock are therefore not in these figures: without valgrind, they are in a page
//! that the kernel maps into the process.

use std::io::Write;
use std::path::Path;
use std::process::{ExitCode, Stdio};

use snowflake_e2e::{Cluster, as_server_user};

use crate::report::Table;

/// The most that the ID itself may take on x86-64. Other processors have other instructions, so
/// there is no limit for them.
const LIMIT: i64 = 62;

/// Rows of the longer query less those of the shorter one.
const ROWS: i64 = 100_000;

/// Counts, and prints a table. Fails when the ID itself takes more than its limit.
pub fn count() -> ExitCode {
    let mut cluster = Cluster::builder().wide_sequence().set("jit", "off").start();
    // The register is created, and the first reservation logged.
    cluster.connect().execute("SELECT snowflake_nextval()", &[]).expect("an ID");
    cluster.stop();

    let [nothing, wrapped, clock, nextval] =
        ["pg_backend_pid()", "benches.constant()", "benches.clock()", "snowflake_nextval()"]
            .map(|call| of_rows(&cluster, call));
    let id = of_one(nextval - clock);
    let mut table = Table::new("Instructions of a row", &["what", "instructions"]);
    for (what, instructions) in [
        ("a query that calls a built-in function that does nothing", of_one(nothing)),
        ("reading the clock, and converting to milliseconds", of_one(clock - nothing)),
        ("the ID itself: lock, decide, count, unlock, compose", id),
        ("for comparison: the wrapper of pgrx", of_one(wrapped - nothing)),
    ] {
        table.row(what, [instructions.to_string()]);
    }
    table.print();
    if cfg!(target_arch = "x86_64") && id > LIMIT {
        eprintln!("error: the ID itself takes more than {LIMIT} instructions");
        return ExitCode::FAILURE;
    }
    ExitCode::SUCCESS
}

fn of_one(rows: i64) -> i64 {
    (rows + ROWS / 2) / ROWS
}

/// Returns the cost of `ROWS` rows, each of which calls the function once.
fn of_rows(cluster: &Cluster, call: &str) -> i64 {
    of_query(cluster, call, 11 * ROWS / 10) - of_query(cluster, call, ROWS / 10)
}

fn of_query(cluster: &Cluster, call: &str, rows: i64) -> i64 {
    let mut server = as_server_user(Path::new("valgrind"))
        .args(["--tool=callgrind", "--callgrind-out-file=/dev/null"])
        .arg(cluster.programs().bin().join("postgres"))
        .args(["--single", "-D"])
        .arg(cluster.data())
        .arg("postgres")
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .expect("valgrind runs: make setup installs it");
    let query = format!("SELECT count({call}) FROM (SELECT generate_series(1, {rows})) AS rows;\n");
    let mut input = server.stdin.take().expect("a pipe");
    input.write_all(query.as_bytes()).expect("the server reads");
    drop(input);
    let output = server.wait_with_output().expect("the server ends");
    let errors = String::from_utf8_lossy(&output.stderr);
    let collected = errors.lines().find_map(|line| line.split_once("Collected : "));
    let collected = collected.and_then(|(_, instructions)| instructions.trim().parse().ok());
    collected.unwrap_or_else(|| panic!("nothing was counted:\n{errors}"))
}
