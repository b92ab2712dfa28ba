//! The steps of a spinlock, and the order of memory that they impose.
//!
//! The next process that takes the lock sees what the last holder wrote, and no process sees it
//! earlier. On x86, every exchange and every store gives that order, whatever is asked for. On ARM
//! and other processors that order memory weakly, only [`Acquire`] and [`Release`] do.

use std::sync::atomic::Ordering::{self, Acquire, Relaxed, Release};
use std::sync::atomic::{AtomicU8, AtomicU32};

/// A word of memory that several processes share.
pub trait Word {
    /// Puts the value there, and returns what was there.
    fn swap(&self, value: u8, ordering: Ordering) -> u32;
    /// Reads what is there.
    fn load(&self, ordering: Ordering) -> u32;
    /// Puts the value there.
    fn store(&self, value: u8, ordering: Ordering);
}

/// A lock without a way to wait for it: 0 is free, all else is taken.
#[repr(transparent)]
pub struct SpinLock<W>(pub W);

impl<W: Word> SpinLock<W> {
    /// Takes the lock, and returns whether it was free.
    #[inline(always)]
    pub fn try_lock(&self) -> bool {
        self.0.swap(1, Acquire) == 0
    }

    /// Returns whether the lock is taken. Waiting processes ask before they try, so that each of
    /// them does not take the word away from the others.
    pub fn is_taken(&self) -> bool {
        self.0.load(Relaxed) != 0
    }

    /// Releases it.
    #[inline(always)]
    pub fn unlock(&self) {
        self.0.store(0, Release);
    }
}

macro_rules! word {
    ($($atomic:ty),*) => {$(
        impl Word for $atomic {
            #[inline(always)]
            fn swap(&self, value: u8, ordering: Ordering) -> u32 {
                self.swap(value.into(), ordering).into()
            }

            #[inline(always)]
            fn load(&self, ordering: Ordering) -> u32 {
                self.load(ordering).into()
            }

            #[inline(always)]
            fn store(&self, value: u8, ordering: Ordering) {
                self.store(value.into(), ordering);
            }
        }
    )*};
}
word!(AtomicU8, AtomicU32);
