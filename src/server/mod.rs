//! What the extension needs of PostgreSQL apart from its own purpose.
//!
//! - `catalog`: queries to the catalog, and statements.
//! - `direct`: functions that PostgreSQL calls without a wrapper.
//! - `encoding`: texts of the database, and texts of ours.
//! - `guard`: triggers that look at rows of the extension's tables.
//! - `own_table`: the extension's tables.
//! - `report`: how errors and log entries reach PostgreSQL.
//! - `subtransaction`: subtransactions that are rolled back, always or if something fails.
//! - `time`: PostgreSQL's times and ours.
//! - `trigger`: what the trigger functions look at.

pub mod catalog;
pub mod direct;
pub mod encoding;
pub mod guard;
pub mod own_table;
pub mod report;
pub mod subtransaction;
pub mod time;
pub mod trigger;

use pgrx::pg_sys;

/// Whether the server is a standby, or still recovers after a crash.
pub fn in_recovery() -> bool {
    // SAFETY: reads shared memory of the server.
    unsafe { pg_sys::RecoveryInProgress() }
}
