//! How a plan is carried out.

use pgrx::pg_sys::panic::ErrorReport;
use pgrx::prelude::*;
use snowflake_server::{report, transaction};

use super::obstacle::Obstacle;
use super::plan::Plan;
use super::probe::Probe;
use super::statement::Step;
use super::trial::Reach;

/// The statements of a plan, which are executed unless `dry_run`. If they are, the functions that
/// triggers call have to be acknowledged, unless it is a rehearsal. The probe of a rehearsal is tried
/// after them, or where there is nothing to execute.
pub fn change(
    plan: &Plan,
    dry_run: bool,
    rehearsal: Option<&Probe>,
) -> Result<Vec<(Step, String)>, Obstacle> {
    refuse_old_snapshot()?;
    let reach = if dry_run { Reach::Plain } else { Reach::OfOwner };
    let planned = plan.statements(reach)?;
    // Read once, and not while the tables are locked: others decide how many functions there are.
    let functions = plan.functions(&planned);
    if dry_run {
        if !planned.untried.is_empty() {
            report::send(untried(&planned.untried), PgLogLevel::NOTICE);
        }
        return Ok(planned.into_rows(functions));
    }
    let Some(lock) = planned.lock() else {
        if let Some(probe) = rehearsal {
            probe.run(&planned)?;
        }
        return Ok(planned.into_rows(functions));
    };
    if rehearsal.is_none() {
        functions.check_acknowledged()?;
    }
    plan.lock_views();
    lock.execute(&planned.owner);
    planned.names.check()?;
    // Before the lock, things might have changed.
    let locked = plan.statements(Reach::OfOwner)?;
    if locked.lock() != Some(lock) {
        return Err(Obstacle::changed("the column"));
    }
    plan.execute(&locked)?;
    if let Some(probe) = rehearsal {
        probe.run(&locked)?;
    }
    Ok(locked.into_rows(functions))
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
