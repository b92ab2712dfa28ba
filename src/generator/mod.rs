//! What all sessions share to take IDs: the generator in shared memory, and the clock.

pub mod clock;
pub mod shared;
pub mod spinlock;
