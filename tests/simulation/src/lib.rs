//! A fleet of servers in simulated time, driven through the rules of `snowflake-core`.
//!
//! Each identity of the default layout has a primary, its WAL, a standby that lags, and clients.
//! Clocks drift and step. Servers crash, restart, fail over, are restored to an earlier point, and
//! hand their identities on. Every ID is kept, and none may come twice.
//!
//! Nothing of the rules is repeated here: what to issue, where to start and what clock to follow is
//! decided by [`snowflake_core`]. This crate does what the extension does around it, without
//! PostgreSQL: it reads clocks, waits, writes records and loses them.
//!
//! - [`machine`]: the clocks of one machine.
//! - [`cluster`]: a server and its standby; the loop around a request.
//! - `wal`: the WAL of a server.
//! - [`options`]: how many identities there are, and what goes wrong.
//! - [`fleet`]: all identities, and how true time passes for them.
//! - `seat`: an identity, the server that has it and its clients, and what happens to them.
//! - [`report`]: what a run counts.
//! - [`history`]: all IDs of an identity, and which came twice.
//! - [`inversions`]: in which order IDs of different servers come.
//! - [`answers`]: whether the answers of one server to another are older than the questions.
//! - [`chart`]: the pictures of both.

pub mod answers;
pub mod chart;
pub mod cluster;
pub mod fleet;
pub mod history;
pub mod inversions;
pub mod machine;
pub mod options;
pub mod report;
mod seat;
mod wal;
