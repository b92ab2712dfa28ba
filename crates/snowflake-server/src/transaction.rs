//! Which snapshot a transaction has, what was changed since, and when its commit is durable.

use pgrx::pg_sys;

use crate::settings::set;

/// Whether the transaction keeps its first snapshot, and does not see what is committed after it.
pub fn keeps_snapshot() -> bool {
    // SAFETY: reads a variable of this process.
    unsafe { pg_sys::XactIsoLevel >= pg_sys::XACT_REPEATABLE_READ as i32 }
}

/// Whether no statement of the transaction has changed a row yet, of the catalog or of a table.
pub fn has_changed_nothing() -> bool {
    // SAFETY: reads variables of this process, and marks nothing as used.
    unsafe { pg_sys::GetCurrentCommandId(false) == pg_sys::FirstCommandId }
}

/// A number that stays the same until another transaction changes the catalog, of this database or of
/// another one. VACUUM and ANALYZE change it, too.
pub fn catalog_changes() -> u64 {
    // SAFETY: the messages of all transactions that have committed are read, and counted by PostgreSQL.
    unsafe {
        pg_sys::AcceptInvalidationMessages();
        pg_sys::SharedInvalidMessageCounter
    }
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
