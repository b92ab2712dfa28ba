//! In which order IDs of different servers come, compared with the order in which they were issued.
//!
//! IDs of the whole fleet are sorted, and each is compared with the one before it, if that is of
//! another server. The pair is inverted if the greater ID was issued earlier, in true time. How
//! much earlier is what is measured.

use crate::fleet;
use crate::machine::MILLISECOND;
use crate::options::{NODES, Options, Steps, World};

/// IDs of a measurement, at least.
const IDS: u64 = 20_000_000;

/// Bits of the sequence in an ID.
const SEQUENCE_BITS: u32 = 12;

/// The worlds that are compared.
const WORLDS: [(&str, World); 3] = [
    ("clocks right within 1 ms", steady(MILLISECOND)),
    ("clocks right within 50 ms", steady(50 * MILLISECOND)),
    (
        "steps of up to 1 s, and faults",
        World { steps: Steps::Small, faults: true, ..steady(50 * MILLISECOND) },
    ),
];

const fn steady(spread: i64) -> World {
    World { spread, drift: 0, steps: Steps::None, faults: false, unusual: false }
}

/// The order of IDs in one world.
pub struct Order {
    /// The name of the world.
    pub name: &'static str,
    /// Pairs that were compared.
    pub pairs: usize,
    /// For each inverted pair, by how much earlier the greater ID was issued, in microseconds, in
    /// increasing order.
    pub inverted: Vec<i64>,
}

impl Order {
    /// Of IDs, and when each was issued.
    fn of(name: &'static str, mut issued: Vec<(i64, i64)>) -> Order {
        issued.sort_unstable();
        let node = |issued: &(i64, i64)| issued.0 >> SEQUENCE_BITS & (NODES as i64 - 1);
        let pairs = issued.windows(2).filter(|pair| node(&pair[0]) != node(&pair[1]));
        let by: Vec<i64> = pairs.map(|pair| pair[0].1 - pair[1].1).collect();
        let mut inverted: Vec<i64> = by.iter().copied().filter(|by| *by > 0).collect();
        inverted.sort_unstable();
        Order { name, pairs: by.len(), inverted }
    }

    /// The part of all pairs that is inverted by more than so many microseconds.
    pub fn beyond(&self, by: i64) -> f64 {
        let within = self.inverted.partition_point(|inverted| *inverted <= by);
        (self.inverted.len() - within) as f64 / self.pairs as f64
    }
}

/// Runs the fleet in each world.
pub fn measure(seed: u64) -> Vec<Order> {
    let order = |(name, world)| {
        let mut issued = Vec::new();
        let options = Options { world, ..Options::new(IDS, seed) };
        fleet::run(&options, |id, at| issued.push((id, at)));
        Order::of(name, issued)
    };
    WORLDS.into_iter().map(order).collect()
}
