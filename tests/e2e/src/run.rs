//! Acts of most tests with clusters and sessions, each in one line.

use std::process::Output;
use std::thread;
use std::time::Duration;

use postgres::Client;
use postgres::types::FromSqlOwned;

use crate::cluster::Cluster;

/// A session, in which statements are executed.
pub trait Run {
    /// Executes statements, which have to succeed.
    fn run(&mut self, statements: &str);
}

impl Run for Client {
    #[track_caller]
    fn run(&mut self, statements: &str) {
        self.batch_execute(statements).unwrap_or_else(|error| panic!("{statements}: {error:?}"));
    }
}

/// All values that a query of one column returns, in order.
#[track_caller]
pub fn values<T: FromSqlOwned>(client: &mut Client, query: &str) -> Vec<T> {
    let rows = client.query(query, &[]).unwrap_or_else(|error| panic!("{query}: {error:?}"));
    rows.iter().map(|row| row.get(0)).collect()
}

/// The rows of `snowflake_check()` that are not well, but for that of the identity, which tests put
/// into the data directory.
#[track_caller]
pub fn failing(client: &mut Client) -> Vec<String> {
    let rows = "SELECT name || ': ' || detail FROM snowflake_check()
        WHERE NOT ok AND name <> 'origin of the identity'";
    values(client, rows)
}

impl Cluster {
    /// Executes statements, which have to succeed, in a new session.
    #[track_caller]
    pub fn run(&self, statements: &str) {
        self.connect().run(statements);
    }

    /// The same, in another database.
    #[track_caller]
    pub fn run_in(&self, database: &str, statements: &str) {
        self.connect_to(database).run(statements);
    }

    /// Runs a client program, such as pg_restore, on a database as this user.
    pub fn run_client(
        &self,
        user: &str,
        program: &str,
        database: &str,
        arguments: &[&str],
    ) -> Output {
        let mut command = self.client_program(program);
        command.env("PGUSER", user).args(["--dbname", database]).args(arguments);
        command.output().expect("the program runs")
    }
}

/// Returns the results of several threads that do the same at once. Each gets its number.
pub fn at_once<T: Send>(threads: usize, act: impl Fn(usize) -> T + Sync) -> Vec<T> {
    meanwhile(threads, act, || thread::sleep(Duration::from_millis(1)))
}

/// The same; something else is done again and again until they have ended.
pub fn meanwhile<T: Send>(
    threads: usize,
    act: impl Fn(usize) -> T + Sync,
    mut other: impl FnMut(),
) -> Vec<T> {
    thread::scope(|scope| {
        let act = &act;
        let threads: Vec<_> = (0..threads).map(|n| scope.spawn(move || act(n))).collect();
        while !threads.iter().all(|thread| thread.is_finished()) {
            other();
        }
        threads.into_iter().map(|thread| thread.join().expect("a thread")).collect()
    })
}
