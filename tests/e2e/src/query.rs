//! Queries of tests in a session.

use postgres::error::{DbError, SqlState};
use postgres::types::FromSqlOwned;
use postgres::{Client, GenericClient};

use crate::wait::eventually;

/// Takes an ID.
pub const NEXT: &str = "SELECT snowflake_nextval()";

/// Makes the queries of a session parallel.
pub const PARALLEL: &str = "SET max_parallel_workers_per_gather = 2;
    SET min_parallel_table_scan_size = 0; SET parallel_setup_cost = 0;
    SET parallel_tuple_cost = 0; SET parallel_leader_participation = off";

/// Lets workers take IDs, as before 0.5.0, and as functions that are declared so still do.
pub const PARALLEL_SAFE: &str = "ALTER FUNCTION snowflake_nextval() PARALLEL SAFE";

/// A session, in which statements are executed.
pub trait Run {
    /// Executes statements, which have to succeed.
    fn run(&mut self, statements: &str);
}

impl<C: GenericClient> Run for C {
    #[track_caller]
    fn run(&mut self, statements: &str) {
        self.batch_execute(statements).unwrap_or_else(|error| panic!("{statements}: {error:?}"));
    }
}

/// The single value that a query returns.
#[track_caller]
pub fn value<T: FromSqlOwned>(client: &mut Client, query: &str) -> T {
    client.query_one(query, &[]).unwrap_or_else(|error| panic!("{query}: {error}")).get(0)
}

/// The single bigint that a query returns.
#[track_caller]
pub fn bigint(client: &mut Client, query: &str) -> i64 {
    value(client, query)
}

/// The server's process of a session.
pub fn process(client: &mut Client) -> i64 {
    bigint(client, "SELECT pg_backend_pid()::bigint")
}

/// All bigints that a query of one column returns, in order.
pub fn bigints(client: &mut Client, query: &str) -> Vec<i64> {
    // In one row, because the client takes microseconds for each.
    let query = format!("SELECT ARRAY({query})::bigint[]");
    value(client, &query)
}

/// The plan of a query, with the statements that it sends to other servers.
#[track_caller]
pub fn explain(client: &mut Client, query: &str) -> String {
    let query = format!("EXPLAIN (VERBOSE, COSTS OFF) {query}");
    let rows = client.query(&query, &[]).unwrap_or_else(|error| panic!("{query}: {error}"));
    rows.iter().map(|row| row.get::<_, String>(0) + "\n").collect()
}

/// A row of `snowflake_check()`: whether it is well, the detail, and the hint, if there is one.
#[track_caller]
pub fn check(client: &mut Client, name: &str) -> (bool, String, String) {
    let query = "SELECT ok, detail, coalesce(hint, '') FROM snowflake_check() WHERE name = $1";
    let row = client.query_one(query, &[&name]).unwrap_or_else(|error| panic!("{name}: {error}"));
    (row.get(0), row.get(1), row.get(2))
}

/// Asserts whether a row of `snowflake_check()` is well, and a part of its detail. Returns the
/// hint.
#[track_caller]
pub fn assert_check(client: &mut Client, name: &str, is_well: bool, part: &str) -> String {
    let (ok, detail, hint) = check(client, name);
    assert!(ok == is_well && detail.contains(part), "{name}, well: {ok}: {detail}");
    hint
}

/// Returns the error of a statement that has to fail.
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

/// Returns the error of a statement that the server refuses until something is done about it.
#[track_caller]
pub fn refusal<T>(result: Result<T, postgres::Error>) -> DbError {
    let error = error_of(result);
    assert_eq!(error.code(), &SqlState::OBJECT_NOT_IN_PREREQUISITE_STATE, "{error}");
    error
}

/// Returns the reason for which a statement was interrupted. A client whose session was terminated
/// might notice that the connection is closed before it reads the error.
pub fn interruption(error: &postgres::Error) -> &SqlState {
    error.code().unwrap_or(&SqlState::ADMIN_SHUTDOWN)
}

/// Ends the WAL segment of a cluster that archives, and waits until all of its WAL is archived.
pub fn archive_wal(client: &mut Client) {
    client.run("SELECT pg_switch_wal()");
    eventually("the WAL is archived", || {
        bigint(
            client,
            "SELECT count(*) FROM pg_ls_dir('pg_wal/archive_status') AS f WHERE f LIKE '%.ready'",
        ) == 0
    });
}

/// The interval that follows these words in a message, in seconds: `1 day 02:03:04.005`,
/// `00:00:05`.
#[track_caller]
pub fn seconds_after(words: &str, message: &str) -> f64 {
    let (_, rest) =
        message.split_once(words).unwrap_or_else(|| panic!("no {words:?} in {message}"));
    let mut rest = rest.split_whitespace().peekable();
    let first = rest.next().expect("an interval");
    let (days, time) = match rest.next_if(|word| word.starts_with("day")) {
        Some(_) => (first.parse().expect("days"), rest.next().expect("a time")),
        None => (0.0, first),
    };
    let parts = time.trim_end_matches(['.', ',']).split(':');
    let parts: Vec<f64> = parts.map(|part| part.parse().expect("a time")).collect();
    days * 86_400.0 + parts[0] * 3600.0 + parts[1] * 60.0 + parts[2]
}
