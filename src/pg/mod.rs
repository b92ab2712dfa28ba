//! Services of PostgreSQL that all other modules need.
//!
//! Whatever an extension executes that could call code of a user (an operator, a function, a cast,
//! a trigger, a rule, a policy, a check, a default, an index expression) runs with no right that
//! the caller lacks, and with none that the writer of that code lacks. So:
//!
//! - Names in queries of ours are looked up in the catalog alone ([`spi::query`]), where nobody but
//!   PostgreSQL has operators and functions.
//! - What might run code of a user runs as the owner of what is read or changed, in a restricted
//!   operation ([`user::as_owner`]), after the caller was found to have the rights of that owner.
//! - Backslashes in literals mean nothing: `standard_conforming_strings` is on wherever SQL is made
//!   or run.
//!
//! Each module uses only those that stand below it here. No function of SQL is defined here.
//!
//! - `own_table`: the tables of an extension.
//! - `library_function`: functions of the library `snowflake_pg`.
//! - `spi`: queries to the catalog, and statements.
//! - `user`: the user as whom code runs.
//! - `transaction`: the snapshot of a transaction, and the time when its commit is durable.
//! - `settings`: the settings under which queries run, `search_path` among them.
//! - `subtransaction`: subtransactions that are rolled back.
//! - `trigger`: the data of a trigger.
//! - `direct`: functions that PostgreSQL calls without a wrapper.
//! - `worker`: background workers.
//! - `argument`: arguments that are texts.
//! - `report`: errors and log entries.
//! - `time`: PostgreSQL's times and ours.
//! - `memory`: memory of Rust where the system has no more.
//! - `unguarded`: every function of the server that is called without the guard of pgrx.
//! - `encoding`: texts of the database, and texts of ours.

pub mod argument;
mod direct;
pub mod encoding;
pub mod library_function;
#[cfg_attr(
    test,
    expect(dead_code, reason = "the program of tests has no PostgreSQL that ends a session")
)]
pub mod memory;
pub mod own_table;
pub mod report;
pub mod settings;
pub mod spi;
pub mod subtransaction;
pub mod time;
pub mod transaction;
pub mod trigger;
pub mod unguarded;
pub mod user;
pub mod worker;

use std::ffi::{CStr, OsStr};
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

pub(crate) use direct::called_directly;
use pgrx::pg_sys;

/// Returns whether this session applies what another server has done: `session_replication_role`.
pub fn is_replica() -> bool {
    const REPLICA: i32 = pg_sys::SESSION_REPLICATION_ROLE_REPLICA as i32;
    // SAFETY: reads a variable of this process.
    unsafe { pg_sys::SessionReplicationRole == REPLICA }
}

/// The data directory, as the server names it.
pub fn data_directory() -> PathBuf {
    // SAFETY: a string of the server, from its start on.
    let directory = unsafe { CStr::from_ptr(pg_sys::DataDir) };
    OsStr::from_bytes(directory.to_bytes()).into()
}

/// Returns whether the server is a standby, or still recovers after a crash.
pub fn in_recovery() -> bool {
    // SAFETY: reads shared memory of the server.
    unsafe { pg_sys::RecoveryInProgress() }
}
