//! All IDs of one identity, and how many of them came again.
//!
//! Nothing is sampled and nothing is forgotten. Runs of IDs that are above all before them are in
//! one list, which a binary search looks through. While the rules hold, there are no others, so
//! nothing has to be looked for. The IDs of all others are in a set.

use std::collections::HashSet;

use snowflake_core::generator::Run;
use snowflake_core::time::{Span, Timestamp};

/// Bits of a sequence.
const BITS: u32 = 12;

/// The IDs of one identity. An ID is a number: the milliseconds since [`History::BASE`], and the
/// sequence.
#[derive(Default)]
pub struct History {
    /// The first ID of each run, and in the lowest bits, how many of its millisecond follow.
    runs: Vec<u64>,
    others: HashSet<u64>,
    highest: Option<u64>,
}

impl History {
    /// Timestamps are kept as their distance from this one.
    pub const BASE: Timestamp = Timestamp(1_700_000_000_000);

    /// The highest timestamp that was ever issued.
    pub fn highest(&self) -> Option<Timestamp> {
        self.highest.map(|id| History::BASE + Span((id >> BITS) as i64))
    }

    /// Keeps the IDs of the run, and says how many of them had been issued before.
    pub fn add(&mut self, run: Run) -> u64 {
        let timestamp =
            u64::try_from((run.timestamp - History::BASE).0).expect("not before the base");
        let is_in_field = timestamp < 1 << (64 - 2 * BITS) && run.first + run.count <= 1 << BITS;
        assert!(is_in_field, "a run is beyond its fields");
        let first = (timestamp << BITS) + u64::from(run.first);
        let more = u64::from(run.count - 1);
        let is_above = self.highest.is_none_or(|highest| first > highest);
        self.highest = self.highest.max(Some(first + more));
        if !is_above {
            let came_before = |id: &u64| {
                let after = self.runs.partition_point(|run| run >> BITS <= *id);
                let is_in_run = after > 0 && *id <= last(self.runs[after - 1]);
                is_in_run || !self.others.insert(*id)
            };
            return (first..=first + more).filter(came_before).count() as u64;
        }
        match self.runs.last_mut() {
            // The next sequences of the same millisecond.
            Some(end) if first == last(*end) + 1 && run.first > 0 => *end += more + 1,
            _ => self.runs.push((first << BITS) + more),
        }
        0
    }
}

/// The last ID of a run.
fn last(run: u64) -> u64 {
    (run >> BITS) + (run & ((1 << BITS) - 1))
}
