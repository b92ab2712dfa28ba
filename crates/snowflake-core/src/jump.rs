//! Jumps of the clock ahead: what is accepted, what is logged and what is refused.
//!
//! IDs that followed a wrong clock into the future cannot be taken back: later ones have to be
//! greater. So the wall clock is compared with the time that has passed. A machine that runs knows
//! that: nobody can set its boot clock. The comparison works across restarts of the server, since
//! each record holds both clocks. Once the machine itself was restarted, or the record came from
//! another one, nobody knows how long that took, and only a jump of more than a year is taken for a
//! mistake.
//!
//! What holds, each with its property test in `tests/jump.rs`:
//!
//! 1. Time that passes is no jump, however long it is.
//! 2. On one boot, a jump beyond the limit is refused, and one within it never is.
//! 3. On another boot, a clock that is more than a year ahead of the record is refused, and no
//!    other.
//! 4. A clock that was set back and comes back has not jumped.
//! 5. Without a limit, nothing is refused.

/// What the clocks of a machine say at one moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Clocks {
    /// The wall clock, in milliseconds since the Unix epoch.
    pub wall: i64,
    /// The boot clock; `None` in records that do not hold it.
    pub boot: Option<BootClock>,
}

/// The clock that runs since the machine was started, also while it sleeps, and that nobody can
/// set.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct BootClock {
    /// Differs between any two boots of any two machines.
    pub boot: u128,
    /// Milliseconds since the boot.
    pub elapsed: i64,
}

/// How far the wall clock is ahead of what was expected, in milliseconds. Not positive where it is
/// not ahead.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Jump {
    /// Beyond the time that has passed, by the boot clock.
    Measured(i64),
    /// Beyond the record, of which nobody knows how long ago it was written.
    SinceRecord(i64),
}

/// What to do about a [`Jump`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Verdict {
    /// Follow the clock.
    Accept,
    /// Follow the clock, and tell the administrator.
    Log,
    /// Do not follow the clock until somebody confirms it.
    Refuse,
}

/// A measured jump that an administrator wants to know of, in milliseconds. It is more than two
/// clocks that are read one after the other, and cut to milliseconds, can seem to differ.
pub const NOTABLE: i64 = 1000;

/// The smallest legal limit, in milliseconds: what is notable, and a millisecond for each clock
/// that is cut.
pub const SMALLEST_LIMIT: i64 = NOTABLE + 2;

/// A clock that is further ahead of the record than this is not believed, in milliseconds: 365
/// days.
pub const YEAR: i64 = 365 * 24 * 60 * 60 * 1000;

impl Clocks {
    /// How far the wall clock has jumped since `last`. `timestamp` is the generator's: what is not
    /// above it does not run ahead of anything.
    pub fn jump_since(&self, last: &Clocks, timestamp: i64) -> Jump {
        let ahead = self.wall.saturating_sub(last.wall);
        let beyond = self.wall.saturating_sub(timestamp);
        match (self.boot, last.boot) {
            // Where the boot clock went back, it is not the same one: that of another container,
            // say.
            (Some(now), Some(then)) if now.boot == then.boot && now.elapsed >= then.elapsed => {
                let passed = now.elapsed.saturating_sub(then.elapsed);
                Jump::Measured(ahead.saturating_sub(passed).min(beyond))
            }
            _ => Jump::SinceRecord(ahead.min(beyond)),
        }
    }
}

impl Jump {
    /// What to do, where `limit` is the largest measured jump that is followed; `None` is no limit.
    pub fn judge(self, limit: Option<i64>) -> Verdict {
        let (by, notable, largest) = match self {
            Jump::Measured(by) => (by, NOTABLE, limit),
            Jump::SinceRecord(by) => (by, limit.unwrap_or(YEAR), limit.map(|_| YEAR)),
        };
        if largest.is_some_and(|largest| by > largest) {
            Verdict::Refuse
        } else if by > notable {
            Verdict::Log
        } else {
            Verdict::Accept
        }
    }
}
