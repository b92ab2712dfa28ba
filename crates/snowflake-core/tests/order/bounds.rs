//! The design of the servers, what can happen to them, and how often.

use snowflake_core::generator::{Limits, RESERVATION};

/// The design, and the ways in which it could be wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Design {
    Sound,
    /// A timestamp is raised up to a floor that is not durable yet.
    RaiseBeforeTheFlush,
    /// The limit is judged before the wait for the lock and the flush, and not again.
    JudgeBeforeTheLock,
    /// A reading that is older than an observation takes the generator back to before it.
    StaleReadingsUndo,
    /// What the ring knows of milliseconds up to an observed one is not forgotten.
    KeepTheRing,
}

#[derive(Clone, Copy, Debug)]
pub struct Bounds {
    pub design: Design,
    /// How far the clock of each server is from true time.
    pub offsets: [i64; 2],
    pub max_observed_lead: i64,
    pub limits: Limits,
    /// IDs of each server, and reservations.
    pub ids: usize,
    pub reservations: usize,
    /// How often a server tells the other one of its last ID.
    pub messages: usize,
    /// How far true time goes, and by how much at once.
    pub ticks: usize,
    pub tick: i64,
    /// How often a clock is set back, and by how much.
    pub clock_moves: usize,
    pub moves: &'static [i64],
    pub crashes: usize,
    pub failovers: usize,
}

const HOLDING: Limits =
    Limits { max_burst: 0, reuse_window: 0, max_backward_step: i64::MAX, max_wait: 0 };

/// One clock is further ahead of the other than a reservation reaches.
pub fn far_apart(design: Design) -> Bounds {
    Bounds {
        design,
        offsets: [2 * RESERVATION, 0],
        max_observed_lead: 3 * RESERVATION,
        limits: HOLDING,
        ids: 1,
        reservations: 2,
        messages: 1,
        ticks: 1,
        tick: 1,
        clock_moves: 1,
        moves: &[-3 * RESERVATION],
        crashes: 1,
        failovers: 1,
    }
}

/// The clocks differ by a millisecond, and unused IDs are issued after a small step back.
pub fn beside_each_other(design: Design) -> Bounds {
    Bounds {
        offsets: [1, 0],
        max_observed_lead: 10,
        limits: Limits { reuse_window: 4, ..HOLDING },
        ids: 3,
        reservations: 2,
        ticks: 2,
        clock_moves: 1,
        moves: &[-2],
        crashes: 0,
        failovers: 0,
        ..far_apart(design)
    }
}
