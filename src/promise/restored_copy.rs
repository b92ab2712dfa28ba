//! Whether this server might be a copy, with the identity of its original: what its start knows.
//!
//! PostgreSQL cannot tell a copy from its original. But a base backup has the file `backup_label`,
//! which the first start from it takes away; and the history of a timeline tells whether a recovery
//! to a point in time began it. What the first ID finds of this is kept until the server starts
//! again.

use std::fs;
use std::path::Path;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::atomic::{AtomicBool, AtomicU8};

use pgrx::{PGRXSharedMemory, PgAtomic, pg_shmem_init};

// SAFETY: nobody else names shared memory like this.
static START: PgAtomic<Start> = unsafe { PgAtomic::new(c"snowflake_restored") };

struct Start {
    /// Whether the server started from a base backup, and not as a standby.
    from_backup: AtomicBool,
    /// What is known of the IDs since: [`OPEN`], [`DOUBTFUL`] or [`SETTLED`].
    verdict: AtomicU8,
}

/// No ID was taken yet.
const OPEN: u8 = 0;
/// The IDs go on with an identity that another server might have.
const DOUBTFUL: u8 = 1;
/// They have an identity of their own, or begin above a floor that was set.
const SETTLED: u8 = 2;

// SAFETY: no pointers, and nothing that belongs to one process.
unsafe impl PGRXSharedMemory for Start {}

/// Asks for the shared memory. Called while the library is preloaded.
pub fn init() {
    pg_shmem_init!(START = Start { from_backup: is_backup().into(), verdict: OPEN.into() });
}

/// The server is in its data directory, and recovery has not begun.
fn is_backup() -> bool {
    Path::new("backup_label").exists() && !Path::new("standby.signal").exists()
}

/// Whether the server started from a base backup, and not as a standby. The library must have been
/// preloaded.
pub fn from_backup() -> bool {
    START.get().from_backup.load(Relaxed)
}

/// Whether this timeline began with a recovery that had a target, which a failover has not.
pub fn had_target(timeline: u32) -> bool {
    let history = fs::read_to_string(format!("pg_wal/{timeline:08X}.history"));
    let last = history.ok().and_then(|history| history.trim_end().lines().last().map(String::from));
    last.is_some_and(|line| !line.ends_with("no recovery target specified"))
}

/// Notes what the first ID found.
pub fn note(is_doubtful: bool) {
    let verdict = if is_doubtful { DOUBTFUL } else { SETTLED };
    // A floor that was set before says more.
    let _ = START.get().verdict.compare_exchange(OPEN, verdict, Relaxed, Relaxed);
}

/// Notes that a floor was set.
pub fn settle() {
    START.get().verdict.store(SETTLED, Relaxed);
}

/// Whether somebody should see to it; `None` before the first ID. The library must have been
/// preloaded.
pub fn is_doubtful() -> Option<bool> {
    match START.get().verdict.load(Relaxed) {
        OPEN => None,
        verdict => Some(verdict == DOUBTFUL),
    }
}
