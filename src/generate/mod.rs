//! The hot path: `snowflake_nextval` and friends.
//!
//! An uncontended `snowflake_nextval()` is one clock read, one lock and unlock, and integers.
//! Whatever needs more (a wait, an error, a reservation) leaves the hot path through
//! [`take_slowly`].

pub mod currval;

use std::iter;
use std::time::Instant;

use crate::pg::report::{self, ErrorReport, OrRaise, Report, wraps};
use crate::pg::{called_directly, time};
use pgrx::check_for_interrupts;
use pgrx::prelude::*;
use snowflake_core::generator::{Decision, Reading, Request, Seen, WaitReason};

use crate::generate::currval::issued;
use crate::generator::clock;
use crate::generator::shared::{self, Taken};
use crate::promise::{self, reservation};
use crate::settings::{self, Fixed};

/// The most IDs that one call takes at once.
const LONGEST_RUN: u32 = 4096;

/// A request of more than one ID leaves one in this many of a millisecond's IDs to others.
const LEFT_TO_OTHERS: u32 = 32;

// What takes IDs is PARALLEL RESTRICTED, so that the leader takes them in the order of the query.
// Each worker would take those of its own part, before the leader merges the parts. A worker still
// takes IDs where a user's function is declared PARALLEL SAFE, or the extension was not updated.
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
            want = (want * 2).min(LONGEST_RUN);
        }
        let id = run.first;
        run.first += 1;
        run.count -= 1;
        Some(issued(id))
    }))
}

/// [`take`], kept out of line, since most calls return an ID of a run that is already taken.
#[cold]
#[inline(never)]
fn take_run(fixed: &Fixed, want: u32) -> Taken {
    take(fixed, want)
}

/// Takes at least one and at most `want` IDs.
#[inline(always)]
fn take(fixed: &Fixed, want: u32) -> Taken {
    take_at_once(fixed, want).unwrap_or_else(|| take_slowly(fixed, want).or_raise())
}

/// As [`take`]; `None` if more is needed than a clock reading and the lock.
#[inline(always)]
fn take_at_once(fixed: &Fixed, want: u32) -> Option<Taken> {
    if !fixed.preloaded {
        return None;
    }
    shared::take_at_once(&fixed.ids, clock::unix_ms(), request(fixed, want))
}

/// What is asked for of a millisecond. A request of more than one ID leaves the millisecond's last
/// IDs to others. Otherwise they would wait for the next millisecond, and might find it used up, too.
/// Where a burst may run ahead of the clock, nobody waits.
#[inline(always)]
fn request(fixed: &Fixed, want: u32) -> Request {
    let last_sequence = fixed.last_sequence;
    let leaves = want > 1 && settings::max_burst() == 0;
    let leave = if leaves { (last_sequence + 1) / LEFT_TO_OTHERS } else { 0 };
    Request { first: settings::first_sequence(), want, last_sequence, leave }
}

/// Takes IDs, and does what the decision asks for, with no lock held, until there are IDs.
#[cold]
#[inline(never)]
fn take_slowly(fixed: &Fixed, want: u32) -> Result<Taken, Error> {
    settings::require_preloading().map_err(promise::Error::from)?;
    let mut limits = settings::limits();
    let mut behind_since: Option<Instant> = None;
    let mut waiting = Waiting::default();
    let mut seen = Seen::NOTHING;
    loop {
        check_for_interrupts!();
        // However often somebody sets the clock back, one call waits for max_wait at most.
        if let (Some(since), Some(max_wait)) = (behind_since, settings::MAX_WAIT.limit()) {
            limits.max_wait = max_wait - since.elapsed().as_millis() as i64;
        }
        // Where single IDs fill each millisecond before it comes, a run has none left. It takes its turn.
        let want = if waiting.is_longer_than(limits.max_queue) { 1 } else { want };
        let reading = Reading { now: clock::unix_ms(), seen };
        seen = match shared::take(&fixed.ids, reading, request(fixed, want), &limits) {
            Decision::Issue(run) => return Ok(Taken::of(&fixed.ids, run)),
            Decision::IssueAndReserve(run) => {
                reservation::reserve_early(fixed)?;
                return Ok(Taken::of(&fixed.ids, run));
            }
            Decision::Queue { run, until, reserve } => {
                waiting.begin();
                clock::wait_towards(until, limits.max_queue);
                if reserve {
                    reservation::reserve_early(fixed)?;
                }
                return Ok(Taken::of(&fixed.ids, run));
            }
            Decision::Reuse { run, lead, is_first } => {
                if is_first {
                    reservation::log_step_back(lead, false)?;
                }
                return Ok(Taken::of(&fixed.ids, run));
            }
            Decision::Reread { seen } => seen,
            Decision::Hold { seen, lead } => {
                reservation::log_step_back(lead, true)?;
                seen
            }
            Decision::Wait { seen, until, reason } => {
                if reason == WaitReason::ClockBehind {
                    behind_since.get_or_insert_with(Instant::now);
                }
                waiting.begin();
                clock::wait_towards(until, clock::LOOK_AGAIN);
                seen
            }
            Decision::Reserve { timestamp } => {
                reservation::reserve(fixed, timestamp, 0)?;
                Seen::NOTHING
            }
            Decision::Refuse { timestamp, lead, until } => {
                return Err(Error::ClockBehind { timestamp, lead, until });
            }
            Decision::EndOfField => {
                return Err(Error::EndOfField { last: fixed.layout.last_timestamp() });
            }
        };
    }
}

/// A call's wait for the clock, from the moment it begins to the end of the call. It is counted at
/// the end, also if the call ends with an error.
#[derive(Default)]
struct Waiting {
    since: Option<Instant>,
}

impl Waiting {
    fn begin(&mut self) {
        self.since.get_or_insert_with(Instant::now);
    }

    fn is_longer_than(&self, ms: i64) -> bool {
        self.since.is_some_and(|since| since.elapsed().as_millis() as i64 > ms)
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        if let Some(since) = self.since {
            let waited = since.elapsed().as_nanos() as u64;
            shared::count(|statistics| {
                statistics.waits += 1;
                statistics.waited += waited;
            });
        }
    }
}

/// Why there is no ID.
#[derive(Debug)]
pub enum Error {
    /// A start or a reservation was refused.
    Promise(promise::Error),
    /// The clock is behind by more than max_backward_step, and waiting would take longer than
    /// max_wait.
    ClockBehind {
        /// The generator's timestamp, Unix ms: the last one issued, or where a start has put it.
        timestamp: i64,
        /// By how much the clock is behind it, ms.
        lead: i64,
        /// The clock reading from which on IDs are issued again, Unix ms.
        until: i64,
    },
    /// The timestamp field is used up.
    EndOfField {
        /// Its last timestamp, Unix ms.
        last: i64,
    },
    /// A negative number of IDs.
    NegativeCount(i32),
}

wraps!(Promise(promise::Error));

impl Report for Error {
    fn report(self) -> ErrorReport {
        use PgSqlErrorCode::*;
        match self {
            Error::Promise(error) => error.report(),
            Error::ClockBehind { timestamp, lead, until } => report::new(
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
            Error::EndOfField { last } => report::new(
                ERRCODE_SEQUENCE_GENERATOR_LIMIT_EXCEEDED,
                "the timestamp field of snowflake IDs is used up",
            )
            .set_detail(format!("Its last timestamp is {}.", time::display(last)))
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
