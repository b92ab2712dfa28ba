//! The number of identities, and the faults of their world.

use crate::machine::{MILLISECOND, SECOND};

/// All identities of the default layout.
pub const NODES: usize = 1024;

/// Where true time begins, in microseconds since the Unix epoch.
pub(crate) const BEGIN: i64 = 1_800_000_000 * SECOND;

/// So long that clocks catch up with IDs that were ahead of them by what the settings allow.
pub(crate) const NIGHT: i64 = 25 * 3600 * SECOND;

/// The faults of a world.
#[derive(Clone, Copy, Debug)]
pub struct World {
    /// The largest error of a clock that is right, in microseconds.
    pub spread: i64,
    /// The largest gain or loss of a clock in a second, in microseconds.
    pub drift: i64,
    /// The steps of clocks.
    pub steps: Steps,
    /// True if servers crash, restart, fail over, are restored and hand their identities on.
    pub faults: bool,
    /// True if some servers have `snowflake.max_burst` and `snowflake.sequence_jitter`, and some
    /// sessions are kept from taking IDs after they have read the clock.
    pub unusual: bool,
}

/// The size of steps of clocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Steps {
    /// Not at all.
    None,
    /// By up to a second.
    Small,
    /// From milliseconds to days, within the limits of the settings and beyond.
    All,
}

impl World {
    /// Everything that can go wrong.
    pub const WORST: World = World {
        spread: 50 * MILLISECOND,
        drift: 100,
        steps: Steps::All,
        faults: true,
        unusual: true,
    };
}

/// A run of the simulation.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// The least number of IDs that are issued.
    pub ids: u64,
    /// The seed of all random numbers.
    pub seed: u64,
    /// The number of identities.
    pub nodes: usize,
    /// The faults.
    pub world: World,
    /// A rule that is left out.
    pub ignored: Ignored,
}

/// A rule that is left out. Wrong, and there to be noticed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ignored {
    /// None is.
    Nothing,
    /// Starts begin from the clock alone.
    Record,
    /// Whoever takes over an identity does not start after the floor of the one before.
    Floor,
    /// Failovers lose WAL of up to the margin and a second, also where the formula does not cover
    /// that.
    Formula,
}

impl Options {
    /// As many IDs, from the whole fleet, in the worst world.
    pub fn new(ids: u64, seed: u64) -> Options {
        Options { ids, seed, nodes: NODES, world: World::WORST, ignored: Ignored::Nothing }
    }
}
