//! The check for a restored server, which might be a copy with the identity of its original.
//!
//! PostgreSQL cannot tell a copy from its original, but it says how recovery begins: from a backup,
//! from an archive, or with the files of a standby. A standby is no copy, unless its recovery has a
//! target. The first start takes what says this away, so that the register has to remember it: see
//! [`super::standby_worker`].

use std::fs;
use std::path::Path;
use std::sync::atomic::AtomicU8;
use std::sync::atomic::Ordering::Relaxed;

use crate::pg::in_recovery;
use pgrx::{PgAtomic, pg_shmem_init, pg_sys};

// SAFETY: nobody else names shared memory like this.
static BEGAN: PgAtomic<AtomicU8> = unsafe { PgAtomic::new(c"snowflake_restored") };

/// Ways in which the server was started.
const AS_BEFORE: u8 = 0;
const AS_A_COPY: u8 = 1;
const AS_A_STANDBY: u8 = 2;

/// Asks for the shared memory. Called while the library is preloaded.
pub fn init() {
    pg_shmem_init!(BEGAN = AtomicU8::new(beginning()));
}

/// The server is in its data directory, and recovery has not begun.
fn beginning() -> u8 {
    let has = |name| Path::new(name).exists();
    if has("standby.signal") {
        AS_A_STANDBY
    } else if has("backup_label") || has("recovery.signal") || was_in_recovery() {
        AS_A_COPY
    } else {
        AS_BEFORE
    }
}

/// Returns whether the server ended in recovery from a backup or an archive, or as a standby.
fn was_in_recovery() -> bool {
    use pg_sys::DBState::{DB_IN_ARCHIVE_RECOVERY, DB_SHUTDOWNED_IN_RECOVERY};
    let mut is_intact = false;
    // SAFETY: the server has read this file before. The answer is in memory of its own.
    let state = unsafe { (*pg_sys::get_controlfile(pg_sys::DataDir, &raw mut is_intact)).state };
    is_intact && matches!(state, DB_IN_ARCHIVE_RECOVERY | DB_SHUTDOWNED_IN_RECOVERY)
}

/// Returns whether it was restored when it was started, unless it has crashed since. The library
/// must have been preloaded.
pub fn is_restored() -> bool {
    let began = BEGAN.get();
    if began.load(Relaxed) == AS_A_STANDBY && !in_recovery() {
        began.store(if had_target() { AS_A_COPY } else { AS_BEFORE }, Relaxed);
    }
    began.load(Relaxed) == AS_A_COPY
}

/// Returns whether this timeline began with a recovery that had a target, which a failover has not.
fn had_target() -> bool {
    // SAFETY: a plain reading of the server's state. It is not in recovery.
    let timeline = unsafe { pg_sys::GetWALInsertionTimeLine() };
    let history = fs::read_to_string(format!("pg_wal/{timeline:08X}.history"));
    let last = history.ok().and_then(|history| history.trim_end().lines().last().map(String::from));
    last.is_some_and(|line| !line.ends_with("no recovery target specified"))
}
