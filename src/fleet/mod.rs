//! Servers beside this one: their IDs, their identities and their dumps.
//!
//! - `observe`: IDs of other servers, which this one then follows.
//! - `twins`: the trigger that looks for rows of another server with this one's identity.
//! - `nodes`: identities for servers, each given out once.
//! - `database_layout`: the layout that a database is used with, which its dumps carry.
//! - `guard`: triggers that look at rows of the tables of the last two.

pub mod database_layout;
mod guard;
pub mod nodes;
pub mod observe;
pub mod twins;
