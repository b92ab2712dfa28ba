//! What an administrator can see and set of the durable promise.

use pgrx::datum::TimestampWithTimeZone;
use pgrx::pg_sys::panic::ErrorReport;
use pgrx::prelude::*;

use crate::encoding::text_argument;
use crate::error::Error;
use crate::reservation::administer;
use crate::settings::{self, Fixed};
use crate::time::{timestamp_in, timestamptz};
use crate::{clock, decode, register, report, reservation};

/// The time up to which IDs may have been issued, and above which every later start begins; NULL before the first ID.
/// 55000 when the register cannot be read.
#[pg_extern(volatile, strict, parallel_safe)]
fn snowflake_floor() -> Option<TimestampWithTimeZone> {
    match register::read() {
        Ok(record) => record.map(|record| timestamptz(record.floor)),
        Err(error) => Error::Register(error).raise(),
    }
}

/// Makes IDs start after `ts`, cut to the millisecond, and returns the floor. `force` allows to lower it, and to set it
/// further ahead of the clock than `snowflake.max_backward_step`. 42501 unless superuser; 55000 for what needs `force`; 25006 on a
/// standby; 22003 when the timestamp field does not hold `ts`.
#[pg_extern(volatile, strict)]
fn snowflake_set_floor(ts: TimestampWithTimeZone, force: default!(bool, false)) -> TimestampWithTimeZone {
    let fixed = authorized("set the floor of snowflake IDs");
    let floor = timestamp_in(fixed.layout, ts);
    let lead = floor - clock::unix_ms();
    if !force && settings::max_backward_step().is_some_and(|limit| lead > limit) {
        Error::FloorAhead { lead }.raise();
    }
    administer::set_floor(fixed, floor, force);
    timestamptz(floor)
}

/// Confirms what a start or a reservation was refused for, and says what that risks; false when there is nothing to
/// confirm. `what` is `layout`, `system_identifier` or `clock`. 42501 unless superuser; 22023 for anything else; 55000 for a
/// layout that would issue IDs again; 25006 on a standby.
#[pg_extern(sql = "
CREATE FUNCTION snowflake_confirm(what text) RETURNS bool LANGUAGE c VOLATILE STRICT
    AS 'MODULE_PATHNAME', '@FUNCTION_NAME@';
")]
fn snowflake_confirm(fcinfo: pg_sys::FunctionCallInfo) -> bool {
    let fixed = authorized("confirm a change for snowflake IDs");
    // SAFETY: the function is strict, and its argument is a text.
    let what = unsafe { text_argument(fcinfo, 0) };
    let (confirmed, risk) = match what.as_str() {
        "layout" => return confirm_layout(fixed),
        "system_identifier" => (
            administer::confirm_system_identifier(fixed),
            "If the server that this one was made of goes on with the same datacenter and worker ID, both issue the same IDs.",
        ),
        "clock" => (
            administer::confirm_clock(fixed),
            "If the clock is wrong, IDs run ahead of the true time for as long as it takes to catch up.",
        ),
        _ => Error::NoSuchConfirmation(what).raise(),
    };
    if confirmed {
        notice!("{risk}");
    }
    confirmed
}

/// Confirms another layout, and names what has to be made again.
fn confirm_layout(fixed: &Fixed) -> bool {
    let confirmed = administer::confirm_layout(fixed);
    if confirmed {
        let report = ErrorReport::new(
            PgSqlErrorCode::ERRCODE_SUCCESSFUL_COMPLETION,
            "IDs from before are decoded under the new epoch and widths, to other times and parts",
            "snowflake",
        );
        let report = match decode::stored_results() {
            Some(objects) => report
                .set_detail(format!("What was computed under the old ones, in this database: {objects}.")),
            None => {
                report.set_detail("In this database, nothing is stored that was computed under the old ones.")
            }
        };
        let report = report.set_hint(format!(
            "Reindex the indexes, and write generated columns again. Each other database has its own: {}",
            decode::STORED_RESULTS
        ));
        report::send(report, PgLogLevel::NOTICE);
    }
    confirmed
}

fn authorized(what: &'static str) -> &'static Fixed {
    // SAFETY: asks about the current user, in a transaction.
    if !unsafe { pg_sys::superuser() } {
        Error::NotSuperuser { what }.raise();
    }
    let fixed = settings::fixed();
    if !fixed.preloaded {
        Error::NotPreloaded.raise();
    }
    reservation::refuse_in_recovery();
    fixed
}
