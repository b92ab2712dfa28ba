//! Errors of an ID that is observed, and what the log says of it.

use crate::pg::report::{self, ErrorReport};
use crate::pg::time;
use pgrx::prelude::*;
use snowflake_core::layout::Parts;
use snowflake_core::time::Span;

/// The error for a trigger that is fired at another event.
pub fn wrong_event() -> ErrorReport {
    report::new(
        PgSqlErrorCode::ERRCODE_E_R_I_E_TRIGGER_PROTOCOL_VIOLATED,
        "snowflake_observe_rows() must be fired BEFORE or AFTER INSERT OR UPDATE FOR EACH ROW",
    )
}

/// The error for a trigger that has other arguments than a column.
pub fn wrong_arguments() -> ErrorReport {
    report::invalid(
        "snowflake_observe_rows() needs one argument, the name of the column of the IDs",
    )
}

/// The entry of the log about an ID that is too far ahead, the last of `count`.
pub fn refused(id: i64, parts: &Parts, lead: Span, max_lead: Span, count: u64) -> ErrorReport {
    let Parts { timestamp, datacenter_id, worker_id, .. } = parts;
    report::message(format!(
        "snowflake ID {id} is {} ahead of the clock, and was not followed",
        time::interval(lead)
    ))
    .set_detail(format!(
        "Datacenter {datacenter_id}, worker {worker_id} issued it at {}. \
         snowflake.max_observed_lead is {}. IDs that were not followed since the counters were \
         reset: {count}.",
        time::display(*timestamp),
        time::interval(max_lead)
    ))
    .set_hint(
        "Compare the clocks of the two servers. If both are right, raise \
         snowflake.max_observed_lead.",
    )
}

/// The entry of the log about an ID of a replicated row that could not be followed.
pub fn failed(id: i64, message: &str) -> ErrorReport {
    report::message(format!("snowflake ID {id} of a replicated row was not followed: {message}"))
        .set_detail("The row was applied all the same.")
}

/// The entry of the log about an ID with this server's identity that it has not issued, the last of
/// `count`.
pub fn twin(id: i64, parts: &Parts, count: u64) -> ErrorReport {
    let Parts { timestamp, datacenter_id, worker_id, .. } = parts;
    report::message(format!(
        "another server issues snowflake IDs with the identity of this one: datacenter \
         {datacenter_id}, worker {worker_id}"
    ))
    .set_detail(format!(
        "ID {id}, issued at {}, was observed, and is above the last one that this server has \
         issued. Such IDs and rows since the counters were reset: {count}.",
        time::display(*timestamp)
    ))
    .set_hint(
        "If this server was promoted or restored, it might have issued the ID itself, and lost it \
         with WAL. Otherwise, give one of the two servers another identity, and restart it.",
    )
}
