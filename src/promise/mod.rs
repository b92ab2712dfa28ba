//! The durable promise behind each ID: no ID above the floor has been issued.
//!
//! - `register`: the WAL-logged page that holds the floor.
//! - `reservation`: raising the floor ahead of use, and what a start begins from.
//! - `administer`: what an administrator can see, set and confirm.

mod administer;
mod error;
pub mod register;
pub mod reservation;

pub use error::Error;
