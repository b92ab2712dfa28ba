//! Whether this server was restored, so that it might be a copy with the identity of its original.
//!
//! PostgreSQL cannot tell a copy from its original, but it says how recovery begins: from a backup,
//! from an archive, or with the files of a standby. A standby is no copy. The first start takes what
//! says this away, so that the register has to remember it: see [`super::background`].

use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::Relaxed;

use pgrx::{PgAtomic, pg_shmem_init, pg_sys};

// SAFETY: nobody else names shared memory like this.
static RESTORED: PgAtomic<AtomicBool> = unsafe { PgAtomic::new(c"snowflake_restored") };

/// Asks for the shared memory. Called while the library is preloaded.
pub fn init() {
    pg_shmem_init!(RESTORED = AtomicBool::new(begins_as_a_copy()));
}

/// The server is in its data directory, and recovery has not begun.
fn begins_as_a_copy() -> bool {
    let has = |name| Path::new(name).exists();
    !has("standby.signal") && (has("backup_label") || has("recovery.signal") || was_in_recovery())
}

/// Whether the server ended while it recovered from a backup or an archive, or was a standby.
fn was_in_recovery() -> bool {
    use pg_sys::DBState::{DB_IN_ARCHIVE_RECOVERY, DB_SHUTDOWNED_IN_RECOVERY};
    let mut is_intact = false;
    // SAFETY: the server has read this file before. The answer is in memory of its own.
    let state = unsafe { (*pg_sys::get_controlfile(pg_sys::DataDir, &raw mut is_intact)).state };
    is_intact && matches!(state, DB_IN_ARCHIVE_RECOVERY | DB_SHUTDOWNED_IN_RECOVERY)
}

/// Whether it was restored when it was started, unless it has crashed since. The library must have
/// been preloaded.
pub fn is_restored() -> bool {
    RESTORED.get().load(Relaxed)
}
