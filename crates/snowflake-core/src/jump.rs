//! Jumps of the clock ahead: what is accepted, what is logged and what is refused.
//!
//! IDs that followed a wrong clock into the future cannot be taken back: later ones have to be
//! greater. So the wall clock is compared with the time that has passed. While a machine runs, its
//! boot clock measures that time, and nobody can set the boot clock. The comparison works across
//! restarts of the server, since each record holds both clocks. If the machine itself was
//! restarted, or the record comes from another machine, the time that has passed is not known, and
//! only a jump of more than a year is taken for a mistake.
//!
//! A standby that is promoted continues from IDs of another machine. While it follows that one, the
//! messages that it receives carry the other clock: [`Clocks::of_upstream`]. So it is compared with
//! that clock, carried on by its own boot clock. It is compared with the record as well: the other
//! clock might be one that the other machine itself refused to follow.
//!
//! Invariants, each with its property test in `tests/jump.rs`:
//!
//! 1. Time that passes is no jump, however long it is.
//! 2. On one boot, a jump beyond the limit is refused, and one within it never is.
//! 3. On another boot, a clock that is more than a year ahead of the record is refused, and no
//!    other.
//! 4. A clock that was set back and comes back has not jumped.
//! 5. Without a limit, nothing is refused.
//! 6. A promoted server is judged by its upstream's clock as by its own clock on the same boot, but
//!    only as far as its clock is ahead of the record.
//! 7. What is refused by the record is refused whatever the upstream's clock says.

use crate::time::{Span, Timestamp};

/// The clocks of a machine at one moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Clocks {
    /// The wall clock.
    pub wall: Timestamp,
    /// The boot clock.
    pub boot: BootClock,
}

/// The clock that counts from the start of the machine, even while the machine sleeps, and that
/// nobody can set.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct BootClock {
    /// Differs between any two boots of any two machines.
    pub boot: u128,
    /// The time since the boot.
    pub elapsed: Span,
}

/// The time by which the wall clock is ahead of the expected one. Not positive where it is not
/// ahead.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Jump {
    /// Beyond the time that has passed, by the boot clock.
    Measured(Span),
    /// Beyond the time in the record, because it is not known how long ago the record was written.
    SinceRecord(Span),
    /// Beyond the clock of the server that this one followed.
    OfUpstream(Span),
}

/// Clocks with which those of a server are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Reference {
    /// Those that are in the record.
    pub record: Clocks,
    /// Those of the server that it followed, on a new timeline, where they are known.
    pub upstream: Option<Clocks>,
}

impl Reference {
    /// The clocks of a record alone.
    pub fn record(record: Clocks) -> Reference {
        Reference { record, upstream: None }
    }
}

/// The decision about a [`Jump`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Verdict {
    /// Follow the clock.
    Accept,
    /// Follow the clock, and tell the administrator.
    Log,
    /// Do not follow the clock until somebody confirms it.
    Refuse,
}

/// A measured jump beyond this is logged. Two clocks that are read one after the
/// other, and cut to milliseconds, seem to differ by less.
pub const NOTABLE: Span = Span::SECOND;

/// The smallest valid limit: what is notable, and a millisecond for each clock that is cut.
pub const SMALLEST_LIMIT: Span = Span(NOTABLE.0 + 2);

/// A clock that is further ahead of the record than this is not believed: 365 days.
pub const YEAR: Span = Span(365 * Span::DAY.0);

impl Clocks {
    /// Computes the clock of an upstream server at the present boot time from its last message:
    /// when it was sent by the upstream's clock, and received by this server's. `now` is the time
    /// by this server's clocks, and `unseen` the time since it looked for messages last, if it has.
    /// A message that is late makes the upstream's clock seem to be behind by that.
    pub fn of_upstream(
        sent: Timestamp,
        received: Timestamp,
        now: Clocks,
        unseen: Option<Span>,
    ) -> Clocks {
        // The wall clock might have been set since: the message was not received before the last
        // look.
        let ago = now.wall.saturating_sub(received);
        let ago = unseen.map_or(ago, |unseen| ago.min(unseen)).max(Span::ZERO);
        Clocks { wall: sent.saturating_add(ago), boot: now.boot }
    }

    /// Returns how far the wall clock is ahead of `last`, carried on by the boot clock; `None`
    /// where that is not known.
    pub fn ahead_of(&self, last: &Clocks) -> Option<Span> {
        let (now, then) = (self.boot, last.boot);
        // A boot clock that went back is another clock, for example that of another container.
        let is_same = now.boot == then.boot && now.elapsed >= then.elapsed;
        let passed = now.elapsed.saturating_sub(then.elapsed);
        is_same.then(|| self.wall.saturating_sub(last.wall).saturating_sub(passed))
    }

    /// Decides about these clocks, and returns the jump that decides it. `timestamp` is the
    /// generator's, and `limit` the largest measured jump that is followed; `None` is no limit.
    pub fn judge(
        &self,
        reference: &Reference,
        timestamp: Timestamp,
        limit: Option<Span>,
    ) -> (Verdict, Jump) {
        let since_record = self.jump_since(&reference.record, timestamp);
        let judged = (since_record.judge(limit), since_record);
        let ahead = reference.upstream.and_then(|upstream| self.ahead_of(&upstream));
        let Some(ahead) = ahead else { return judged };
        // If the upstream's own clock is behind, this one has not jumped.
        let since = self.wall.saturating_sub(reference.record.wall);
        let beyond = self.wall.saturating_sub(timestamp);
        let of_upstream = Jump::OfUpstream(ahead.min(since).min(beyond));
        let verdict = of_upstream.judge(limit);
        if verdict >= judged.0 { (verdict, of_upstream) } else { judged }
    }

    /// Measures how far the wall clock has jumped since `last`. `timestamp` is the generator's: a
    /// jump counts only as far as the clock is beyond it.
    pub fn jump_since(&self, last: &Clocks, timestamp: Timestamp) -> Jump {
        let beyond = self.wall.saturating_sub(timestamp);
        match self.ahead_of(last) {
            Some(ahead) => Jump::Measured(ahead.min(beyond)),
            None => Jump::SinceRecord(self.wall.saturating_sub(last.wall).min(beyond)),
        }
    }
}

impl Jump {
    /// Decides about the jump; `limit` is the largest measured jump that is followed; `None` is no
    /// limit.
    pub fn judge(self, limit: Option<Span>) -> Verdict {
        let (by, notable, largest) = match self {
            Jump::Measured(by) | Jump::OfUpstream(by) => (by, NOTABLE, limit),
            Jump::SinceRecord(by) => (by, limit.unwrap_or(YEAR), limit.map(|_| YEAR)),
        };
        if !by.is_within(largest) {
            Verdict::Refuse
        } else if by > notable {
            Verdict::Log
        } else {
            Verdict::Accept
        }
    }
}
