//! Acts of most tests with clusters and sessions, each in one line.

use std::process::Output;

use postgres::Client;
use postgres::types::FromSqlOwned;

use crate::cluster::Cluster;
use crate::query::{Run, value};

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

    /// The single value that a query returns in a new session.
    #[track_caller]
    pub fn value<T: FromSqlOwned>(&self, query: &str) -> T {
        value(&mut self.connect(), query)
    }

    /// The single bigint.
    #[track_caller]
    pub fn bigint(&self, query: &str) -> i64 {
        self.value(query)
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
