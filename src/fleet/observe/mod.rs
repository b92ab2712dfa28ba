//! IDs of other servers that this one observes: whoever has seen an ID issues only greater ones.
//!
//! The clocks of servers differ, so a reply on one server could have a smaller ID than the post on
//! another one that it replies to. This server's timestamp is therefore raised to that of an ID
//! that it is told of, as in a hybrid logical clock (Kulkarni et al. 2014). What is above the floor
//! is reserved and flushed before, so that it holds after a crash, too.
//!
//! - `rows`: the trigger that observes replicated rows.
//! - `id`: the function that observes an ID.
//! - `error`: what can go wrong, and what the log says.

mod error;
mod id;
mod rows;

pub use rows::init;
