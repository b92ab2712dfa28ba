//! The hot path: `snowflake_nextval` and friends.
//!
//! An uncontended `snowflake_nextval()` is one clock read, one lock and unlock, and integers.
//! Whatever needs more (a wait, an error, a reservation) leaves the hot path through
//! [`take_slowly`].

pub mod currval;

use std::iter;
use std::time::{Duration, Instant};

use crate::pg::report::{self, ErrorReport, OrRaise, Report, wraps};
use crate::pg::{called_directly, time};
use pgrx::check_for_interrupts;
use pgrx::prelude::*;
use snowflake_core::call;
use snowflake_core::generator::{Decision, Limits, Reading, Request, Seen};
use snowflake_core::time::{Span, Timestamp};

use crate::generate::currval::issued;
use crate::generator::clock;
use crate::generator::shared::{self, Taken};
use crate::promise::{self, reservation};
use crate::settings::{self, Fixed};

// Functions that take IDs are PARALLEL RESTRICTED, so that the leader takes them in the order of
// the query. Each worker would take those of its own part, before the leader merges the parts. A
// worker still takes IDs where a user's function is declared PARALLEL SAFE, or the extension was
// not updated.
called_directly!(pg_finfo_snowflake_nextval);
extension_sql!(
    "
CREATE FUNCTION snowflake_nextval() RETURNS bigint
    LANGUAGE c VOLATILE STRICT PARALLEL RESTRICTED
    AS 'MODULE_PATHNAME', 'snowflake_nextval';
",
    name = "nextval",
    requires = ["internal"]
);

/// The next ID. 55000 without preloading or identity, when the clock is too far behind or ahead, or
/// when the register does not allow a start; 25006 on a standby; 2200H at the end of the timestamp
/// field.
#[unsafe(no_mangle)]
extern "C-unwind" fn snowflake_nextval(_: pg_sys::FunctionCallInfo) -> pg_sys::Datum {
    nextval()
}

/// The function above, for calls from within this library: another one that is loaded before might
/// have a function of the same name, which the linker would choose.
#[inline(always)]
pub fn nextval() -> pg_sys::Datum {
    let fixed = settings::fixed();
    let id = match take_at_once(fixed, 1) {
        Some(taken) => taken.first,
        None => snowflake_nextval_slowly(),
    };
    issued(id).into()
}

#[cold]
#[inline(never)]
#[pg_guard]
extern "C-unwind" fn snowflake_nextval_slowly() -> i64 {
    take_slowly(settings::fixed(), 1).or_raise().first
}

/// The next `count` IDs. 22023 when `count` is negative, else as `snowflake_nextval()`.
#[pg_extern(name = "snowflake_nextval", volatile, strict, parallel_restricted)]
fn snowflake_nextval_count(count: i32) -> SetOfIterator<'static, i64> {
    let mut left = u32::try_from(count).map_err(|_| Error::NegativeCount(count)).or_raise();
    let fixed = settings::fixed();
    // Each run may be twice as long as the one before. A query that stops at a LIMIT has taken at
    // most twice as many IDs as it returned.
    let mut want = 1;
    let mut run = Taken { first: 0, count: 0 };
    SetOfIterator::new(iter::from_fn(move || {
        left = left.checked_sub(1)?;
        if run.count == 0 {
            run = take_run(fixed, want.min(left + 1));
            want = (want * 2).min(call::LONGEST_RUN);
        }
        let id = run.first;
        run.first += 1;
        run.count -= 1;
        Some(issued(id))
    }))
}

/// Takes at least one and at most `want` IDs. Out of line, since most calls return an ID of a run
/// that is already taken.
#[cold]
#[inline(never)]
fn take_run(fixed: &Fixed, want: u32) -> Taken {
    take_at_once(fixed, want).unwrap_or_else(|| take_slowly(fixed, want).or_raise())
}

/// As [`take_run`]; `None` if more is needed than a clock reading and the lock.
#[inline(always)]
fn take_at_once(fixed: &Fixed, want: u32) -> Option<Taken> {
    if !fixed.preloaded {
        return None;
    }
    shared::take_at_once(&fixed.ids, clock::now(), request(fixed, want))
}

#[inline(always)]
fn request(fixed: &Fixed, want: u32) -> Request {
    call::request(settings::first_sequence(), want, fixed.last_sequence, settings::max_burst)
}

