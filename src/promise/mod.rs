//! The durable promise behind each ID: no ID above the floor has been issued.
//!
//! - `register`: the WAL-logged page that holds the floor.
//! - `reservation`: raising the floor ahead of use, and what a start begins from.
//! - `replication`: synchronous replication.
//! - `upstream`: what a standby knows of the clock of the server that it follows.
//! - `entry`: what of this an administrator finds in the log.
//! - `administer`: what an administrator can see, set and confirm.

mod administer;
mod entry;
mod error;
pub mod register;
pub mod replication;
pub mod reservation;
pub mod upstream;

pub use error::Error;
