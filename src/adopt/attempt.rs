//! How the event trigger acts: in a subtransaction, which is rolled back if the attempt fails. The
//! failure becomes a warning, because nothing is wrong with the statement of the user.

use std::cell::Cell;

use pgrx::pg_sys::panic::CaughtError;
use pgrx::prelude::*;

use crate::convert::Obstacle;
use crate::server::report;
use crate::server::subtransaction::{message_of, unless_it_fails};

thread_local! {
    /// Whether the event trigger is acting. The statements that it executes fire it again.
    static IS_UNDER_WAY: Cell<bool> = const { Cell::new(false) };
}

/// Whether a statement is one of the event trigger's own.
pub fn is_under_way() -> bool {
    IS_UNDER_WAY.get()
}

/// Acts in a subtransaction, during which the event trigger ignores statements. If the act fails,
/// the subtransaction is rolled back. An error that is meant to end the statement of the user does
/// so.
pub fn attempt<T, E: From<Obstacle>>(act: impl FnOnce() -> Result<T, E>) -> Result<T, E> {
    struct Done;
    impl Drop for Done {
        fn drop(&mut self) {
            IS_UNDER_WAY.set(false);
        }
    }
    IS_UNDER_WAY.set(true);
    let _done = Done;
    unless_it_fails(act, |error| {
        let sqlstate = match &error {
            CaughtError::PostgresError(report)
            | CaughtError::ErrorReport(report)
            | CaughtError::RustPanic { ereport: report, .. } => report.sql_error_code(),
        };
        if ends_the_statement(sqlstate) {
            error.rethrow();
        }
        let message = message_of(&error);
        Err(Obstacle { sqlstate, object: String::new(), message, detail: None, hint: None }.into())
    })
}

/// Whether an error is that of a cancel, a timeout, a deadlock or a shutdown.
fn ends_the_statement(sqlstate: PgSqlErrorCode) -> bool {
    use PgSqlErrorCode::*;
    // The two characters of the class are in the lowest bits.
    let class = |sqlstate: PgSqlErrorCode| sqlstate as i32 & 0xfff;
    [ERRCODE_OPERATOR_INTERVENTION, ERRCODE_TRANSACTION_ROLLBACK]
        .into_iter()
        .any(|end| class(sqlstate) == class(end))
        || sqlstate == ERRCODE_LOCK_NOT_AVAILABLE
}

/// Says what could not be done, and why.
pub fn warn(what: &str, obstacle: Obstacle) {
    let reason = report::sentences(&obstacle.message, obstacle.detail.as_deref());
    let warning =
        report::message(what).set_detail(reason).set_hint(obstacle.hint.unwrap_or_else(|| {
            "The statement itself was executed. After you have removed the cause, call \
         snowflake_convert()."
                .into()
        }));
    report::send(warning, PgLogLevel::WARNING);
}
