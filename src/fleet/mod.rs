//! Servers beside this one: their IDs, their identities and their dumps.

pub mod database_layout;
mod guard;
pub mod nodes;
pub mod observe;
pub mod twins;
