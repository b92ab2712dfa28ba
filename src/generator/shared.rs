//! The generator in shared memory, and the spinlock that protects it.
//!
//! # Locking contract
//!
//! One spinlock protects everything in [`Protected`]; nothing of it is read or written without the
//! lock. Under the lock there are integers only: no clock, no allocation, no error, no panic, no
//! call into PostgreSQL, no loop. Whoever has to wait releases it first. No other lock is taken
//! while it is held, and it may be taken while any other is held.
//!
//! The server creates the memory when it starts, and again after a crash of one of its processes.
//! Only a library that was preloaded has it: nothing but [`init`] may be called without preloading.

use std::cell::UnsafeCell;
use std::mem::offset_of;
use std::ops::{Deref, DerefMut};

use crate::pg::report::OnceAMinute;
use pgrx::prelude::*;
use pgrx::{PGRXSharedMemory, PgAtomic, pg_shmem_init};
use snowflake_core::generator::{
    Decision, Generator, Limits, Observation, Reading, Request, Run, WaitReason,
};
use snowflake_core::layout::{Ids, Parts};
use snowflake_core::ring::Ring;
use snowflake_core::time::{Span, Timestamp};

use super::horizon_slots;
use super::spinlock::SpinLock;
use crate::settings;

// SAFETY: nobody else names shared memory like this.
static SHARED: PgAtomic<Shared> = unsafe { PgAtomic::new(c"snowflake_pg") };

/// Has cache lines to itself, in pairs, since processors fetch them in pairs. What
/// [`take_at_once`] reads and writes here is on the first line. The layout and the settings that
/// it reads are in memory of its process.
#[repr(C, align(128))]
struct Shared {
    lock: SpinLock,
    protected: UnsafeCell<Protected>,
}

/// Data that the lock protects.
#[repr(C)]
struct Protected {
    /// IDs that were taken since the last reset.
    issued: u64,
    generator: Generator,
    statistics: Statistics,
    /// Used while `snowflake.reuse_window` is on.
    ring: Ring,
}

/// Counters since the last reset. A start of the server resets, and so does a crash.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Statistics {
    /// The farthest that an ID was ahead of the clock.
    pub max_lead: Span,
    /// Milliseconds in which a request found no ID left that it may take.
    pub sequence_overflows: u64,
    /// The millisecond that was counted last as an overflow.
    overflowed: Option<Timestamp>,
    /// Calls that waited for the clock.
    pub waits: u64,
    /// The total time that they waited, ns.
    pub waited: u64,
    /// Steps back of the clock that were held.
    pub steps_held: u64,
    /// Steps back of the clock after which unused IDs were issued.
    pub steps_reused: u64,
    /// Calls that were refused for a clock that was too far behind or ahead.
    pub steps_refused: u64,
    /// The largest step back that was seen.
    pub largest_step_back: Span,
    /// Reservations that were written to the register.
    pub reservations: u64,
    /// Replicated rows and observed IDs with this server's own identity that it has not issued.
    pub twins: u64,
    /// When the log named one of them last.
    twin_logged: OnceAMinute,
    /// IDs of other servers that were observed, and not followed.
    pub observations_refused: u64,
    /// When the log named one of them last.
    refusal_logged: OnceAMinute,
    /// The farthest ahead of the clock that an ID of another server was followed.
    pub max_observed_lead: Span,
    /// When counting began.
    pub since: pg_sys::TimestampTz,
}

// SAFETY: no pointers and nothing that belongs to one process; `protected` is only touched under
// `lock`.
unsafe impl PGRXSharedMemory for Shared {}

/// Asks for the shared memory. Called while the library is preloaded.
pub fn init() {
    pg_shmem_init!(SHARED = Shared::new());
    horizon_slots::init();
}

/// IDs that follow each other.
#[derive(Clone, Copy, Debug)]
pub struct Taken {
    /// The smallest one.
    pub first: i64,
    /// The number of them.
    pub count: u32,
}

impl Taken {
    /// The IDs of a run.
    #[inline(always)]
    pub fn of(ids: &Ids, run: Run) -> Taken {
        Taken { first: ids.compose(run.timestamp, run.first), count: run.count }
    }
}

/// [`Generator::take_at_once`], under the lock, counted.
#[inline(always)]
pub fn take_at_once(ids: &Ids, now: Timestamp, request: Request) -> Option<Taken> {
    let mut locked = lock();
    let Protected { issued, generator, statistics, ring, .. } = &mut *locked;
    let run = generator.take_at_once(ring, now, request, settings::max_burst)?;
    *issued += u64::from(run.count);
    statistics.issue(run, now);
    // The horizon needs the ID under the lock, so it is made here, once.
    let taken = Taken::of(ids, run);
    horizon_slots::claim(taken.first, now);
    Some(taken)
}

