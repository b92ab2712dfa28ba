//! All identities, and how true time passes for them.
//!
//! True time passes in slices, and each identity goes through a slice by itself: servers have
//! nothing in common but the identities that they hand on, which happens between slices. Each
//! identity has random numbers of its own, so a seed gives the same run on every machine.

use crate::machine::{MILLISECOND, SECOND};
use crate::report::{Counts, Report, grouped};
use crate::seat::Seat;

/// All identities of the default layout.
pub const NODES: usize = 1024;

/// Where true time begins, in microseconds since the Unix epoch.
pub(crate) const BEGIN: i64 = 1_800_000_000 * SECOND;

const SLICE: i64 = SECOND;

/// After so many slices comes a night, in which nobody takes IDs.
const SLICES_OF_A_DAY: i64 = 200;

/// So long that clocks catch up with IDs that were ahead of them by what the settings allow.
pub(crate) const NIGHT: i64 = 25 * 3600 * SECOND;

/// What goes wrong.
#[derive(Clone, Copy, Debug)]
pub struct World {
    /// How far a clock is off when it is right, in microseconds.
    pub spread: i64,
    /// What a clock gains or loses in a second at most, in microseconds.
    pub drift: i64,
    /// How far clocks step.
    pub steps: Steps,
    /// Whether servers crash, restart, fail over, are restored and hand their identities on.
    pub faults: bool,
    /// Whether some servers have `snowflake.max_burst` and `snowflake.sequence_jitter`, and some
    /// sessions are kept from taking IDs after they have read the clock.
    pub unusual: bool,
}

/// How far clocks step.
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
    /// How many IDs are issued, at least.
    pub ids: u64,
    /// What all random numbers come from.
    pub seed: u64,
    /// How many identities there are.
    pub nodes: usize,
    /// What goes wrong.
    pub world: World,
    /// Starts begin from the clock alone.
    pub ignore_record: bool,
    /// Whoever takes over an identity does not start after the floor of the one before.
    pub ignore_floor: bool,
    /// Failovers lose WAL of up to the margin and a second, and nobody looks at the formula.
    pub ignore_formula: bool,
    /// Print how it goes on.
    pub progress: bool,
}

impl Options {
    /// As many IDs, from the whole fleet, in the worst world.
    pub fn new(ids: u64, seed: u64) -> Options {
        Options {
            ids,
            seed,
            nodes: NODES,
            world: World::WORST,
            ignore_record: false,
            ignore_floor: false,
            ignore_formula: false,
            progress: false,
        }
    }
}

/// IDs that were taken at once, and when.
#[derive(Clone, Copy, Debug)]
pub struct Issued {
    /// The first ID.
    pub first: i64,
    /// True time, in microseconds.
    pub at: i64,
}

/// Runs the fleet. `watch` is told of all IDs.
pub fn run(options: &Options, mut watch: impl FnMut(Issued)) -> Report {
    let mut seats: Vec<Seat> = (0..options.nodes).map(|node| Seat::new(options, node)).collect();
    let mut until = BEGIN;
    let mut slices = 0;
    let mut counts = Counts::default();
    let mut reported = 0;
    while counts.ids < options.ids {
        if slices > 0 && slices % SLICES_OF_A_DAY == 0 {
            until += NIGHT;
            seats.iter_mut().for_each(|seat| seat.sleep(until));
        }
        until += SLICE;
        slices += 1;
        for seat in &mut seats {
            seat.advance(until, &mut watch);
        }
        hand_over(&mut seats, until);
        counts = Counts::default();
        seats.iter().for_each(|seat| counts.add(&seat.counts));
        let tenth = counts.ids * 10 / options.ids;
        if options.progress && tenth > reported {
            reported = tenth;
            println!(
                "{:>15} IDs, {:>6} s of activity, {} duplicates",
                grouped(counts.ids),
                grouped(slices as u64),
                grouped(counts.duplicates)
            );
        }
    }
    Report { nodes: options.nodes, seconds: slices, counts }
}

/// Gives the identities that were released to others: to a new server, or two that were released at
/// once to each other's servers. Each has to start after the floor that came with its identity.
fn hand_over(seats: &mut [Seat], at: i64) {
    let mut released: Vec<usize> =
        (0..seats.len()).filter(|index| seats[*index].released.is_some()).collect();
    while let Some(index) = released.pop() {
        match released.pop() {
            Some(other) if seats[index].rng.bool() => {
                let [one, another] =
                    seats.get_disjoint_mut([index, other]).expect("two different ones");
                std::mem::swap(&mut one.cluster, &mut another.cluster);
            }
            other => {
                released.extend(other);
                seats[index].found_cluster(at);
            }
        }
    }
    seats.iter_mut().for_each(|seat| seat.take_over(at));
}
