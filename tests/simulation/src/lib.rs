//! A fleet of servers in simulated time, driven through the rules of `snowflake-core`.
//!
//! Each identity of the default layout has a primary, its WAL, a standby that lags, and clients.
//! Clocks drift and step. Servers crash, restart, fail over, are restored to an earlier point, and
//! hand their identities on. Every ID is kept, and none may come twice.
//!
//! Nothing of the rules is repeated here: what to issue, where to start and what clock to follow is
//! decided by [`snowflake_core`]. This crate does what the extension does around it, without
//! PostgreSQL: it reads clocks, waits, writes records and loses them.

pub mod answers;
pub mod chart;
pub mod cluster;
#[path = "../../../crates/snowflake-core/tests/fixtures/effects.rs"]
mod effects;
pub mod fleet;
pub mod history;
pub mod inversions;
pub mod machine;
pub mod members;
pub mod options;
pub mod report;
mod seat;
#[path = "../../e2e/src/seed.rs"]
mod seed;
mod wal;

pub use seed::seed;
