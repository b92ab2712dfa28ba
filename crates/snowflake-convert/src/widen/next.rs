//! Which statement comes next.

use std::cell::Cell;
use std::thread::LocalKey;

use pgrx::prelude::*;
use snowflake_server::spi::PlannedQuery;
use snowflake_server::transaction::{self, catalog_changes, has_changed_nothing};

use super::step::{Step, of_constraints};
use super::swap::Swap;
use super::unit::Unit;
use crate::obstacle::{Obstacle, wrong_argument};

/// The query that finds the next statement on the way to a swap.
const STEPS: &str = of_constraints!("backfill.sql", "steps.sql", "next.sql");
/// The query that finds the next statement in the midst of a table.
const FILL: &str = concat!(
    include_str!("../keys.sql"),
    include_str!("shadows.sql"),
    include_str!("backfill.sql"),
    include_str!("fill.sql")
);
/// The query that finds the last statement, which no swap depends on.
const ANALYZE: &str = of_constraints!("analyze.sql");
/// The query that finds the next statement on the way back.
const ABANDON: &str = concat!(include_str!("../keys.sql"), include_str!("abandon.sql"));

thread_local! {
    static STEPS_QUERY: PlannedQuery = const { PlannedQuery::new(STEPS) };
    static FILL_QUERY: PlannedQuery = const { PlannedQuery::new(FILL) };
    static ANALYZE_QUERY: PlannedQuery = const { PlannedQuery::new(ANALYZE) };
    static ABANDON_QUERY: PlannedQuery = const { PlannedQuery::new(ABANDON) };
    /// The number of the last swap that this session has made, and the state of the catalog before.
    static SWAP_OF_STATE: Cell<Option<(i64, u64)>> = const { Cell::new(None) };
}

/// What a call wants to reach.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Goal {
    /// Everything is there that a swap needs.
    Prepare,
    /// The shadows are in the places of the columns.
    Swap,
    /// Everything is as it was before.
    Abandon,
}

impl Goal {
    pub fn of(text: &str) -> Result<Goal, Obstacle> {
        match text {
            "prepare" => Ok(Goal::Prepare),
            "swap" => Ok(Goal::Swap),
            "abandon" => Ok(Goal::Abandon),
            other => Err(wrong_argument(
                format!("invalid value for argument \"goal\": \"{other}\""),
                "Valid values are \"prepare\", \"swap\" and \"abandon\".",
            )),
        }
    }
}

impl Unit {
    /// What is to be executed next. In the midst of a table, only the backfill goes on: to look for
    /// everything else takes as long as copying some thousand rows, and is done before each table.
    pub fn next(&self, goal: Goal, position: i64) -> Result<Step, Obstacle> {
        self.check_session()?;
        if goal == Goal::Abandon {
            let row = ABANDON_QUERY.with(|query| query.rows_of(&self.arguments())).swap_remove(0);
            return Ok(Step::of(row));
        }
        if position != 0 && goal == Goal::Prepare {
            let arguments = self.arguments_of_fill(position);
            if let Some(row) = FILL_QUERY.with(|query| query.rows_of(&arguments)).pop() {
                return Ok(Step::of(row));
            }
        }
        if let Some(obstacle) = self.obstacles().into_iter().next() {
            return Err(obstacle);
        }
        let arguments = self.arguments_of_steps(position);
        let rows_of =
            |query: &'static LocalKey<PlannedQuery>| query.with(|query| query.rows_of(&arguments));
        let step = Step::of(rows_of(&STEPS_QUERY).swap_remove(0));
        match (goal, step.phase.as_str()) {
            // Before anything is touched, what would hold back a later statement is looked for, too.
            (Goal::Prepare, "shadow columns") => {
                self.later_obstacles().into_iter().next().map_or(Ok(step), Err)
            }
            (Goal::Prepare, "ready") => Ok(rows_of(&ANALYZE_QUERY).pop().map_or(step, Step::of)),
            (Goal::Swap, _) if step.phase != "done" && step.wait.is_none() => {
                self.remembered_swap()
            }
            _ => Ok(step),
        }
    }

    /// 55000 unless everything is prepared.
    fn prepared_swap(&self) -> Result<Swap, Obstacle> {
        let swap = self.swap().map_err(first)?;
        let Some((phase, object)) = &swap.lacking else { return Ok(swap) };
        Err(Obstacle {
            sqlstate: PgSqlErrorCode::ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE,
            object: self.name(),
            message: format!("not everything is prepared for the swap of {}", self.name()),
            detail: Some(format!("The next phase is \"{phase}\", for {object}.")),
            hint: Some(
                "First call snowflake-widen prepare, or execute the statements for the goal \
                 \"prepare\"."
                    .into(),
            ),
        })
    }

    /// The same, and remembers of which state of the catalog it is.
    fn remembered_swap(&self) -> Result<Step, Obstacle> {
        let state = catalog_changes();
        let swap = self.prepared_swap()?;
        SWAP_OF_STATE.set(Some((swap.digest, state)));
        Ok(swap.step)
    }

    /// 40001 unless the swap is the one that this number stands for; 25001 in a transaction that does not
    /// see what was changed since it began. Where the session has made it, and nobody has changed anything
    /// in the catalog since, it is that one: asking for it again would take longer than the swap.
    pub fn check_swap(&self, digest: i64) -> Result<(), Obstacle> {
        if transaction::keeps_snapshot() {
            return Err(Obstacle {
                sqlstate: PgSqlErrorCode::ERRCODE_ACTIVE_SQL_TRANSACTION,
                object: self.name(),
                message:
                    "a swap cannot be executed in a REPEATABLE READ or SERIALIZABLE transaction"
                        .into(),
                detail: None,
                hint: Some("Use a READ COMMITTED transaction.".into()),
            });
        }
        self.check_session()?;
        let state = SWAP_OF_STATE.take();
        if has_changed_nothing() && state == Some((digest, catalog_changes())) {
            return Ok(());
        }
        match self.prepared_swap()?.digest == digest {
            true => Ok(()),
            false => Err(Obstacle {
                sqlstate: PgSqlErrorCode::ERRCODE_T_R_SERIALIZATION_FAILURE,
                object: self.name(),
                message: format!("{} was changed since the statement was made", self.name()),
                detail: None,
                hint: Some("Call snowflake_widen_next() again.".into()),
            }),
        }
    }
}

fn first(mut obstacles: Vec<Obstacle>) -> Obstacle {
    obstacles.swap_remove(0)
}
