//! Which snapshot a transaction has, whether it may write, what it has locked, and when its commit
//! is durable.

use std::ffi::CStr;

use pgrx::pg_sys;

use crate::pg::settings::set;

/// Returns whether the transaction keeps its first snapshot, and does not see what is committed
/// after it.
pub fn keeps_snapshot() -> bool {
    // SAFETY: reads a variable of this process.
    unsafe { pg_sys::XactIsoLevel >= pg_sys::XACT_REPEATABLE_READ as i32 }
}

/// Refuses to execute a function in a read-only transaction, as PostgreSQL refuses `setval()`:
/// 25006 with this name.
pub fn refuse_read_only(function: &CStr) {
    // SAFETY: in a transaction; raises an error or does nothing.
    unsafe { pg_sys::PreventCommandIfReadOnly(function.as_ptr()) }
}

/// Locks a table for reading until the transaction ends; false if that would have to wait.
pub fn lock_at_once(table: pg_sys::Oid) -> bool {
    // SAFETY: in a transaction. The table exists, or the lock does no harm.
    unsafe { pg_sys::ConditionalLockRelationOid(table, pg_sys::AccessShareLock as i32) }
}

/// Acts while a table is locked for reading; `None` if that would have to wait.
pub fn locked_at_once<T>(table: pg_sys::Oid, act: impl FnOnce() -> T) -> Option<T> {
    lock_at_once(table).then(|| {
        let done = act();
        // SAFETY: the lock is held.
        unsafe { pg_sys::UnlockRelationOid(table, pg_sys::AccessShareLock as i32) };
        done
    })
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
