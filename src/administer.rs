//! What an administrator can see, set and confirm of the promise.

use pgrx::datum::TimestampWithTimeZone;
use pgrx::fcinfo::pg_getarg;
use pgrx::prelude::*;
use snowflake_core::generator::Generator;
use snowflake_core::jump::Verdict;
use snowflake_core::register::{GoesBack, Issuer, NO_TIMELINE, Record, RecordError};

use crate::clock;
use crate::decode::layout::{stored_results, timestamp_in};
use crate::dumps;
use crate::generator::shared;
use crate::promise::reservation::{issuer, locked, record, refuse_in_recovery};
use crate::promise::{Error, register, replication, restored};
use crate::server::encoding::text_argument;
use crate::server::in_recovery;
use crate::server::report::{self, OrRaise, Report};
use crate::server::time::{self, timestamptz};
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
/// 42501 unless superuser; 55000 for what needs `force`; 25006 on a standby; 22003 when the
/// timestamp field does not hold `ts`.
#[pg_extern(volatile, strict)]
fn snowflake_set_floor(
    ts: TimestampWithTimeZone,
    force: default!(bool, false),
) -> TimestampWithTimeZone {
    let fixed = authorized("set the floor of snowflake IDs").or_raise();
    let floor = timestamp_in(fixed.layout, ts).or_raise();
    let issued = set_floor(fixed, floor, force).or_raise();
    restored::settle();
    replication::let_commit_wait();
    if floor < issued {
        let issued = time::display(issued);
        let report =
            report::new(PgSqlErrorCode::ERRCODE_WARNING, "the floor of snowflake IDs was lowered")
                .set_detail(format!(
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
/// issue IDs again, for what needs `force`, and for a copy without an identity; 25006 on a standby.
#[pg_extern(sql = "
CREATE FUNCTION snowflake_confirm(what text, force bool DEFAULT false) RETURNS bool
    LANGUAGE c VOLATILE STRICT AS 'MODULE_PATHNAME', '@FUNCTION_NAME@';
")]
fn snowflake_confirm(fcinfo: pg_sys::FunctionCallInfo) -> bool {
    let fixed = authorized("confirm a change for snowflake IDs").or_raise();
    // SAFETY: the function is strict, and its arguments are a text and a bool.
    let (what, force) = unsafe { (text_argument(fcinfo, 0), pg_getarg(fcinfo, 1) == Some(true)) };
    let confirmed = match what.as_str() {
        "layout" => {
            // SAFETY: PostgreSQL calls with a function.
            let function = unsafe { (*(*fcinfo).flinfo).fn_oid };
            let is_new_here = dumps::record(function, fixed.layout).or_raise();
            confirm_layout(fixed).map(|is_new| is_new || is_new_here)
        }
        "system_identifier" => confirm_system_identifier(fixed, force),
        "clock" => confirm_clock(fixed),
        _ => Error::NoSuchConfirmation(what.clone()).raise(),
    };
    let confirmed = confirmed.or_raise();
    if confirmed {
        replication::let_commit_wait();
        let risk = match what.as_str() {
            "layout" => risk_of_layout(),
            "clock" => report::message(
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
    confirmed
}

/// Names what has to be rebuilt.
fn risk_of_layout() -> pg_sys::panic::ErrorReport {
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

fn authorized(what: &'static str) -> Result<&'static Fixed, Error> {
    // SAFETY: asks about the current user, in a transaction.
    if !unsafe { pg_sys::superuser() } {
        return Err(Error::NotSuperuser { what });
    }
    let fixed = settings::require_preloading()?;
    refuse_in_recovery(what)?;
    Ok(fixed)
}

/// Puts the floor at `floor`, in milliseconds since the Unix epoch, and lets the next ID begin
/// above it. Refuses to go below what has been issued, to take the place of a record that is not
/// this server's own, and to set anything by a clock that is refused or far behind, unless forced.
/// Returns the time up to which IDs might have been issued before.
fn set_floor(fixed: &Fixed, floor: i64, force: bool) -> Result<i64, Error> {
    let closed = register::close_deleted();
    locked(|reservations, _| {
        let issuer = issuer(fixed);
        let found = register::read();
        // Nobody takes an ID of a later millisecond before the new floor is in force.
        let frozen = shared::freeze();
        let recorded = found.as_ref().ok().copied().flatten();
        let least = frozen.timestamp().max(recorded.map_or(i64::MIN, |record| record.floor));
        if !force {
            may_replace(&issuer, found)?;
            let clocks = clock::clocks();
            // A floor is no confirmation of the clock. IDs above one that is ahead of a wrong clock
            // would follow that clock. If a start is refused for another reason, the clock is not
            // what is in the way.
            if let Ok(Some((Verdict::Refuse, jump))) =
                reservations.verdict_on(&issuer, recorded.as_ref(), clocks)
            {
                return Err(Error::ClockAhead(jump));
            }
            let lead = floor - clocks.wall;
            if settings::MAX_BACKWARD_STEP.limit().is_some_and(|limit| lead > limit) {
                return Err(Error::FloorAhead { lead });
            }
            if floor < least {
                return Err(Error::FloorLowered { floor: least });
            }
        }
        let timeline = match recorded {
            // A promotion that has not begun yet adds its margin to the new floor, too.
            Some(record) if record.system_identifier == issuer.system_identifier => record.timeline,
            Some(_) => NO_TIMELINE,
            None => issuer.timeline,
        };
        // Nor is one that is set by force and is below the clock.
        let written = recorded.map_or_else(clock::clocks, |record| record.written);
        let record = Record { timeline, ..issuer.record(floor, written) };
        register::overwrite(&record, &closed)?;
        // The lead of the floor is not a step of the clock, however large it is: the next ID begins
        // above the floor.
        let last_timestamp = fixed.layout.last_timestamp();
        frozen.restart(Generator::starting_after(record.floor, i64::MAX, last_timestamp));
        reservations.begin_again();
        Ok(least)
    })
}

/// Whether what was found may be replaced without force: a record of this server's own, or nothing.
fn may_replace(
    issuer: &Issuer,
    found: Result<Option<Record>, register::Error>,
) -> Result<(), Error> {
    use RecordError::{Damaged, OlderVersion};
    match found {
        Ok(Some(record)) => {
            issuer.check_owner(&record).map_err(|error| Error::of_start(error, &record))
        }
        Ok(None)
        | Err(
            register::Error::Record(Damaged | OlderVersion(_)) | register::Error::Deleted { .. },
        ) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

/// Takes over the record of the system that this one was copied from. Refuses to continue with the
/// identity of that one, unless forced.
fn confirm_system_identifier(fixed: &Fixed, force: bool) -> Result<bool, Error> {
    locked(|_, _| {
        let issuer = issuer(fixed);
        change(|record| {
            if record.system_identifier == issuer.system_identifier {
                return Ok(None);
            }
            if fixed.identity.is_none() {
                return Err(settings::Error::NoIdentity.into());
            }
            if issuer.writer.has_identity_of(&record.writer) && !force {
                return Err(Error::IdentityOfOriginal);
            }
            let system_identifier = issuer.system_identifier;
            Ok(Some(Record { system_identifier, timeline: NO_TIMELINE, ..record }))
        })
    })
}

/// Lets IDs continue under the configured layout, if every new one will be above all that were
/// issued before.
fn confirm_layout(fixed: &Fixed) -> Result<bool, Error> {
    locked(|_, _| {
        let issuer = issuer(fixed);
        change(|record| {
            issuer.confirm_layout(&record).map_err(|GoesBack| Error::LayoutGoesBack {
                recorded: record.other_than(issuer.layout),
                floor: record.floor,
            })
        })
    })
}

/// Continues from the clock as it is now, however far it has jumped ahead since the last record.
fn confirm_clock(fixed: &Fixed) -> Result<bool, Error> {
    locked(|reservations, _| {
        let clocks = clock::clocks();
        let found = register::read();
        let record = found.as_ref().ok().copied().flatten();
        match reservations.verdict_on(&issuer(fixed), record.as_ref(), clocks)? {
            Some((Verdict::Refuse, _)) => {}
            Some(_) => return Ok(false),
            None => return Ok(found.map(|_| false)?),
        }
        // Where the register is damaged or was deleted, a floor that is set next writes it again,
        // with the clocks of then.
        if let Some(record) = record {
            register::flush(register::write(&Record { written: clocks, ..record }));
        }
        reservations.confirm(clocks);
        Ok(true)
    })
}

/// Writes what `change` makes of the record, if anything, durably.
fn change(change: impl FnOnce(Record) -> Result<Option<Record>, Error>) -> Result<bool, Error> {
    let Some(record) = register::read()? else { return Ok(false) };
    let Some(changed) = change(record)? else { return Ok(false) };
    register::flush(register::write(&changed));
    Ok(true)
}