/// [`Generator::take`], under the lock, counted.
pub fn take(ids: &Ids, reading: Reading, request: Request, limits: &Limits) -> Decision {
    let mut locked = lock();
    let Protected { issued, generator, statistics, ring, .. } = &mut *locked;
    let (timestamp, hold) = (generator.timestamp(), generator.hold());
    let decision = generator.take(ring, reading, request, limits);
    if let Decision::Issue(run)
    | Decision::IssueAndReserve(run)
    | Decision::Queue { run, .. }
    | Decision::Reuse { run, .. } = decision
    {
        horizon_slots::claim(Taken::of(ids, run).first, reading.now);
    }
    match decision {
        Decision::Issue(run) | Decision::IssueAndReserve(run) | Decision::Queue { run, .. } => {
            // One of the queue is not returned before its time.
            let returned = match decision {
                Decision::Queue { until, .. } => until,
                _ => reading.now,
            };
            *issued += u64::from(run.count);
            statistics.issue(run, returned);
            if run.timestamp > timestamp.max(reading.now) {
                statistics.overflow(timestamp);
            }
        }
        Decision::Reuse { run, lead, is_first, .. } => {
            *issued += u64::from(run.count);
            statistics.steps_reused += u64::from(is_first);
            statistics.step_back(lead, hold);
        }
        Decision::Wait { reason: WaitReason::NextMillisecond, .. } => {
            statistics.overflow(timestamp)
        }
        Decision::Wait { reason: WaitReason::ClockBehind, .. } => {
            statistics.step_back(generator.lead(reading.now), hold);
        }
        Decision::Hold { lead, .. } => {
            statistics.steps_held += 1;
            statistics.step_back(lead, hold);
        }
        Decision::Refuse { lead, .. } => {
            statistics.steps_refused += 1;
            statistics.step_back(lead, hold);
        }
        Decision::Reread { .. } | Decision::Reserve { .. } | Decision::EndOfField => {}
    }
    decision
}

/// [`Generator::observe`], under the lock, counted, for an ID with these parts; true if that is
/// above all that this server has issued. `None` before this incarnation has begun.
pub fn observe(parts: &Parts, now: Timestamp, max_lead: Span) -> Option<(Observation, bool)> {
    let Parts { timestamp, sequence, .. } = *parts;
    let mut locked = lock();
    let Protected { generator, statistics, ring, .. } = &mut *locked;
    let (before, last) = (generator.timestamp(), generator.last());
    generator.promised()?;
    let observation = generator.observe(ring, timestamp, now, max_lead);
    let is_above = timestamp > before || last.is_some_and(|last| (timestamp, sequence) > last);
    if let Observation::Followed { lead } = observation
        && timestamp > before
    {
        statistics.max_observed_lead = statistics.max_observed_lead.max(lead);
    }
    Some((observation, is_above))
}

/// [`Generator::raise_floor`], under the lock: the reservation is durable. Also switches reuse on
/// or off, as the setting says now.
pub fn raise_floor(floor: Timestamp, reserve_after: Timestamp) {
    let reuse = settings::REUSE_WINDOW.get() > 0;
    let mut locked = lock();
    let Protected { generator, ring, .. } = &mut *locked;
    generator.raise_floor(floor, reserve_after);
    generator.set_reuse(ring, reuse);
}

/// Switches reuse off. The caller holds the lock of [`crate::promise::reservation`], so that nobody
/// puts back a generator from before.
pub fn end_reuse() {
    let mut locked = lock();
    let Protected { generator, ring, .. } = &mut *locked;
    generator.set_reuse(ring, false);
}

/// The generator as it is now.
pub fn generator() -> Generator {
    lock().generator
}

/// The time up to which IDs might have been issued since the server started; `None` before the
/// first.
pub fn promised() -> Option<Timestamp> {
    generator().promised()
}

/// Puts another generator in its place.
pub fn restart(with: Generator) {
    lock().generator = with;
}

/// Keeps the generator from issuing anything above its present timestamp, until it is restarted or
/// told its floor again, and returns what it was before: a session that wants more asks for a
/// reservation. It does not get one, since the caller holds the lock of
/// [`crate::promise::reservation`].
pub fn freeze() -> Generator {
    let mut locked = lock();
    let before = locked.generator;
    locked.generator.freeze();
    before
}

