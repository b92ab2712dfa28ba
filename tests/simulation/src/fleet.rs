//! All identities, and how true time passes for them.
//!
//! True time passes in slices, and each identity goes through a slice by itself: servers have
//! nothing in common but the identities that they hand on, which happens between slices. Each
//! identity has random numbers of its own, so a seed gives the same run on every machine.

use crate::machine::SECOND;
use crate::options::{BEGIN, NIGHT, Options};
use crate::report::{Counts, Issued, Report, grouped};
use crate::seat::Seat;

const SLICE: i64 = SECOND;

/// After so many slices comes a night, in which nobody takes IDs.
const SLICES_OF_A_DAY: i64 = 200;

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
