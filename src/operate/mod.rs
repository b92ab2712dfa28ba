//! For those who operate the server.
//!
//! - `check`: the check that the server can issue IDs, or could if it were promoted.
//! - `administer`: functions by which an administrator sees, sets and confirms parts of the
//!   promise.
//! - `status`: statistics, and the present state.

mod administer;
pub mod check;
pub mod status;
