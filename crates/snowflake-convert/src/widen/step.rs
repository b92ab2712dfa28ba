//! The statements of widening, in their order.

use std::thread::LocalKey;

use pgrx::pg_sys;
use snowflake_server::spi::{PlannedQuery, Row};

use super::expressions::with_shadows;
use super::unit::Unit;
use crate::obstacle::{Obstacle, wrong_argument};
use crate::rows::fields;

/// Columns and their shadows, with the indexes of the two.
macro_rules! of_indexes {
    ($($rest:literal),*) => {
        concat!(
            include_str!("../keys.sql"),
            include_str!("../depending.sql"),
            include_str!("../rebuilt.sql"),
            include_str!("shadows.sql"),
            include_str!("indexes.sql"),
            $(include_str!($rest)),*
        )
    };
}

/// The query that finds the next statement.
const STEPS: &str = of_indexes!("constraints.sql", "backfill.sql", "steps.sql");
/// The query that finds the last statement, which no swap depends on.
const ANALYZE: &str = of_indexes!("analyze.sql");

thread_local! {
    static STEPS_QUERY: PlannedQuery = const { PlannedQuery::new(STEPS) };
    static ANALYZE_QUERY: PlannedQuery = const { PlannedQuery::new(ANALYZE) };
}

/// What a call wants to reach.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Goal {
    /// Everything is there that a swap needs.
    Prepare,
}

impl Goal {
    pub fn of(text: &str) -> Result<Goal, Obstacle> {
        match text {
            "prepare" => Ok(Goal::Prepare),
            other => Err(wrong_argument(
                format!("invalid value for argument \"goal\": \"{other}\""),
                "The valid value is \"prepare\".",
            )),
        }
    }
}

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

impl Unit {
    /// What is to be executed next.
    pub fn next(&self, _goal: Goal, position: i64) -> Result<Step, Obstacle> {
        self.check_session()?;
        if let Some(obstacle) = self.obstacles().into_iter().next() {
            return Err(obstacle);
        }
        let arguments = self.arguments();
        let position = [(Some(position.into()), pg_sys::INT8OID)];
        let arguments = [&arguments[..], &position, &with_shadows(&arguments)].concat();
        let rows_of =
            |query: &'static LocalKey<PlannedQuery>| query.with(|query| query.rows_of(&arguments));
        let mut rows = rows_of(&STEPS_QUERY);
        if rows.is_empty() {
            rows = rows_of(&ANALYZE_QUERY);
        }
        let ready = || Step { phase: "ready".into(), ..Step::default() };
        Ok(rows.pop().map_or_else(ready, step))
    }
}

fn step(row: Row) -> Step {
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
