//! One statement, with its locks and timeouts, while another session looks what it waits for.

use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use postgres::{Client, SimpleQueryMessage};

use crate::activity::Activity;
use crate::failure::Failure;
use crate::progress::Progress;
use crate::session::Session;
use crate::step::Step;

/// How an attempt ended.
pub struct Outcome {
    /// How long it had its locks, of tables or of rows, in milliseconds.
    pub result: Result<Option<f64>, Failure>,
    /// What was last seen while it waited.
    pub seen: Option<Activity>,
}

/// Lets autovacuums yield before the attempt: the tables, and the milliseconds after which they have.
pub struct Yielding<'a> {
    /// The tables that autovacuums have locked.
    pub tables: &'a [String],
    /// How long it may take.
    pub timeout: i32,
}

/// What a session that only observes is asked for is asked once a second.
const INTERVAL: Duration = Duration::from_secs(1);

/// Executes the statement of a step.
pub fn execute(
    session: &mut Session<'_>,
    step: &Step,
    statement: &str,
    yielding: Option<&Yielding<'_>>,
    progress: &Progress,
) -> Outcome {
    let (client, mut observer) = session.split();
    // An attempt with a budget is looked at before it gives up, which takes the time of two queries.
    let budget = Duration::from_millis(step.lock_timeout.max(0) as u64);
    let first_look = if budget.is_zero() { INTERVAL } else { budget / 3 };
    thread::scope(|scope| {
        let (ended, end) = mpsc::channel::<()>();
        let observing = scope.spawn(move || {
            let mut seen = None;
            let mut interval = first_look;
            while end.recv_timeout(interval) == Err(mpsc::RecvTimeoutError::Timeout) {
                if let Some(activity) = observer.look() {
                    if interval == INTERVAL {
                        progress.observe(&activity);
                    }
                    seen = Some(activity);
                }
                interval = INTERVAL;
            }
            seen
        });
        let result = match step.in_transaction {
            true => in_transaction(client, step, statement, yielding),
            false => alone(client, step, statement, yielding),
        };
        drop(ended);
        Outcome { result, seen: observing.join().expect("no panic") }
    })
}

/// Takes all locks within the budget, and keeps them no longer than the statement takes: everything
/// goes to the server at once, so that no way to it and back is waited for with the locks. Without
/// such locks, those that the statement takes itself, such as those of rows, have the budget each.
fn in_transaction(
    client: &mut Client,
    step: &Step,
    statement: &str,
    yielding: Option<&Yielding<'_>>,
) -> Result<Option<f64>, Failure> {
    let mut text = String::from("BEGIN;\n");
    if let Some(Yielding { tables, timeout }) = yielding {
        // This waits behind the autovacuum, but nobody's reading and writing waits behind this.
        let tables = tables.join(", ");
        text += &format!(
            "SET LOCAL statement_timeout = {timeout};\n\
             LOCK TABLE ONLY {tables} IN SHARE UPDATE EXCLUSIVE MODE;\n\
             SET LOCAL statement_timeout = 0;\n"
        );
    }
    let budget = step.lock_timeout;
    text += &match &step.locks {
        // One statement, because the timeout would begin anew with each.
        Some(locks) => format!(
            "SET LOCAL statement_timeout = {budget};\n\
             DO 'BEGIN {};\nEND';\n\
             SET LOCAL statement_timeout = 0;\n{CLOCK}",
            bare(locks).replace('\'', "''")
        ),
        None => format!("SET LOCAL lock_timeout = {budget};\n{CLOCK}"),
    };
    text += &format!("{};\nCOMMIT;\n{CLOCK}", bare(statement));
    let messages = client.simple_query(&text).map_err(|error| {
        let failure = Failure::from(error);
        if !failure.lost_session() {
            // If even this fails, the next statement says so.
            let _ = client.batch_execute("ROLLBACK");
        }
        failure
    })?;
    let times: Vec<f64> = messages.iter().filter_map(time).collect();
    Ok(times.last().zip(times.first()).map(|(end, begin)| end - begin))
}

/// What says the time, in milliseconds.
const CLOCK: &str =
    "SELECT extract(epoch FROM clock_timestamp()) * 1000 AS snowflake_widen_clock;\n";

/// A row that says the time.
fn time(message: &SimpleQueryMessage) -> Option<f64> {
    match message {
        SimpleQueryMessage::Row(row) => row.try_get("snowflake_widen_clock").ok()??.parse().ok(),
        _ => None,
    }
}

/// A statement that PostgreSQL does not execute in a transaction block is sent alone.
fn alone(
    client: &mut Client,
    step: &Step,
    statement: &str,
    yielding: Option<&Yielding<'_>>,
) -> Result<Option<f64>, Failure> {
    let budget = yielding.map_or(step.lock_timeout, |yielding| yielding.timeout);
    client.batch_execute(&format!("SET lock_timeout = {budget}"))?;
    client.batch_execute(&bare(statement))?;
    Ok(None)
}

/// A statement without what ends it, so that another one can follow.
fn bare(statement: &str) -> String {
    format!("{}\n", statement.trim_end().trim_end_matches(';'))
}
