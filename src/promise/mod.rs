//! The durable promise behind each ID: no ID above the floor has been issued.
//!
//! - `register`: the WAL-logged page that holds the floor.
//! - `reservation`: the lock, and the effects of [`snowflake_core::promise`].
//! - `preview`: the start that the next ID would find.
//! - `restored_copy`: the check for a server that was restored.
//! - `upstream`: the clock of the server that a standby follows.
//! - `standby_worker`: it follows that clock, reserves at a promotion, and notes a copy.
//! - `log`: entries for the administrator, and how often they come.

mod error;
mod log;
pub mod preview;
pub mod register;
pub mod reservation;
pub mod restored_copy;
pub mod standby_worker;
pub mod upstream;

pub use error::{Error, RUNS_AHEAD};
