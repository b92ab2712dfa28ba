//! From IDs to what they mean, and back. Immutable: the layout is fixed for a server's life.
//!
//! Calls that name epoch and widths depend on nothing else, and take IDs of other systems.

mod error;
pub mod layout;
mod parts;
pub mod range;
mod text;
