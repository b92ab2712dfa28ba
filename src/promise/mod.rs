//! The durable promise behind each ID: no ID above the floor has been issued.
//!
//! - `register`: the WAL-logged page that holds the floor.
//! - `reservation`: what a session does with the lock held, as the machine of
//!   [`snowflake_core::promise`] asks for it.
//! - `preview`: what the next ID would find.
//! - `restored_copy`: whether this server was restored.
//! - `upstream`: what a standby knows of the clock of the server that it follows.
//! - `background`: the background worker that follows that clock, and notes a copy.
//! - `log`: what of this an administrator finds in the log, and how often.

pub mod background;
mod error;
mod log;
pub mod preview;
pub mod register;
pub mod reservation;
pub mod restored_copy;
pub mod upstream;

pub use error::{Error, refused};
