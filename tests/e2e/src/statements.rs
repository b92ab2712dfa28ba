//! Statements that have to succeed.

use postgres::Client;

use crate::cluster::Cluster;

/// Executes statements, as one transaction.
#[track_caller]
pub fn execute(client: &mut Client, statements: &str) {
    client.batch_execute(statements).unwrap_or_else(|error| panic!("{statements}: {error}"));
}

/// The single text that a query returns.
#[track_caller]
pub fn text(client: &mut Client, query: &str) -> String {
    client.query_one(query, &[]).unwrap_or_else(|error| panic!("{query}: {error}")).get(0)
}

impl Cluster {
    /// Executes statements, as one transaction, in a new session with database `postgres`.
    #[track_caller]
    pub fn execute(&self, statements: &str) {
        execute(&mut self.connect(), statements);
    }
}
