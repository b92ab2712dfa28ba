//! All IDs of one identity, and how many of them came again.
//!
//! # Why the count is exact
//!
//! Nothing is sampled and nothing is forgotten. A *chain* is a list of intervals of IDs, each above
//! the one before it. Every run of IDs is kept in some chain: at the end of the first one that it is
//! above, or else in a new one.
//!
//! While there is one chain, a run that is above its end has no ID in common with it, so there is
//! nothing to look for. In every other case, each ID of the run is looked for in all chains, but for
//! those that end below the run. In a chain, the only interval that can hold an ID is the last one
//! that does not begin above it, and a binary search finds that one.
//!
//! So an ID counts as a duplicate if, and only if, an equal one was issued before. The search is
//! slow, but it is made only where an identity has gone back, which it never does while the rules
//! hold.

use snowflake_core::generator::Run;

/// Bits of a sequence, and of a timestamp that counts from [`History::BASE`], in an interval.
const SEQUENCE_BITS: u32 = 12;
const LAST_SEQUENCE: u64 = (1 << SEQUENCE_BITS) - 1;

/// IDs of one millisecond: the timestamp, the first and the last sequence, from the highest bits to
/// the lowest. Intervals that have no ID in common compare as their IDs do.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Interval(u64);

impl Interval {
    fn of(run: Run) -> Interval {
        let timestamp = u64::try_from(run.timestamp - History::BASE).expect("not before the base");
        let last = u64::from(run.first + run.count - 1);
        assert!(timestamp < 1 << 40 && last <= LAST_SEQUENCE, "a run is beyond its fields");
        let first = u64::from(run.first);
        Interval((((timestamp << SEQUENCE_BITS) | first) << SEQUENCE_BITS) | last)
    }

    /// Timestamp and sequence in one number.
    fn first(self) -> u64 {
        self.0 >> SEQUENCE_BITS
    }

    fn last(self) -> u64 {
        (self.first() & !LAST_SEQUENCE) | (self.0 & LAST_SEQUENCE)
    }
}

/// The IDs of one identity.
#[derive(Default)]
pub struct History {
    chains: Vec<Vec<Interval>>,
    highest: Option<i64>,
}

impl History {
    /// Timestamps are kept as their distance from this one, in milliseconds since the Unix epoch.
    pub const BASE: i64 = 1_700_000_000_000;

    /// The highest timestamp that was ever issued.
    pub fn highest(&self) -> Option<i64> {
        self.highest
    }

    /// Keeps the IDs of the run, and says how many of them had been issued before.
    pub fn add(&mut self, run: Run) -> u64 {
        let new = Interval::of(run);
        self.highest = self.highest.max(Some(run.timestamp));
        if let [chain] = self.chains.as_mut_slice()
            && let Some(end) = chain.last_mut()
            && new.first() > end.last()
        {
            if new.first() == end.last() + 1 && new.first() & LAST_SEQUENCE != 0 {
                // The next sequences of the same millisecond.
                end.0 += u64::from(run.count);
            } else {
                chain.push(new);
            }
            return 0;
        }
        self.add_slowly(new)
    }

    #[cold]
    fn add_slowly(&mut self, new: Interval) -> u64 {
        let reached: Vec<&Vec<Interval>> =
            self.chains.iter().filter(|chain| !is_above(new, chain)).collect();
        let is_known = |id: &u64| reached.iter().any(|chain| holds(chain, *id));
        let duplicates = (new.first()..=new.last()).filter(is_known).count() as u64;
        match self.chains.iter_mut().find(|chain| is_above(new, chain)) {
            Some(chain) => chain.push(new),
            None => self.chains.push(vec![new]),
        }
        duplicates
    }
}

fn is_above(new: Interval, chain: &[Interval]) -> bool {
    chain.last().is_none_or(|end| new.first() > end.last())
}

fn holds(chain: &[Interval], id: u64) -> bool {
    let after = chain.partition_point(|interval| interval.first() <= id);
    after > 0 && id <= chain[after - 1].last()
}
