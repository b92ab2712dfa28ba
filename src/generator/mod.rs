//! The state that all sessions share to take IDs: the generator in shared memory, behind a
//! spinlock.
//!
//! - `clock`: the wall clock and the boot clock.
//! - `shared`: the generator, and what else the sessions share.
//! - `horizon_slots`: which transactions hold back the horizon. It is here because the claim of an
//!   ID writes into it, under the same lock.
//! - `spinlock`: that lock.

pub mod clock;
pub mod horizon_slots;
pub mod shared;
pub mod spinlock;
