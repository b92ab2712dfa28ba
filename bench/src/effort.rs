//! How much is measured.

/// How much is measured.
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
    /// Rounds of small inserts, which have the most candidates.
    pub small_rounds: usize,
    /// Seconds of small inserts, for each kind of key, number of sessions and number of rows, in a
    /// round.
    pub insert_seconds: u32,
    /// The most tables beside which statements are measured.
    pub tables: usize,
    /// Seconds of sustained generation, for each number of sessions.
    pub sustained_seconds: f64,
}

/// For figures that are published.
pub const FULL: Effort = Effort {
    rounds: 7,
    call_rounds: 61,
    calls: 200_000,
    rows: 1_000_000,
    small_rounds: 3,
    insert_seconds: 2,
    tables: 4000,
    sustained_seconds: 30.0,
};

/// Enough to see that everything works.
pub const QUICK: Effort = Effort {
    rounds: 1,
    call_rounds: 3,
    calls: 100_000,
    rows: 50_000,
    small_rounds: 1,
    insert_seconds: 1,
    tables: 400,
    sustained_seconds: 1.0,
};
