//! The decision: (state, clock reading, limits) -> issue, wait or refuse.
//!
//! The caller protects a [`Generator`] with a lock, reads the clock *before* it takes the lock, and
//! does whatever the [`Decision`] asks for after it has released it.
//!
//! Rules that hold, each with its property test in `tests/generator/`:
//!
//! 1. IDs strictly increase, whatever the clock does and in whatever order sessions take them.
//!    With reuse, they are distinct, and increase again once the clock has passed the highest one.
//! 2. An ID is never behind the clock reading of its request.
//! 3. The lead over the clock, of IDs that are returned, grows only by a step of the clock, within
//!    `max_burst`, or by an observation. An ID of the queue is not returned before the clock has
//!    reached it, less what is explained.
//! 4. While a step is held, every millisecond of the clock still gives a full sequence.
//! 5. A stale reading is never mistaken for a step: without a step, nothing is held and nothing
//!    refused.
//! 6. Nothing is issued above the floor, nor past the end of the timestamp field.
//! 7. A session is asked for a reservation early, before anybody has to wait for it.
//! 8. A step back beyond `max_backward_step` is never held. A request waits for the clock if
//!    `max_wait` allows it, and is refused otherwise, until the lead is one that is explained or
//!    held, and not longer.
//! 9. IDs from [`Generator::take_at_once`] are those that [`Generator::take`] would give, and the
//!    state after it is the same.
//! 10. A reused timestamp is that of the reading. It is at most `reuse_window` behind the
//!     generator's timestamp, and later than the one that the generator started after.
//! 11. A lead that a burst built up stays explained after `max_burst` is lowered: it is not taken
//!     for a step of the clock.
//! 12. After [`Generator::observe`] has followed a timestamp, every ID is of a later one. It is
//!     never followed beyond the floor, nor further ahead of the reading than is allowed, and the
//!     lead that it causes is explained.
//! 13. Where a millisecond is used up, a request of one ID takes that of a later one at once, so
//!     that whoever asks first has the smaller ID and waits less. It is at most `max_queue` ahead
//!     of what is explained. Requests of several IDs, and those that find the queue full, wait and
//!     ask again.
//! 14. The lead of the queue is never mistaken for a step of the clock, nor is a step that is
//!     larger than this lead mistaken for the queue. A smaller one may be waited out.

use std::mem::offset_of;

use crate::ring::Ring;
use crate::time::{Span, Timestamp};

/// A clock reading, and what its reader knew when it took it.
///
/// Two sessions might read the clock in one order and take the lock in the other. Only a reading
/// that was taken after the generator's present state was seen shows that the clock is behind it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Reading {
    /// The wall clock.
    pub now: Timestamp,
    /// The state that the reader had seen before it read the clock, if any.
    pub seen: Option<Seen>,
}

/// The part of the state of the generator that readings are judged by. It includes the hold: after
/// a later reading has made the hold shrink, an earlier reading looks like a step back, although
/// the timestamp is the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Seen {
    timestamp: Timestamp,
    hold: Span,
}

/// Limits of a decision. `None` means no limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Limits {
    /// The largest lead of a burst over the clock.
    pub max_burst: Option<Span>,
    /// The largest step back of the clock after which unused IDs of the reading's millisecond are
    /// issued; only while [`Generator::set_reuse`] is on.
    pub reuse_window: Span,
    /// The largest step back of the clock that is held: IDs continue from the last timestamp.
    pub max_backward_step: Option<Span>,
    /// The longest wait for a clock that is behind by more than [`Limits::largest_lead`].
    pub max_wait: Option<Span>,
    /// The largest lead of the queue over what is explained.
    pub max_queue: Span,
}

impl Limits {
    /// The largest lead over the clock with which IDs go on: the one that is explained, `hold`
    /// without `max_burst`, or one that is held as a step back of the clock.
    pub fn largest_lead(&self, hold: Span) -> Option<Span> {
        Some(self.explained(hold)?.max(self.max_backward_step?))
    }

    /// The largest lead that is explained.
    fn explained(&self, hold: Span) -> Option<Span> {
        Some(self.max_burst?.max(hold))
    }
}

/// The request of a caller of [`Generator::take`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Request {
    /// The sequence that a new millisecond starts with, at most `last_sequence`.
    pub first: u32,
    /// The number of IDs of one millisecond, at least 1.
    pub want: u32,
    /// The largest sequence.
    pub last_sequence: u32,
    /// The number of the last sequences of a millisecond that are left to other requests, at most
    /// `last_sequence`. What is reused is taken whole.
    pub leave: u32,
}

