//! Which snapshot a transaction has, whether it may write, and when its commit is durable.

use std::ffi::CStr;

use pgrx::pg_sys;

use crate::server::settings::set;

/// Whether the transaction keeps its first snapshot, and does not see what is committed after it.
pub fn keeps_snapshot() -> bool {
    // SAFETY: reads a variable of this process.
    unsafe { pg_sys::XactIsoLevel >= pg_sys::XACT_REPEATABLE_READ as i32 }
}

/// Refuses to execute a function in a read-only transaction, as PostgreSQL refuses `setval()`: 25006
/// with this name.
pub fn refuse_read_only(function: &CStr) {
    // SAFETY: in a transaction; raises an error or does nothing.
    unsafe { pg_sys::PreventCommandIfReadOnly(function.as_ptr()) }
}

/// Lets the commit of this transaction, or PREPARE TRANSACTION, wait until it is durable, here and
/// on synchronous standbys, even where `synchronous_commit` says that it need not.
pub fn let_commit_be_synchronous() {
    use pgrx::PgXactCallbackEvent::{PreCommit, PrePrepare};
    for event in [PreCommit, PrePrepare] {
        pgrx::register_xact_callback(event, || {
            // SAFETY: a variable of this process, and one of the server's settings.
            unsafe {
                if pg_sys::synchronous_commit
                    < pg_sys::SyncCommitLevel::SYNCHRONOUS_COMMIT_REMOTE_FLUSH as i32
                {
                    // SET LOCAL: it holds until the transaction is over.
                    set(c"synchronous_commit", c"on", pg_sys::GucAction::GUC_ACTION_LOCAL);
                }
            }
        });
    }
}
