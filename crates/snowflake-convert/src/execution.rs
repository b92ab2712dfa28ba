//! How a plan is carried out.

use pgrx::pg_sys::panic::ErrorReport;
use pgrx::prelude::*;
use snowflake_server::{report, transaction};

use super::obstacle::Obstacle;
use super::plan::Plan;
use super::statement::Step;
use super::trial::Reach;

/// The statements of a plan, which are executed unless `dry_run`, if `check` allows it.
pub fn change(
    plan: &Plan,
    dry_run: bool,
    check: impl FnOnce() -> Result<(), Obstacle>,
) -> Result<Vec<(Step, String)>, Obstacle> {
    refuse_old_snapshot()?;
    if dry_run {
        let statements = plan.statements(Reach::Plain)?;
        if !statements.untried.is_empty() {
            report::send(untried(&statements.untried), PgLogLevel::NOTICE);
        }
        return Ok(statements.into_rows());
    }
    let planned = plan.statements(Reach::OfOwner)?;
    let Some(lock) = planned.lock() else { return Ok(planned.into_rows()) };
    check()?;
    plan.lock_views();
    lock.execute(&planned.owner);
    planned.names.check()?;
    // Before the lock, things might have changed.
    let locked = plan.statements(Reach::OfOwner)?;
    if locked.lock() != Some(lock) {
        return Err(Obstacle::changed("the column"));
    }
    plan.execute(&locked)?;
    Ok(locked.into_rows())
}

fn untried(untried: &[Obstacle]) -> ErrorReport {
    let all: Vec<&str> = untried.iter().map(|obstacle| obstacle.message.as_str()).collect();
    report::message("not everything was tested with the next ID")
        .set_detail(format!(
            "The following could not be ruled out, because a test could run code of users: {}.",
            all.join("; ")
        ))
        .set_hint("Call snowflake_convert() with rehearse => true to test it.")
}

/// New keys start above those that are there, so all of them have to be seen.
fn refuse_old_snapshot() -> Result<(), Obstacle> {
    if !transaction::keeps_snapshot() {
        return Ok(());
    }
    Err(Obstacle {
        sqlstate: PgSqlErrorCode::ERRCODE_ACTIVE_SQL_TRANSACTION,
        object: String::new(),
        message: "columns cannot be converted in a REPEATABLE READ or SERIALIZABLE transaction"
            .into(),
        detail: Some(
            "Such a transaction does not see rows that were committed after it began, and the \
             start of new keys depends on them."
                .into(),
        ),
        hint: Some("Use a READ COMMITTED transaction.".into()),
    })
}
