//! Functions by which an administrator sees, sets and confirms parts of the promise.

mod error;

use crate::pg::argument::text_argument;
use crate::pg::report::{self, ErrorReport, OrRaise};
use crate::pg::time::{self, timestamptz};
use crate::pg::{in_recovery, transaction};
use pgrx::datum::TimestampWithTimeZone;
use pgrx::fcinfo::pg_getarg;
use pgrx::prelude::*;
use snowflake_core::promise::{Outcome, Request};

use crate::decode::layout::{stored_results, timestamp_in};
use crate::fleet::database_layout;
use crate::horizon::transaction_end;
use crate::promise::reservation::{administer, issuer, record, refuse_in_recovery};
use crate::settings::{self, Fixed};

/// The time up to which IDs might have been issued, and above which every later start begins; NULL
/// before the first ID. On a standby, what it has received of it. 55000 when the register cannot be
/// read, or was deleted while the server runs.
#[pg_extern(volatile, strict, parallel_safe)]
fn snowflake_floor() -> Option<TimestampWithTimeZone> {
    let record = record().or_raise();
    let floor = match in_recovery() {
        false => issuer(settings::fixed()).floor(record.as_ref()),
        true => record.map(|record| record.floor),
    };
    floor.map(timestamptz)
}

/// Makes IDs start after `ts`, cut to the millisecond, and returns the floor. `force` allows to
/// lower it, to set it further ahead of the clock than `snowflake.max_backward_step`, and to set it
/// while the clock is refused. Writes the register again if it was deleted while the server runs.
/// 42501 unless superuser; 55000 for what needs `force`; 25006 on a standby and in a read-only
/// transaction; 22003 when the timestamp field does not hold `ts`.
#[pg_extern(volatile, strict)]
fn snowflake_set_floor(
    ts: TimestampWithTimeZone,
    force: default!(bool, false),
) -> TimestampWithTimeZone {
    let fixed = authorized("set the floor of snowflake IDs").or_raise();
    transaction::refuse_read_only(c"snowflake_set_floor()");
    let floor = timestamp_in(fixed.layout, ts).or_raise();
    let outcome = achieve(fixed, Request::SetFloor { floor, force }).or_raise();
    transaction_end::let_commit_wait();
    if let Outcome::FloorSet { issued } = outcome
        && floor < issued
    {
        let issued = time::display(issued);
        let report = report::warning("the floor of snowflake IDs was lowered").set_detail(format!(
            "IDs up to {issued} might have been issued, and might be issued again."
        ));
        report::send(report, PgLogLevel::WARNING);
    }
    timestamptz(floor)
}

/// Confirms the change because of which a start or a reservation is refused, and sends a notice of
/// the risk. Returns false if there is nothing to confirm. `what` is `layout`, `system_identifier`
/// or `clock`. `force` allows to confirm the system identifier of a copy that has the identity of
/// its original. 42501 unless superuser; 22023 for anything else; 55000 for a layout that would
/// issue IDs again, for what needs `force`, and for a copy without an identity; 25006 on a standby
/// and in a read-only transaction.
#[pg_extern(sql = "
CREATE FUNCTION snowflake_confirm(what text, force bool DEFAULT false) RETURNS bool
    LANGUAGE c VOLATILE STRICT AS 'MODULE_PATHNAME', '@FUNCTION_NAME@';
")]
fn snowflake_confirm(fcinfo: pg_sys::FunctionCallInfo) -> bool {
    let fixed = authorized("confirm a change for snowflake IDs").or_raise();
    transaction::refuse_read_only(c"snowflake_confirm()");
    // SAFETY: the function is strict, and its arguments are a text and a bool.
    let (what, force) = unsafe { (text_argument(fcinfo, 0), pg_getarg(fcinfo, 1) == Some(true)) };
    let mut is_confirmed = false;
    let request = match what.as_str() {
        "layout" => {
            // SAFETY: PostgreSQL calls with a function.
            let function = unsafe { (*(*fcinfo).flinfo).fn_oid };
            is_confirmed = database_layout::record(function, fixed.layout).or_raise();
            Request::ConfirmLayout
        }
        "system_identifier" => {
            Request::ConfirmSystemIdentifier { force, has_identity: fixed.identity.is_some() }
        }
        "clock" => Request::ConfirmClock,
        _ => report::invalid(format!("unrecognized confirmation: \"{what}\""))
            .set_hint("Valid values are \"layout\", \"system_identifier\" and \"clock\".")
            .raise(),
    };
    is_confirmed |= achieve(fixed, request).or_raise() == Outcome::Confirmed(true);
    if is_confirmed {
        transaction_end::let_commit_wait();
        let risk = match request {
            Request::ConfirmLayout => risk_of_layout(),
            Request::ConfirmClock => report::message(
                "If the clock is wrong, IDs run ahead of the true time for as long as it takes to \
                 catch up.",
            ),
            _ => report::message(
                "If the server that this one was copied from keeps the same datacenter and worker \
                 ID, both issue the same IDs.",
            ),
        };
        report::send(risk, PgLogLevel::NOTICE);
    }
    is_confirmed
}

/// Names what has to be rebuilt.
fn risk_of_layout() -> ErrorReport {
    let stored = match stored_results() {
        Some(objects) => {
            format!(
                "In this database, these objects store results of the old epoch and widths: \
                 {objects}."
            )
        }
        None => {
            "In this database, no object stores results of the old epoch and widths.".to_owned()
        }
    };
    report::message(
        "existing IDs are now decoded under the new epoch and widths, and give other times and \
         parts",
    )
    .set_detail(stored)
    .set_hint(
        "Rebuild the indexes and the generated columns. Confirm the layout in every other database \
         that has the extension, too.",
    )
}

/// Refuses to do this for whoever is no superuser, and where no ID is issued.
fn authorized(what: &'static str) -> Result<&'static Fixed, ErrorReport> {
    // SAFETY: asks about the current user, in a transaction.
    if !unsafe { pg_sys::superuser() } {
        return Err(report::new(
            PgSqlErrorCode::ERRCODE_INSUFFICIENT_PRIVILEGE,
            format!("must be superuser to {what}"),
        ));
    }
    let fixed = settings::require_preloading()?;
    refuse_in_recovery(what)?;
    Ok(fixed)
}

fn achieve(fixed: &Fixed, request: Request) -> Result<Outcome, ErrorReport> {
    match administer(fixed, request)? {
        Outcome::Denied(rejection) => Err(error::denied(rejection)),
        outcome => Ok(outcome),
    }
}