/// IDs that were taken at once: `count` sequences of one millisecond, from `first` on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Run {
    /// The millisecond.
    pub timestamp: Timestamp,
    /// The first sequence.
    pub first: u32,
    /// The number of sequences, at least 1.
    pub count: u32,
}

/// The next ID's timestamp and sequence, and what is left of the hold once it is issued.
struct Next {
    timestamp: Timestamp,
    first: u32,
    hold: Span,
}

/// The next step of the caller of [`Generator::take`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Decision {
    /// These IDs are the caller's.
    Issue(Run),
    /// These IDs are the caller's, and the floor is near: make a reservation, in the background if
    /// possible. No other caller is asked before some more timestamps have passed.
    IssueAndReserve(Run),
    /// This ID is the caller's, and is not to be returned before the clock has reached `until`.
    Queue {
        /// The ID.
        run: Run,
        /// At most `max_queue` after the reading, so that a clock that is set back is no reason to
        /// wait for longer.
        until: Timestamp,
        /// True if a reservation is made then, as for [`Decision::IssueAndReserve`].
        reserve: bool,
    },
    /// These IDs are the caller's. They are unused IDs of a millisecond that the clock repeats,
    /// because it was set back.
    Reuse {
        /// The IDs.
        run: Run,
        /// By how much the clock is behind the generator's timestamp, less the lead of the queue.
        lead: Span,
        /// True if this caller is the first that notices the step.
        is_first: bool,
    },
    /// The clock was set back, and the step is held from now on: read the clock again, having
    /// `seen` this, then ask again. Only the first caller that notices the step gets this.
    Hold {
        /// For [`Reading::seen`].
        seen: Seen,
        /// By how much the clock is behind the generator's timestamp, less the lead of the queue.
        lead: Span,
    },
    /// The reading is too old to judge by: read the clock again, having `seen` this.
    Reread {
        /// For [`Reading::seen`].
        seen: Seen,
    },
    /// Wait until the clock reaches `until`, then read it again, having `seen` this.
    Wait {
        /// For [`Reading::seen`].
        seen: Seen,
        /// The clock reading that ends the wait.
        until: Timestamp,
        /// The reason for it.
        reason: WaitReason,
    },
    /// The clock is behind by more than [`Limits::largest_lead`], and catching up would take longer
    /// than `max_wait`.
    Refuse {
        /// The generator's timestamp.
        timestamp: Timestamp,
        /// By how much the clock is behind it, less the lead of the queue.
        lead: Span,
        /// The clock reading from which on requests succeed again.
        until: Timestamp,
    },
    /// The next ID needs this timestamp, which is above the floor: reserve it, then ask again.
    Reserve {
        /// The timestamp that has to be reserved.
        timestamp: Timestamp,
    },
    /// The timestamp field has come to its end.
    EndOfField,
}

/// The result of observing a timestamp in an ID of another server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Observation {
    /// Every ID from now on is of a later timestamp.
    Followed {
        /// The lead of the timestamp over the reading; negative where it is behind.
        lead: Span,
    },
    /// It is above the floor: reserve it, then observe it again, with a new reading.
    Reserve {
        /// The timestamp that has to be reserved.
        timestamp: Timestamp,
    },
    /// It is too far ahead of the reading. Nothing has changed.
    Refused {
        /// The lead over the reading.
        lead: Span,
    },
}

/// A reason for which a request has to wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum WaitReason {
    /// The sequence of the millisecond is used up, and the request does not queue.
    NextMillisecond,
    /// The clock was set back by more than `max_backward_step`, beyond a lead that is explained.
    ClockBehind,
}

/// The state that all sessions of a server share. What each request needs comes first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(C)]
pub struct Generator {
    timestamp: Timestamp,
    /// The part of the lead over the clock that is explained without `max_burst` as it is now: by a
    /// step of the clock, by the start, by an observation, or by a burst. It shrinks as the clock
    /// catches up.
    hold: Span,
    /// The first timestamp above this one asks for a reservation. Never above `floor`.
    reserve_after: Timestamp,
    sequence: u32,
    /// True if a millisecond is recorded in the ring when the generator moves on to a later one.
    recording: bool,
    /// No timestamp above this one may be issued. Never above `last_timestamp`.
    floor: Timestamp,
    /// The last timestamp of the field.
    last_timestamp: Timestamp,
    /// The highest timestamp that was followed by [`Generator::observe`].
    observed: Option<Timestamp>,
    /// The last timestamp that the queue has reached, and how far it was ahead of what was
    /// explained then. Once the clock has moved on, `timestamp` is another one.
    queue: Option<(Timestamp, Span)>,
}

