//! Columns of tables without rows.

use std::cell::Cell;
use std::time::{Duration, Instant};

use pgrx::check_for_interrupts;
use pgrx::prelude::*;

use super::execution::change;
use super::functions::functions;
use super::obstacle::Obstacle;
use super::plan::{Direction, Keys, Plan, Statements};
use super::trust::Names;
use crate::server::catalog::{self, query_now};

/// Between two attempts to lock a table.
const PAUSE: Duration = Duration::from_millis(5);

/// Why a column was not converted.
pub enum NotConverted {
    /// Its table has rows, or another one that would be rewritten.
    HasRows,
    Obstacle(Obstacle),
}

impl From<Obstacle> for NotConverted {
    fn from(obstacle: Obstacle) -> NotConverted {
        NotConverted::Obstacle(obstacle)
    }
}

/// Converts a column as `snowflake_convert()` does, if no table that is concerned has rows.
pub fn convert_if_empty(keys: Keys) -> Result<(), NotConverted> {
    let direction = Direction::Convert;
    let plan = Plan { keys, direction, recreate: true, validate: true, is_report: false };
    let has_rows = Cell::new(false);
    let refuse_rows = |planned: &Statements| {
        let is_occupied = |table: &String| has_row(planned, table);
        match planned.tables.iter().find(|table| is_occupied(table)) {
            None => Ok(()),
            Some(table) => {
                has_rows.set(true);
                Err(Obstacle::changed(table))
            }
        }
    };
    let check = |planned: &Statements| {
        functions(&plan.arguments(None), None).check_acknowledged()?;
        // Those that the statement has created or changed are locked already.
        refuse_rows(planned)?;
        lock(&plan, planned)?;
        refuse_rows(planned)
    };
    match change(&plan, false, check) {
        Err(_) if has_rows.get() => Err(NotConverted::HasRows),
        result => Ok(result.map(|_| ())?),
    }
}

fn has_row(planned: &Statements, table: &str) -> bool {
    let row = format!("SELECT FROM {table} LIMIT 1");
    !catalog::as_owner(planned.owner.role, || query_now(&row, &[])).is_empty()
}

/// Locks views and tables without a place in the queue for the lock. The statement that was executed
/// has locked some tables already, so a session that waits for one of these and has locked another
/// would deadlock with one that waits here.
fn lock(plan: &Plan, planned: &Statements) -> Result<(), Obstacle> {
    // SAFETY: one of the server's settings, which is positive.
    let patience = Duration::from_millis(unsafe { pg_sys::DeadlockTimeout } as u64);
    let begin = Instant::now();
    let lock = |relation, what: &str, object: &str| {
        let mode = pg_sys::AccessExclusiveLock as i32;
        // SAFETY: the relation might be gone, and then the lock does no harm.
        while unsafe { !pg_sys::ConditionalLockRelationOid(relation, mode) } {
            if begin.elapsed() >= patience {
                return Err(Obstacle {
                    sqlstate: PgSqlErrorCode::ERRCODE_LOCK_NOT_AVAILABLE,
                    object: object.into(),
                    message: format!("could not lock {what} {object}"),
                    detail: Some("Other sessions used it for as long as deadlock_timeout.".into()),
                    hint: None,
                });
            }
            check_for_interrupts!();
            std::thread::sleep(PAUSE);
        }
        Ok(())
    };
    // In this order, as `Plan::lock_views`. A view without a name is gone.
    let views = plan.views();
    let names = Names::of(&views);
    for view in views {
        names.name(view).map_or(Ok(()), |name| lock(view, "view", name))?;
    }
    planned.names.iter().try_for_each(|(table, name)| lock(table, "table", name))
}
