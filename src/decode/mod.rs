//! From IDs to what they mean, and back. Immutable: the layout is fixed for a server's life.
//!
//! Calls that name epoch and widths depend on nothing else, and take IDs of other systems.
//!
//! - `parts`: from an ID to its parts and back.
//! - `range`: from times to the range of IDs that they bound.
//! - `text`: JSON, and a short text.
//! - `layout`: which layout is used.

mod error;
pub mod layout;
mod parts;
pub mod range;
mod text;
