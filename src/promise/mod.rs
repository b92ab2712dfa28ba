//! The durable promise behind each ID: no ID above the floor has been issued.

mod error;
mod log;
pub mod preview;
pub mod register;
pub mod reservation;
pub mod restored_copy;
pub mod standby_worker;
pub mod upstream;

pub use error::Error;