/// The timestamps that a reservation holds.
pub const RESERVATION: Span = Span(2000);

/// A session that is asked for a reservation might not make one, because another one is under way.
/// If there is no new floor after this many more timestamps, another session is asked.
const ASK_AGAIN: Span = Span(RESERVATION.0 / 8);

/// More than any sequence: a generator that has not issued anything has no sequence left. It is no
/// `Option`, because each request compares it.
const NOTHING_ISSUED: u32 = u32::MAX;

/// The floor of a generator that has not begun: far below any time, and not so far that the
/// distance from a time is more than a span can be.
const NOT_BEGUN: Timestamp = Timestamp(i64::MIN / 2);

impl Generator {
    /// The bytes at its beginning that [`Generator::take_at_once`] reads and writes.
    pub const HOT: usize = offset_of!(Generator, floor);

    /// A generator that has to be told where to begin: its first request asks for a reservation,
    /// whatever the clock says.
    pub fn not_begun(last_timestamp: Timestamp) -> Generator {
        Generator::starting_after(NOT_BEGUN, Span::ZERO, last_timestamp)
    }

    /// A generator that has used up everything up to `timestamp`, which is its floor: its first
    /// request asks for a reservation. `hold` is what the start explains of a lead over the clock,
    /// and `last_timestamp` the end of the timestamp field.
    pub fn starting_after(
        timestamp: Timestamp,
        hold: Span,
        last_timestamp: Timestamp,
    ) -> Generator {
        Generator {
            timestamp,
            hold,
            reserve_after: timestamp,
            sequence: NOTHING_ISSUED,
            recording: false,
            floor: timestamp,
            last_timestamp,
            observed: None,
            queue: None,
        }
    }

    /// The highest timestamp and sequence that were issued; `None` before the first of this
    /// generator, and when a timestamp was observed that none has been issued of since.
    pub fn last(&self) -> Option<(Timestamp, u32)> {
        (self.sequence != NOTHING_ISSUED).then_some((self.timestamp, self.sequence))
    }

    /// The highest timestamp that was issued or observed, or that the generator started after.
    /// Except for reused ones, no ID of an earlier timestamp is issued.
    pub fn timestamp(&self) -> Timestamp {
        self.timestamp
    }

    /// Returns the lead over a clock reading, without the queue, whose IDs are not returned before
    /// their time. Negative where the generator is behind.
    pub fn lead(&self, now: Timestamp) -> Span {
        let lead = self.timestamp - now;
        let queue = self.queue.filter(|(queued, _)| self.timestamp == *queued);
        let queue = queue.map_or(Span::ZERO, |(_, queue)| queue);
        // Of what the clock has caught up with, the queue's part comes first.
        (lead - queue).max(lead.min(self.hold))
    }

    /// The part of the lead over the clock that is explained without `max_burst` as it is now.
    pub fn hold(&self) -> Span {
        self.hold
    }

    /// The timestamp up to which IDs may be issued.
    pub fn floor(&self) -> Timestamp {
        self.floor
    }

    /// The floor; `None` for [`Generator::not_begun`].
    pub fn promised(&self) -> Option<Timestamp> {
        Some(self.floor).filter(|floor| *floor > NOT_BEGUN)
    }

    /// Allows timestamps up to `timestamp`, or up to the end of the field if that comes first. A
    /// floor never falls. The first timestamp above `reserve_after` asks for the next reservation.
    pub fn raise_floor(&mut self, timestamp: Timestamp, reserve_after: Timestamp) {
        self.floor = self.floor.max(timestamp.min(self.last_timestamp));
        self.reserve_after = reserve_after.min(self.floor);
    }

    /// Returns whether a request with this clock reading could need the timestamp. The timestamp
    /// might come from a reading that was taken before the clock was set back, and must then not
    /// be reserved.
    pub fn may_need(&self, timestamp: Timestamp, now: Timestamp) -> bool {
        timestamp <= now.max(self.timestamp + Span(1))
    }

    /// Allows nothing above the present timestamp, until [`Generator::raise_floor`].
    pub fn freeze(&mut self) {
        self.floor = self.timestamp;
        self.reserve_after = self.timestamp;
    }

    /// The highest timestamp that was followed by [`Generator::observe`].
    pub fn observed(&self) -> Option<Timestamp> {
        self.observed
    }

