//! Queries and statements that do no harm to the statement of the user.

use crate::pg::report;
use crate::pg::subtransaction::{message_of, unless_it_fails};
use PgSqlErrorCode::*;
use pgrx::pg_sys::panic::CaughtError;
use pgrx::prelude::*;

/// Acts in a subtransaction, and says what could not be done if it fails: nothing is wrong with the
/// statement of the user. A cancel, a timeout, a deadlock or a shutdown ends the statement.
pub fn attempt(what: &str, act: impl FnOnce() -> Result<(), String>) {
    let failure = unless_it_fails(act, |error| {
        let sqlstate = match &error {
            CaughtError::PostgresError(report)
            | CaughtError::ErrorReport(report)
            | CaughtError::RustPanic { ereport: report, .. } => report.sql_error_code(),
        };
        // The two characters of the class are in the lowest bits.
        let class = |sqlstate: PgSqlErrorCode| sqlstate as i32 & 0xfff;
        let ends = [ERRCODE_OPERATOR_INTERVENTION, ERRCODE_TRANSACTION_ROLLBACK];
        if ends.into_iter().any(|end| class(end) == class(sqlstate))
            || sqlstate == ERRCODE_LOCK_NOT_AVAILABLE
        {
            error.rethrow();
        }
        Err(message_of(&error))
    });
    if let Err(reason) = failure {
        let warning = report::warning(what).set_detail(report::sentences(&reason, None)).set_hint(
            "The statement itself was executed. After you have removed the cause, execute what \
             snowflake_conversion() prints.",
        );
        report::send(warning, PgLogLevel::WARNING);
    }
}