/// Takes IDs, and does what the decision asks for, with no lock held, until there are IDs.
#[cold]
#[inline(never)]
fn take_slowly(fixed: &Fixed, want: u32) -> Result<Taken, Error> {
    settings::require_preloading().map_err(promise::Error::from)?;
    let mut caller = Caller { fixed, waits_since: None };
    let run = call::take(&mut caller, want, &settings::limits())?;
    Ok(Taken::of(&fixed.ids, run))
}

/// This session, while it takes IDs.
struct Caller<'a> {
    fixed: &'a Fixed,
    waits_since: Option<Instant>,
}

impl call::Session for Caller<'_> {
    type Error = Error;

    fn read(&mut self, seen: Option<Seen>) -> Result<Reading, Error> {
        check_for_interrupts!();
        Ok(Reading { now: clock::now(), seen })
    }

    fn take(&mut self, by: Reading, want: u32, limits: &Limits) -> Result<Decision, Error> {
        Ok(shared::take(&self.fixed.ids, by, request(self.fixed, want), limits))
    }

    fn wait(&mut self, until: Timestamp, longest: Span) -> Result<Duration, Error> {
        let began = Instant::now();
        self.waits_since.get_or_insert(began);
        clock::wait_towards(until, longest);
        Ok(began.elapsed())
    }

    fn reserve(&mut self, request: snowflake_core::promise::Request) -> Result<(), Error> {
        Ok(reservation::reserve(self.fixed, request)?)
    }

    fn log_step_back(&mut self, lead: Span, is_held: bool) -> Result<(), Error> {
        Ok(reservation::log_step_back(lead, is_held)?)
    }
}

/// The wait of a call is counted from its first moment to the end of the call, also if that is an
/// error.
impl Drop for Caller<'_> {
    fn drop(&mut self) {
        if let Some(since) = self.waits_since {
            let waited = since.elapsed().as_nanos() as u64;
            shared::count(|statistics| {
                statistics.waits += 1;
                statistics.waited += waited;
            });
        }
    }
}

/// A reason for which there is no ID.
#[derive(Debug)]
pub enum Error {
    /// A start or a reservation was refused.
    Promise(promise::Error),
    /// The generator issues none: [`Decision::Refuse`] or [`Decision::EndOfField`].
    Refused(Decision),
    /// A negative number of IDs.
    NegativeCount(i32),
}

wraps!(Promise(promise::Error), Refused(Decision));

impl Report for Error {
    fn report(self) -> ErrorReport {
        use PgSqlErrorCode::*;
        match self {
            Error::Promise(error) => error.report(),
            Error::Refused(Decision::Refuse { timestamp, lead, until }) => report::new(
                ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE,
                format!("the clock is {} behind the last snowflake ID", time::interval(lead)),
            )
            .set_detail(format!(
                "The next ID is not before {}. IDs go on when the clock has reached {}.",
                time::display(timestamp),
                time::display(until)
            ))
            .set_hint(if lead <= settings::LARGEST_LIMIT {
                "If the clock is wrong, set it right. If it is right, earlier IDs followed a clock \
                 that was ahead: raise snowflake.max_backward_step, and IDs go on ahead of the \
                 clock, or snowflake.max_wait, and calls wait for it. See docs/runbook.md."
            } else {
                "If the clock is wrong, set it right. If it is right, earlier IDs followed a clock \
                 that was ahead. A superuser can set the floor back with SELECT \
                 snowflake_set_floor(now(), force => true). First delete or renumber the rows \
                 whose IDs have later times. Otherwise the same IDs are issued again when the \
                 clock reaches those times. See docs/runbook.md."
            }),
            Error::Refused(_) => report::new(
                ERRCODE_SEQUENCE_GENERATOR_LIMIT_EXCEEDED,
                "the timestamp field of snowflake IDs is used up",
            )
            .set_detail(format!(
                "Its last timestamp is {}.",
                time::display(settings::fixed().layout.last_timestamp())
            ))
            .set_hint(
                "If the clock is right, the table needs new IDs, with a later snowflake.epoch or \
                 smaller widths.",
            ),
            Error::NegativeCount(count) => {
                report::new(ERRCODE_INVALID_PARAMETER_VALUE, "count must not be negative")
                    .set_detail(format!("The count is {count}."))
            }
        }
    }
}
