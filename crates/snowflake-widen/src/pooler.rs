//! Whether two sessions are sessions of their own. A pooler that gives a client another session of
//! the server for each transaction would lose the settings, and the lock that keeps a second program
//! away.

use postgres::types::Type;
use postgres::{Client, Error};

use crate::failure::Failure;

/// The error for such a pooler.
pub fn refusal() -> Failure {
    Failure::Own(
        "this connection leads to a pooler that changes the session with each transaction".into(),
        Some("Settings and locks of a session are lost there between two statements.".into()),
        Some("Connect to the server itself, or to a pool that keeps the session.".into()),
    )
}

/// Fails unless both clients have a session of the server each. A pooler gives a client the session
/// that was free last, so an idle one gives the first client the same session again and again; it
/// cannot while another client has it in a transaction.
pub fn refuse(one: &mut Client, other: &mut Client) -> Result<(), Failure> {
    let first = pid(one)?;
    // Where the pool has one session alone, the query after this would wait for it forever.
    other.batch_execute("BEGIN; SET LOCAL idle_in_transaction_session_timeout = '5s'")?;
    let pids = (|| Ok::<_, Error>((pid(other)?, pid(one)?)))();
    let ended = other.batch_execute("ROLLBACK");
    let (second, third) = pids?;
    if first == second || first != third {
        return Err(refusal());
    }
    Ok(ended?)
}

/// The process of the session that a client has now.
pub fn pid(client: &mut Client) -> Result<i32, Error> {
    let rows = client.query_typed(
        "SELECT pg_backend_pid()",
        &[] as &[(&(dyn postgres::types::ToSql + Sync), Type)],
    )?;
    Ok(rows[0].get(0))
}
