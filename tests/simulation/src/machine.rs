//! The clocks of one machine, as functions of true time.
//!
//! True time is in microseconds since the Unix epoch; the clocks are read in milliseconds, as the
//! extension reads them.

use fastrand::Rng;
use snowflake_core::jump::{BootClock, Clocks};
use snowflake_core::time::{Span, Timestamp};

/// Microseconds in a millisecond.
pub const MILLISECOND: i64 = 1000;

/// Microseconds in a second.
pub const SECOND: i64 = 1000 * MILLISECOND;

/// A machine: a wall clock that is wrong, and a boot clock.
#[derive(Clone, Debug)]
pub struct Machine {
    /// The number that tells it from other machines.
    pub number: u128,
    /// The lead of the wall clock over true time when it was set, in microseconds.
    ahead: i64,
    /// The gain of the wall clock in a second, in microseconds.
    drift: i64,
    set_at: i64,
    boot: u128,
    booted_at: i64,
}

impl Machine {
    /// A machine that was booted some time ago, and whose wall clock is off by up to `spread`
    /// microseconds.
    pub fn new(rng: &mut Rng, at: i64, spread: i64, drift: i64) -> Machine {
        Machine {
            number: rng.u128(1..),
            ahead: rng.i64(-spread..=spread),
            drift: rng.i64(-drift..=drift),
            set_at: at,
            boot: rng.u128(1..),
            booted_at: at - rng.i64(0..1000 * SECOND),
        }
    }

    /// Returns the lead of the wall clock over true time, in microseconds.
    pub fn ahead(&self, at: i64) -> i64 {
        self.ahead + (at - self.set_at) * self.drift / SECOND
    }

    /// The wall clock.
    pub fn wall(&self, at: i64) -> Timestamp {
        Timestamp((at + self.ahead(at)).div_euclid(MILLISECOND))
    }

    /// Both clocks.
    pub fn clocks(&self, at: i64) -> Clocks {
        let elapsed = Span((at - self.booted_at).div_euclid(MILLISECOND));
        Clocks { wall: self.wall(at), boot: BootClock { boot: self.boot, elapsed } }
    }

    /// About when the wall clock will show that time, and later than `at`.
    pub fn when(&self, wall: Timestamp, at: i64) -> i64 {
        (wall.0 * MILLISECOND - self.ahead(at)).max(at + 1)
    }

    /// Steps the wall clock to so many microseconds ahead of true time.
    pub fn set(&mut self, at: i64, ahead: i64) {
        self.ahead = ahead;
        self.set_at = at;
    }

    /// Restarts the machine. Its wall clock goes on, from the clock on its board.
    pub fn reboot(&mut self, rng: &mut Rng, at: i64) {
        self.boot = rng.u128(1..);
        self.booted_at = at;
    }
}
