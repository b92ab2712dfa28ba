//! What comes next, as `snowflake_widen_next()` says it.

/// A row of `snowflake_widen_next()`.
pub struct Step {
    /// What the statement is for, such as `backfill`.
    pub phase: String,
    /// What it is done to.
    pub object: String,
    /// A statement that takes all locks first, in the same transaction.
    pub locks: Option<String>,
    /// The statement; `None` where nothing is left to do, or as long as there is something to wait
    /// for.
    pub statement: Option<String>,
    /// How long locks may be waited for, in milliseconds; 0 without limit.
    pub lock_timeout: i32,
    /// Whether it may be in a transaction with others.
    pub in_transaction: bool,
    /// Where the phase goes on after it.
    pub next_position: i64,
    /// How much of the phase is done, in blocks or objects, and of how much.
    pub measure: Option<(i64, i64)>,
    /// Why to wait before the next one.
    pub wait: Option<String>,
}

impl Step {
    /// The phase, with its object.
    pub fn title(&self) -> String {
        if self.object.is_empty() {
            self.phase.clone()
        } else {
            format!("{}: {}", self.phase, self.object)
        }
    }
}
