//! A statement of widening, and what to know of its execution.

use snowflake_server::spi::Row;

use crate::rows::fields;

/// A query that goes on from the parts that all steps have in common: columns and their shadows, with
/// the indexes and constraints of the two.
macro_rules! of_constraints {
    ($($rest:literal),*) => {
        concat!(
            include_str!("../keys.sql"),
            include_str!("../depending.sql"),
            include_str!("../stand_ins.sql"),
            include_str!("../rebuilt.sql"),
            include_str!("key_indexes.sql"),
            include_str!("shadows.sql"),
            include_str!("indexes.sql"),
            include_str!("constraints.sql"),
            $(include_str!($rest)),*
        )
    };
}
pub(super) use of_constraints;

/// A statement to execute, or what to wait for.
#[derive(Default)]
pub struct Step {
    pub phase: String,
    pub object: Option<String>,
    /// What takes all locks of the statement, in its transaction.
    pub locks: Option<String>,
    pub statement: Option<String>,
    /// How long locks may take, ms; 0 for any time.
    pub lock_timeout: i32,
    pub in_transaction: bool,
    /// Where the next call goes on.
    pub next_position: i64,
    pub done: i64,
    pub total: i64,
    pub wait: Option<String>,
}

impl Step {
    /// A row of a query.
    pub fn of(row: Row) -> Step {
        let [
            phase,
            object,
            locks,
            statement,
            lock_timeout,
            in_transaction,
            next_position,
            done,
            total,
            wait,
        ] = fields(row);
        let number =
            |text: Option<String>| text.map_or(0, |text| text.parse::<i64>().expect("a number"));
        Step {
            phase: phase.expect("a phase"),
            object,
            locks,
            statement,
            lock_timeout: number(lock_timeout) as i32,
            in_transaction: in_transaction.as_deref() == Some("t"),
            next_position: number(next_position),
            done: number(done),
            total: number(total),
            wait,
        }
    }
}
