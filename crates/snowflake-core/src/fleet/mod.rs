//! Rows of other servers.
//!
//! - [`deleted`]: the IDs of rows that were deleted.

pub mod deleted;
