//! The rules of a Snowflake ID generator.
//!
//! This crate knows nothing of PostgreSQL, and has no clock, lock or file of its own. The caller
//! lends these, waits and raises errors; what is done with them, and in which order, is decided
//! here, where it can be tested exhaustively.
//!
//! - [`call`]: waits, reservations and entries in the log, until a call has its IDs.
//! - [`condition`]: what has to hold where a server may issue IDs, and the number in its name.
//! - [`defaults`]: what settings are if nobody sets them.
//! - [`layout`]: how a timestamp, a datacenter, a worker and a sequence make up 63 bits.
//! - [`epoch`]: the written form of the instant that timestamps count from.
//! - [`generator`]: (state, clock reading, limits) -> issue, wait or refuse.
//! - [`fleet`]: rows of other servers.
//! - [`horizon`]: an ID up to which no row can still appear.
//! - [`issuer`]: what a server may begin from, given its record, and what it writes.
//! - [`jump`]: (both clocks then, both clocks now, limit) -> follow the clock or not.
//! - [`outside`]: IDs as others see them.
//! - [`reserve`]: which units of a reserve of memory are in use.
//! - [`ring`]: what the last milliseconds have used.
//! - [`promise`]: reservations, starts and floors, so that no ID comes twice.
//! - [`register`]: the durable record, and its bytes.
//! - [`spinlock`]: the steps of the lock that the caller holds.
//! - [`time`]: points in time, and what lies between them.

#![forbid(unsafe_code)]

pub mod call;
pub mod condition;
pub mod defaults;
pub mod epoch;
pub mod fleet;
pub mod generator;
pub mod horizon;
pub mod issuer;
pub mod jump;
pub mod layout;
pub mod outside;
pub mod promise;
pub mod register;
pub mod reserve;
pub mod ring;
pub mod spinlock;
pub mod time;
