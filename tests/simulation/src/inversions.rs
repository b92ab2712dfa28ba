//! In which order IDs of different servers come, compared with the order in which they were issued.
//!
//! IDs of the whole fleet are sorted, and each is compared with the one before it, if that is of
//! another server. The pair is inverted if the greater ID was issued earlier, in true time. How much
//! earlier is what is measured.

use std::fmt::Write;

use crate::fleet;
use crate::machine::MILLISECOND;
use crate::options::{Options, Steps, World};
use crate::report::{Issued, grouped};

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

/// What was found in one world.
pub struct Order {
    /// What the world is called.
    pub name: &'static str,
    /// How many pairs were compared.
    pub pairs: usize,
    /// For each inverted pair, by how much earlier the greater ID was issued, in microseconds, in
    /// increasing order.
    pub inverted: Vec<i64>,
}

impl Order {
    fn of(name: &'static str, mut issued: Vec<Issued>) -> Order {
        issued.sort_unstable_by_key(|issued| (issued.first, issued.at));
        let node = |issued: &Issued| issued.first >> SEQUENCE_BITS & 1023;
        let by: Vec<i64> = issued
            .windows(2)
            .filter(|pair| node(&pair[0]) != node(&pair[1]))
            .map(|pair| pair[0].at - pair[1].at)
            .collect();
        let pairs = by.len();
        let mut inverted: Vec<i64> = by.into_iter().filter(|by| *by > 0).collect();
        inverted.sort_unstable();
        Order { name, pairs, inverted }
    }

    /// The part of all pairs that is inverted by more than so many microseconds.
    pub fn beyond(&self, by: i64) -> f64 {
        let within = self.inverted.partition_point(|inverted| *inverted <= by);
        (self.inverted.len() - within) as f64 / self.pairs as f64
    }

    /// By how many microseconds pairs are inverted at most, but for this part of them all.
    fn percentile(&self, rest: f64) -> i64 {
        let beyond = (self.pairs as f64 * rest) as usize;
        self.inverted.len().checked_sub(beyond + 1).map_or(0, |index| self.inverted[index])
    }
}

/// Runs the fleet in each world.
pub fn measure(seed: u64) -> Vec<Order> {
    let order = |(name, world)| {
        let mut issued = Vec::new();
        let options = Options { world, ..Options::new(IDS, seed) };
        fleet::run(&options, |one| issued.push(one));
        Order::of(name, issued)
    };
    WORLDS.into_iter().map(order).collect()
}

/// How the pairs are distributed.
pub fn table(orders: &[Order]) -> String {
    let mut text = String::from(
        "Neighbours among all IDs, of different servers: how much earlier the greater ID was \
         issued, in ms,\nat most, but for the given part of the pairs.\n",
    );
    let titles = ["pairs", "inverted", "10 %", "1 %", "0.1 %", "none"];
    let line = |text: &mut String, name: &str, cells: [String; 6]| {
        write!(text, "{name:<31}").expect("a string");
        cells.iter().for_each(|cell| write!(text, " {cell:>10}").expect("a string"));
        text.push('\n');
    };
    line(&mut text, "", titles.map(str::to_owned));
    for order in orders {
        let but_for =
            |rest: f64| format!("{:.1}", order.percentile(rest) as f64 / MILLISECOND as f64);
        let inverted = format!("{:.1} %", order.beyond(0) * 100.0);
        let pairs = grouped(order.pairs as u64);
        let [tenth, hundredth, thousandth, none] = [0.1, 0.01, 0.001, 0.0].map(but_for);
        let cells = [pairs, inverted, tenth, hundredth, thousandth, none];
        line(&mut text, order.name, cells);
    }
    text
}
