//! For those who operate the server.

mod administer;
pub mod check;
pub mod status;
