//! The part of its sequence that each of the last milliseconds has used, so that the rest can be
//! issued after a small step back of the clock.
//!
//! Invariants, with property tests in `tests/ring.rs`:
//!
//! 1. The ring never reports a sequence as unused that was used, or that it knows nothing of.
//! 2. While each millisecond has a place of its own, the ring knows every unused sequence.

use crate::time::Timestamp;

/// The last `N` milliseconds that were used. Milliseconds that are `N` apart share a place, and a
/// place is only ever given to a later one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(C)]
pub struct Ring<const N: usize = MILLISECONDS> {
    /// Of the milliseconds up to this one, nothing is known; `None` before [`Ring::begin`].
    after: Option<Timestamp>,
    /// The generator's timestamp when the last step back was noticed.
    stepped_from: Option<Timestamp>,
    places: [Used; N],
}

/// The largest number of milliseconds for which a generator looks back.
pub const MILLISECONDS: usize = 256;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(C)]
struct Used {
    timestamp: Timestamp,
    /// The last sequence that was used.
    sequence: u32,
}

impl<const N: usize> Ring<N> {
    /// Nothing is known.
    pub const fn new() -> Ring<N> {
        // A place with a flag beside it would take half as much again.
        let unused = Used { timestamp: Timestamp(i64::MIN), sequence: 0 };
        Ring { after: None, stepped_from: None, places: [unused; N] }
    }

    /// From now on, every millisecond after this one is recorded when it has been used.
    pub fn begin(&mut self, after: Timestamp) {
        self.after = Some(after);
    }

    /// Nothing is known any more of the milliseconds up to this one.
    pub fn forget(&mut self, up_to: Timestamp) {
        self.after = self.after.map(|after| after.max(up_to));
    }

    /// The sequences of a millisecond are used up to this one. A caller records later milliseconds
    /// only, or a sequence that [`Ring::unused`] returned.
    #[inline(always)]
    pub fn record(&mut self, timestamp: Timestamp, sequence: u32) {
        self.places[place::<N>(timestamp)] = Used { timestamp, sequence };
    }

    /// The lowest sequence from `first` on that nobody has used in this millisecond, if that is
    /// known. The generator has moved on to a later millisecond.
    pub fn unused(&self, timestamp: Timestamp, first: u32) -> Option<u32> {
        let used = self.places[place::<N>(timestamp)];
        if self.after.is_none_or(|after| timestamp <= after) || used.timestamp > timestamp {
            None
        } else if used.timestamp == timestamp {
            used.sequence.checked_add(1)
        } else {
            Some(first)
        }
    }

    /// Returns whether this is the first step back from this timestamp that is noticed.
    pub fn notice_step(&mut self, from: Timestamp) -> bool {
        self.stepped_from.replace(from) != Some(from)
    }
}

impl<const N: usize> Default for Ring<N> {
    fn default() -> Ring<N> {
        Ring::new()
    }
}

#[inline(always)]
fn place<const N: usize>(timestamp: Timestamp) -> usize {
    timestamp.0.rem_euclid(N as i64) as usize
}
