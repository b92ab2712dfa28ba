//! For those who operate the server.
//!
//! - `check`: whether the server can issue IDs, or could if it were promoted.
//! - `administer`: what an administrator can see, set and confirm of the promise.
//! - `status`: what has happened, and how things stand.

mod administer;
pub mod check;
pub mod status;
