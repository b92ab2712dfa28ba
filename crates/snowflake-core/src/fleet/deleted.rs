//! The IDs of rows that were deleted, the greatest of them, so that a row that is inserted again is
//! not taken for a new one.
//!
//! Invariants, with property tests in `tests/deleted.rs`:
//!
//! 1. Each ID that was kept might have been deleted, however many were kept since.
//! 2. Of the IDs above [`Deleted::forgotten`], no other one might have been.
//! 3. At least three quarters of `N` IDs are kept, the greatest, before one is forgotten.

/// The number of IDs that a server keeps. If others delete 800 rows of a server a second, each soon
/// after it was inserted, the server keeps those of the last minute.
pub const KEPT: usize = 1 << 16;

/// The greatest of the IDs that were deleted, in ascending order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Deleted<const N: usize = KEPT> {
    /// Of the IDs up to this one, nobody knows any more which were deleted.
    forgotten: i64,
    count: usize,
    ids: [i64; N],
}

impl<const N: usize> Deleted<N> {
    /// Nothing was deleted.
    pub const fn new() -> Deleted<N> {
        Deleted { forgotten: i64::MIN, count: 0, ids: [0; N] }
    }

    /// Keeps an ID. Mostly, the greatest comes last, and takes no more than a search.
    pub fn keep(&mut self, id: i64) {
        let Some(at) = self.place_of(id) else { return };
        let at = if self.count < N { at } else { at.saturating_sub(self.forget()) };
        if id <= self.forgotten {
            return;
        }
        self.ids.copy_within(at..self.count, at + 1);
        self.ids[at] = id;
        self.count += 1;
    }

    /// Returns whether a row with this ID might have been deleted.
    pub fn might_contain(&self, id: i64) -> bool {
        self.place_of(id).is_none()
    }

    /// Of the IDs up to this one, nobody knows any more which were deleted.
    pub fn forgotten(&self) -> i64 {
        self.forgotten
    }

    /// Where an ID belongs that is not here yet; `None` if it is, or is one of those that were
    /// forgotten.
    fn place_of(&self, id: i64) -> Option<usize> {
        if id <= self.forgotten {
            return None;
        }
        self.ids[..self.count].binary_search(&id).err()
    }

    /// Forgets the smallest quarter, because these are the oldest IDs, and returns how many they
    /// are. One at a time, each would move all others.
    fn forget(&mut self) -> usize {
        let quarter = N / 4;
        self.forgotten = self.ids[quarter - 1];
        self.ids.copy_within(quarter..self.count, 0);
        self.count -= quarter;
        quarter
    }
}

impl<const N: usize> Default for Deleted<N> {
    fn default() -> Deleted<N> {
        Deleted::new()
    }
}
