//! All identities, and how true time passes for them.
//!
//! True time passes in slices of a second, and each identity goes through a slice by itself:
//! servers have nothing in common but the identities that they hand on, which happens between
//! slices. Each identity has random numbers of its own, so a seed gives the same run on every
//! machine.

use crate::machine::SECOND;
use crate::options::{BEGIN, NIGHT, Options};
use crate::report::Counts;
use crate::seat::Seat;

/// After so many seconds comes a night, in which nobody takes IDs.
const DAY: i64 = 200;

/// Runs the fleet. `watch` is told of the first ID of each call, and of the time.
pub fn run(options: &Options, mut watch: impl FnMut(i64, i64)) -> Counts {
    let mut seats: Vec<Seat> = (0..options.nodes).map(|node| Seat::new(options, node)).collect();
    let mut until = BEGIN;
    let mut counts = Counts::default();
    while counts.ids < options.ids {
        if counts.seconds > 0 && counts.seconds % DAY == 0 {
            until += NIGHT;
            seats.iter_mut().for_each(|seat| seat.sleep(until));
        }
        until += SECOND;
        counts.seconds += 1;
        for seat in &mut seats {
            seat.advance(until, &mut counts, &mut watch);
        }
        hand_over(&mut seats, until);
        seats.iter_mut().for_each(|seat| seat.take_over(until, &mut counts));
    }
    counts
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
}