    /// Lets every ID from now on be of a later timestamp than this one, which was seen in an ID of
    /// another server, unless that is more than `max_lead` ahead of `now`. Every call must pass the
    /// ring of [`Generator::take`].
    ///
    /// It does not matter whether the reading is older than the state. If it is, the lead is taken
    /// for larger than it is, and more is explained by as much as the reading is old.
    pub fn observe<const N: usize>(
        &mut self,
        ring: &mut Ring<N>,
        timestamp: Timestamp,
        now: Timestamp,
        max_lead: Span,
    ) -> Observation {
        let lead = timestamp - now;
        if timestamp > self.timestamp {
            if lead > max_lead {
                return Observation::Refused { lead };
            } else if timestamp > self.floor {
                return Observation::Reserve { timestamp };
            }
            self.hold = lead.max(Span::ZERO);
        }
        if timestamp >= self.timestamp {
            // All of its sequence counts as used up, so the next ID is of a later millisecond.
            self.timestamp = timestamp;
            self.sequence = NOTHING_ISSUED;
        }
        ring.forget(timestamp);
        self.observed = self.observed.max(Some(timestamp));
        Observation::Followed { lead }
    }

    /// Sets whether milliseconds are recorded in the ring, and reused. The ring knows nothing of
    /// what was used before this is switched on.
    pub fn set_reuse<const N: usize>(&mut self, ring: &mut Ring<N>, on: bool) {
        if on && !self.recording {
            ring.begin(self.timestamp);
        }
        self.recording = on;
    }

    /// Returns whether [`Generator::set_reuse`] is on, so that unused IDs of earlier milliseconds
    /// might be issued.
    pub fn reuses(&self) -> bool {
        self.recording
    }

    /// Takes one ID or more. Every call must pass the same ring.
    ///
    /// Integers only, and no loop: this runs under a spinlock.
    pub fn take<const N: usize>(
        &mut self,
        ring: &mut Ring<N>,
        reading: Reading,
        request: Request,
        limits: &Limits,
    ) -> Decision {
        match self.next(reading.now, request, || limits.max_burst) {
            Some(next) => self.issue(ring, next, request),
            None => self.take_behind(ring, reading, request, limits),
        }
    }

    /// The common case of [`Generator::take`]: IDs of the clock's millisecond, or of the last one.
    /// `None` means that nothing has changed, and that the caller has to use [`Generator::take`].
    /// `max_burst` is called only where its value matters. It may be called under a spinlock, so it
    /// must only read the setting.
    #[inline(always)]
    pub fn take_at_once<const N: usize>(
        &mut self,
        ring: &mut Ring<N>,
        now: Timestamp,
        request: Request,
        max_burst: impl FnOnce() -> Option<Span>,
    ) -> Option<Run> {
        let next = self.next(now, request, max_burst)?;
        (next.timestamp <= self.reserve_after).then(|| self.advance(ring, next, request))
    }

    /// Returns the next ID that needs no wait, however old the reading.
    #[inline(always)]
    fn next(
        &self,
        now: Timestamp,
        request: Request,
        max_burst: impl FnOnce() -> Option<Span>,
    ) -> Option<Next> {
        let lead = self.timestamp - now;
        // The common cases come first, and do not look at hold and max_burst.
        if lead < Span::ZERO {
            Some(Next { timestamp: now, first: request.first, hold: Span::ZERO })
        } else if self.sequence >= request.last_sequence - request.leave {
            None
        } else if lead == Span::ZERO {
            Some(Next { timestamp: now, first: self.sequence + 1, hold: Span::ZERO })
        } else if lead <= self.hold || lead.is_within(max_burst()) {
            Some(Next {
                timestamp: self.timestamp,
                first: self.sequence + 1,
                hold: self.hold.min(lead),
            })
        } else {
            None
        }
    }

    /// Decides where nothing comes [`Generator::next`]: the clock was set back, the millisecond is
    /// used up, or the reading is old.
    fn take_behind<const N: usize>(
        &mut self,
        ring: &mut Ring<N>,
        reading: Reading,
        request: Request,
        limits: &Limits,
    ) -> Decision {
        let seen = self.seen();
        if reading.seen != Some(seen) {
            return Decision::Reread { seen };
        }
        let explained = limits.explained(self.hold);
        let lead = self.lead(reading.now);
        if !lead.is_within(explained) {
            if self.timestamp - reading.now <= limits.reuse_window
                && let Some(reuse) = self.reuse(ring, reading.now, request)
            {
                return reuse;
            }
            let Some(largest) = limits.largest_lead(self.hold).filter(|largest| lead > *largest)
            else {
                self.hold = lead;
                return Decision::Hold { seen: self.seen(), lead };
            };
            let until = reading.now + lead - largest;
            return if (until - reading.now).is_within(limits.max_wait) {
                Decision::Wait { seen, until, reason: WaitReason::ClockBehind }
            } else {
                Decision::Refuse { timestamp: self.timestamp, lead, until }
            };
        }
        let ahead = self.timestamp - reading.now;
        let Some(explained) = explained.filter(|explained| ahead >= *explained) else {
            // Whatever caused the new lead, it is explained, even after `max_burst` is lowered.
            let (timestamp, hold) = (self.timestamp + Span(1), ahead + Span(1));
            return self.issue(ring, Next { timestamp, first: request.first, hold }, request);
        };
        self.queue(ring, reading, request, explained, limits.max_queue)
    }

