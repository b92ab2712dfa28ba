//! What all sessions share to take IDs: the generator in shared memory, behind a spinlock.

pub mod holding;
pub mod shared;
pub mod spinlock;
