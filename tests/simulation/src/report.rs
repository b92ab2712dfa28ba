//! The counts of a run of the simulation.

/// Counts of events.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[allow(missing_docs)]
pub struct Counts {
    /// The true time that has passed, without the nights.
    pub seconds: i64,
    pub ids: u64,
    pub takes: u64,
    pub crashes: u64,
    pub reboots: u64,
    pub restarts: u64,
    pub failovers: u64,
    /// Failovers that lost WAL.
    pub lossy: u64,
    /// To an earlier point.
    pub restores: u64,
    /// Of an identity, to another server.
    pub hand_overs: u64,
    /// Of a clock.
    pub steps: u64,
    pub refused_starts: u64,
    pub refused_takes: u64,
    pub duplicates: u64,
    /// Runs that were not above one that the same life of the server had issued before.
    pub misplaced: u64,
}

impl Counts {
    /// Returns whether no promise was broken.
    pub fn is_sound(&self) -> bool {
        self.duplicates == 0 && self.misplaced == 0
    }
}