/// Returns the number of IDs that were taken since the last reset, and the other statistics.
pub fn statistics() -> (u64, Statistics) {
    let locked = lock();
    (locked.issued, locked.statistics)
}

/// Sets the statistics to zero.
pub fn reset_statistics(now: pg_sys::TimestampTz) {
    let mut locked = lock();
    locked.issued = 0;
    locked.statistics = Statistics::new(now);
}

/// Counts an ID of this server's own identity that came from elsewhere. Returns how many there are
/// if the log is to name this one: the first, and one a minute after it. `now` is the boot clock,
/// or `None` for one that the log does not name in any case.
pub fn count_twin(now: Option<Span>) -> Option<u64> {
    let mut locked = lock();
    let Statistics { twins, twin_logged, .. } = &mut locked.statistics;
    *twins += 1;
    now.filter(|now| twin_logged.is_due(*now)).map(|_| *twins)
}

/// Counts an ID of another server that was not followed. Returns how many there are if the log is
/// to name this one, as [`count_twin`] does.
pub fn count_refusal(now: Span) -> Option<u64> {
    let mut locked = lock();
    let Statistics { observations_refused, refusal_logged, .. } = &mut locked.statistics;
    *observations_refused += 1;
    refusal_logged.is_due(now).then_some(*observations_refused)
}

/// Changes the statistics; see the contract above for what `count` may do.
pub fn count(count: impl FnOnce(&mut Statistics)) {
    count(&mut lock().statistics);
}

impl Statistics {
    /// Nothing counted, from this time on.
    pub fn new(since: pg_sys::TimestampTz) -> Statistics {
        Statistics {
            max_lead: Span::ZERO,
            sequence_overflows: 0,
            overflowed: None,
            waits: 0,
            waited: 0,
            steps_held: 0,
            steps_reused: 0,
            steps_refused: 0,
            largest_step_back: Span::ZERO,
            reservations: 0,
            twins: 0,
            twin_logged: OnceAMinute::default(),
            observations_refused: 0,
            refusal_logged: OnceAMinute::default(),
            max_observed_lead: Span::ZERO,
            since,
        }
    }

    #[inline(always)]
    fn issue(&mut self, run: Run, now: Timestamp) {
        // An ID is never behind the clock.
        if run.timestamp != now {
            self.max_lead = self.max_lead.max(run.timestamp - now);
        }
    }

    /// Nothing of this millisecond is left for a request: counted once, however many sessions
    /// notice.
    fn overflow(&mut self, timestamp: Timestamp) {
        if self.overflowed.replace(timestamp) != Some(timestamp) {
            self.sequence_overflows += 1;
        }
    }

    /// The highest ID is ahead of the clock by `lead`, of which `hold` was explained before the
    /// step.
    fn step_back(&mut self, lead: Span, hold: Span) {
        self.largest_step_back = self.largest_step_back.max(lead - hold);
        self.max_lead = self.max_lead.max(lead);
    }
}

/// The lock, held for as long as this lives. See the contract above for what may be done meanwhile.
struct Locked(&'static Shared);

/// Takes the lock.
#[inline(always)]
fn lock() -> Locked {
    let shared = SHARED.get();
    shared.lock.lock();
    Locked(shared)
}

impl Deref for Locked {
    type Target = Protected;

    #[inline(always)]
    fn deref(&self) -> &Protected {
        // SAFETY: the lock is held, so nobody else has a reference.
        unsafe { &*self.0.protected.get() }
    }
}

impl DerefMut for Locked {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut Protected {
        // SAFETY: the lock is held, and this is its only holder.
        unsafe { &mut *self.0.protected.get() }
    }
}

impl Drop for Locked {
    #[inline(always)]
    fn drop(&mut self) {
        self.0.lock.unlock();
    }
}

impl Shared {
    fn new() -> Shared {
        let layout = settings::fixed().layout;
        let generator = Generator::not_begun(layout.last_timestamp());
        // SAFETY: reads the clock.
        let statistics = Statistics::new(unsafe { pg_sys::GetCurrentTimestamp() });
        Shared {
            lock: SpinLock::new(),
            protected: UnsafeCell::new(Protected {
                issued: 0,
                generator,
                statistics,
                ring: Ring::new(),
            }),
        }
    }
}

const LINE: usize = 64;
const _: () = assert!(
    offset_of!(Shared, protected) + offset_of!(Protected, generator) + Generator::HOT <= LINE
);
