//! Widening by hand: one row of `snowflake_widen_next()` after the other.

use postgres::{Client, Row};
use snowflake_e2e::Cluster;

/// A session of a role that owns what it creates, in a schema of its own.
pub fn owner(cluster: &Cluster, role: &str) -> Client {
    let create = format!("CREATE ROLE {role} LOGIN; CREATE SCHEMA {role} AUTHORIZATION {role}");
    cluster.connect().batch_execute(&create).expect("a role");
    cluster.config().user(role).connect(postgres::NoTls).expect("a session")
}

/// A row of `snowflake_widen_next()`.
#[derive(Debug)]
pub struct Next {
    pub phase: String,
    pub object: Option<String>,
    pub locks: Option<String>,
    pub statement: Option<String>,
    pub in_transaction: bool,
    pub position: i64,
    pub wait: Option<String>,
}

impl Next {
    fn of(row: &Row) -> Next {
        Next {
            phase: row.get("phase"),
            object: row.get("object"),
            locks: row.get("locks"),
            statement: row.get("statement"),
            in_transaction: row.get("in_transaction"),
            position: row.get("next_position"),
            wait: row.get("wait"),
        }
    }

    /// Executes it as the page says.
    pub fn execute(&self, client: &mut Client) -> Result<(), postgres::Error> {
        let statement = self.statement.as_deref().expect("a statement");
        if !self.in_transaction {
            return client.batch_execute(statement);
        }
        let locks = self.locks.as_deref().unwrap_or_default();
        let done = client.batch_execute(&format!("BEGIN; {locks} {statement}; COMMIT"));
        if done.is_err() {
            client.batch_execute("ROLLBACK").expect("no transaction");
        }
        done
    }
}

/// The arguments of a walk, after the position.
pub struct Walk<'a> {
    pub relation: &'a str,
    pub goal: &'a str,
    /// More arguments, each by its name.
    pub more: &'a str,
}

impl Walk<'_> {
    /// The next row.
    pub fn next(&self, client: &mut Client, position: i64) -> Result<Next, postgres::Error> {
        let Walk { relation, goal, more } = self;
        let call = format!(
            "SELECT * FROM snowflake_widen_next('{relation}', '{goal}', {position}{}{more})",
            if more.is_empty() { "" } else { ", " }
        );
        client.query_one(&call, &[]).map(|row| Next::of(&row))
    }

    /// Executes all statements, and calls back after each. Returns the row without a statement.
    pub fn walk(
        &self,
        client: &mut Client,
        mut each: impl FnMut(&mut Client, &Next),
    ) -> Result<Next, postgres::Error> {
        let mut position = 0;
        loop {
            let next = self.next(client, position)?;
            if next.statement.is_none() {
                return Ok(next);
            }
            next.execute(client)?;
            position = next.position;
            each(client, &next);
        }
    }
}
