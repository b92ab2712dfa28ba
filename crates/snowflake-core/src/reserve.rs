//! A reserve of memory: which of its units are in use.
//!
//! Invariants, with property tests in `tests/reserve.rs`:
//!
//! 1. Pieces that are in use do not overlap, and each begins at a multiple of its alignment.
//! 2. A piece is refused only where no gap holds it.
//! 3. What was given back is free again, whatever else is in use.

/// Which of `N` units are in use.
#[derive(Clone, Copy, Debug)]
pub struct Reserve<const N: usize> {
    used: [bool; N],
}

impl<const N: usize> Reserve<N> {
    /// None is in use.
    pub const fn new() -> Reserve<N> {
        Reserve { used: [false; N] }
    }

    /// Takes so many units in a row, of which the first is a multiple of `alignment`, and returns
    /// the first; `None` where there is no such gap.
    pub fn take(&mut self, count: usize, alignment: usize) -> Option<usize> {
        let mut first = 0_usize;
        loop {
            let gap = self.used.get_mut(first..first.checked_add(count)?)?;
            match gap.iter().rposition(|is_used| *is_used) {
                Some(last) => first = (first + last + 1).next_multiple_of(alignment),
                None => {
                    gap.fill(true);
                    return Some(first);
                }
            }
        }
    }

    /// Gives back units that were taken.
    pub fn give_back(&mut self, first: usize, count: usize) {
        self.used[first..first + count].fill(false);
    }
}

impl<const N: usize> Default for Reserve<N> {
    fn default() -> Reserve<N> {
        Reserve::new()
    }
}
