//! A call, from what is decided to what is done: when it waits, reserves, logs and asks again.
//!
//! Servers, the simulation and the models make the same calls, each by a [`Session`] of its own.

use std::time::Duration;

use crate::generator::{Decision, Limits, Observation, Reading, Request, Run, Seen, WaitReason};
use crate::promise;
use crate::time::{Span, Timestamp};

/// The most IDs that one call takes at once.
pub const LONGEST_RUN: u32 = 4096;

/// A request of more than one ID leaves one in this many of a millisecond's IDs to others.
const LEFT_TO_OTHERS: u32 = 32;

/// The longest wait before a call asks again: somebody might set the clock right.
const LOOK_AGAIN: Span = Span(100);

/// Builds a request. One of more than one ID leaves the millisecond's last IDs to
/// others. Otherwise they would wait for the next millisecond, and might find it used up, too.
/// Where a burst may run ahead of the clock, nobody waits. `last` is the largest sequence.
#[inline(always)]
pub fn request(
    first: u32,
    want: u32,
    last: u32,
    max_burst: impl FnOnce() -> Option<Span>,
) -> Request {
    let leaves = want > 1 && max_burst() == Some(Span::ZERO);
    let leave = if leaves { (last + 1) / LEFT_TO_OTHERS } else { 0 };
    Request { first, want, last_sequence: last, leave }
}

/// A session that takes IDs. It holds no lock from one of these to the next. If one fails, so does
/// the call.
pub trait Session {
    /// Reasons for which there are no IDs: decisions that refuse them, and others.
    type Error: From<Decision>;

    /// Reads the wall clock, having seen this.
    fn read(&mut self, seen: Option<Seen>) -> Result<Reading, Self::Error>;

    /// Asks the generator for so many IDs: [`Generator::take`](crate::generator::Generator::take).
    fn take(&mut self, by: Reading, want: u32, limits: &Limits) -> Result<Decision, Self::Error>;

    /// Waits for the clock to reach `until`, but for no more than `longest` by the boot clock.
    /// Returns how long that was.
    fn wait(&mut self, until: Timestamp, longest: Span) -> Result<Duration, Self::Error>;

    /// Makes a reservation.
    fn reserve(&mut self, request: promise::Request) -> Result<(), Self::Error>;

    /// Logs that the clock is behind by so much, because it was set back, and whether the step is
    /// held or unused IDs are issued. Where there is no log, nothing.
    fn log_step_back(&mut self, _lead: Span, _is_held: bool) -> Result<(), Self::Error> {
        Ok(())
    }
}

/// Takes at least one and at most `want` IDs. Whatever has to be done for them is done before.
pub fn take<S: Session>(session: &mut S, want: u32, limits: &Limits) -> Result<Run, S::Error> {
    let (mut waited, mut behind) = (Duration::ZERO, Duration::ZERO);
    let mut seen = None;
    loop {
        // However often somebody sets the clock back, one call waits for max_wait at most.
        let max_wait = limits.max_wait.map(|longest| longest - behind.into());
        // Where single IDs fill each millisecond before it comes, a run has none left. It takes its
        // turn.
        let want = if Span::from(waited) > limits.max_queue { 1 } else { want };
        let reading = session.read(seen)?;
        seen = match session.take(reading, want, &Limits { max_wait, ..*limits })? {
            Decision::Issue(run) => return Ok(run),
            Decision::IssueAndReserve(run) => {
                session.reserve(promise::Request::ReserveEarly)?;
                return Ok(run);
            }
            Decision::Queue { run, until, reserve } => {
                session.wait(until, limits.max_queue)?;
                if reserve {
                    session.reserve(promise::Request::ReserveEarly)?;
                }
                return Ok(run);
            }
            Decision::Reuse { run, lead, is_first } => {
                if is_first {
                    session.log_step_back(lead, false)?;
                }
                return Ok(run);
            }
            Decision::Reread { seen } => Some(seen),
            Decision::Hold { seen, lead } => {
                session.log_step_back(lead, true)?;
                Some(seen)
            }
            Decision::Wait { seen, until, reason } => {
                let lasted = session.wait(until, LOOK_AGAIN)?;
                waited += lasted;
                if reason == WaitReason::ClockBehind {
                    behind += lasted;
                }
                Some(seen)
            }
            Decision::Reserve { timestamp } => {
                session.reserve(promise::Request::Reserve { timestamp, lead: Span::ZERO })?;
                None
            }
            refusal @ (Decision::Refuse { .. } | Decision::EndOfField) => {
                return Err(refusal.into());
            }
        };
    }
}

/// Lets every ID from now on be of a later timestamp than this one, which was seen in an ID of
/// another server, unless that is more than `max_lead` ahead of the clock. `ask` reads the clock,
/// and then asks the generator: [`Generator::observe`](crate::generator::Generator::observe). It
/// returns `None` before the generator has begun, because nothing is known of what was issued then.
pub fn observe<S, E>(
    session: &mut S,
    timestamp: Timestamp,
    max_lead: Span,
    mut ask: impl FnMut(&mut S) -> Option<Observation>,
    mut reserve: impl FnMut(&mut S, promise::Request) -> Result<(), E>,
) -> Result<Observation, E> {
    loop {
        match ask(session) {
            None | Some(Observation::Reserve { .. }) => {
                reserve(session, promise::Request::Reserve { timestamp, lead: max_lead })?;
            }
            Some(observation) => return Ok(observation),
        }
    }
}