    /// Decides where the clock's millisecond is used up, or the queue is ahead of it, and nothing
    /// more is `explained`.
    fn queue<const N: usize>(
        &mut self,
        ring: &mut Ring<N>,
        reading: Reading,
        request: Request,
        explained: Span,
        max_queue: Span,
    ) -> Decision {
        let is_spent = self.sequence >= request.last_sequence - request.leave;
        let timestamp = self.timestamp + Span(is_spent.into());
        let until = timestamp - explained;
        let ahead = until - reading.now;
        let max_queue = if request.want == 1 { max_queue } else { Span::ZERO };
        if ahead > max_queue {
            let (seen, until) = (self.seen(), until - max_queue);
            return Decision::Wait { seen, until, reason: WaitReason::NextMillisecond };
        }
        let first = if is_spent { request.first } else { self.sequence + 1 };
        // The lead that is explained once the ID is returned stays so if `max_burst` is lowered.
        let next = Next { timestamp, first, hold: explained };
        let (run, reserve) = match self.issue(ring, next, request) {
            Decision::Issue(run) => (run, false),
            Decision::IssueAndReserve(run) => (run, true),
            other => return other,
        };
        // Requests that take more of the same timestamp leave it as it is. Their readings are
        // later, and one from between would then seem to be behind.
        if is_spent {
            self.queue = Some((timestamp, ahead));
        }
        Decision::Queue { run, until, reserve }
    }

    /// Returns the state that a later reading has to have seen to be judged by.
    fn seen(&self) -> Seen {
        Seen { timestamp: self.timestamp, hold: self.hold }
    }

    /// Unused IDs of this millisecond, which the clock repeats; `None` if none are known.
    fn reuse<const N: usize>(
        &mut self,
        ring: &mut Ring<N>,
        timestamp: Timestamp,
        request: Request,
    ) -> Option<Decision> {
        if !self.recording {
            return None;
        }
        let first = ring.unused(timestamp, request.first)?;
        if first > request.last_sequence {
            return None;
        }
        let run = Request { leave: 0, ..request }.run(timestamp, first);
        ring.record(timestamp, run.last());
        Some(Decision::Reuse {
            run,
            lead: self.lead(timestamp),
            is_first: ring.notice_step(self.timestamp),
        })
    }

    fn issue<const N: usize>(
        &mut self,
        ring: &mut Ring<N>,
        next: Next,
        request: Request,
    ) -> Decision {
        if next.timestamp <= self.reserve_after {
            return Decision::Issue(self.advance(ring, next, request));
        } else if next.timestamp > self.last_timestamp {
            return Decision::EndOfField;
        } else if next.timestamp > self.floor {
            return Decision::Reserve { timestamp: next.timestamp };
        }
        self.reserve_after = self.floor.min(next.timestamp + ASK_AGAIN);
        Decision::IssueAndReserve(self.advance(ring, next, request))
    }

    #[inline(always)]
    fn advance<const N: usize>(&mut self, ring: &mut Ring<N>, next: Next, request: Request) -> Run {
        if next.timestamp != self.timestamp && self.recording {
            ring.record(self.timestamp, self.sequence);
        }
        let run = request.run(next.timestamp, next.first);
        self.timestamp = next.timestamp;
        self.sequence = run.last();
        self.hold = next.hold;
        run
    }
}

impl Request {
    /// Returns the run of this millisecond that is wanted, from the sequence `first` on.
    #[inline(always)]
    fn run(self, timestamp: Timestamp, first: u32) -> Run {
        debug_assert!(first <= self.last_sequence);
        let last = self.last_sequence - self.leave;
        let more = (self.want - 1).min(last.saturating_sub(first));
        Run { timestamp, first, count: more + 1 }
    }
}

impl Run {
    #[inline(always)]
    fn last(self) -> u32 {
        self.first + (self.count - 1)
    }
}
