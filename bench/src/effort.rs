//! The rounds, calls and rows of a measurement.

/// The numbers of rounds, calls and rows.
pub struct Effort {
    /// Rounds of everything, each of which measures every candidate once. What has to be warm gets
    /// one more, which does not count.
    pub rounds: usize,
    /// Rounds of functions, which are shorter.
    pub call_rounds: usize,
    /// Calls of a function in a round.
    pub calls: u32,
    /// Rows of a bulk insert.
    pub rows: u32,
    /// Rounds of many sessions, which have the most candidates.
    pub session_rounds: usize,
    /// Seconds of many sessions: for each number of them, kind of key and kind of work in a round.
    pub session_seconds: f64,
    /// Seconds in which something is watched that goes on.
    pub watched_seconds: f64,
    /// The most tables beside which statements are measured.
    pub tables: usize,
}

/// For figures that are published.
pub const FULL: Effort = Effort {
    rounds: 7,
    call_rounds: 61,
    calls: 200_000,
    rows: 1_000_000,
    session_rounds: 3,
    session_seconds: 0.6,
    watched_seconds: 10.0,
    tables: 4000,
};

/// Enough to see that everything works.
pub const QUICK: Effort = Effort {
    rounds: 1,
    call_rounds: 3,
    calls: 100_000,
    rows: 50_000,
    session_rounds: 1,
    session_seconds: 0.1,
    watched_seconds: 1.0,
    tables: 400,
};
