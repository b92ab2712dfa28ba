//! IDs as others see them.
//!
//! - [`public`]: names of IDs that tell nothing of them, and keys to make and read them.
//! - [`text`]: an ID in base 62, and a time in ISO 8601.

pub mod public;
pub mod text;
