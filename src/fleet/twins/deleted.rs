//! The IDs with this server's identity whose rows replication has deleted.
//!
//! They are in shared memory, because one process might apply the deletion, and another one the
//! insertion: the worker of a subscription, its parallel workers, which apply large transactions,
//! and the worker that is started after it. They outlive their transaction, too. One that is rolled
//! back does no harm, because the row is still there, and its key with it. A start of the server
//! forgets them, and so does a crash.
//!
//! # Locking contract
//!
//! One LWLock protects them. While it is held, nothing is done but what
//! [`snowflake_core::fleet::deleted`] does: no memory is allocated, and no error raised.

use pgrx::{PGRXSharedMemory, PgLwLock, pg_shmem_init};
use snowflake_core::fleet::deleted::Deleted;

// SAFETY: nobody else names a lock like this.
static DELETED: PgLwLock<Shared> = unsafe { PgLwLock::new(c"snowflake_deleted") };

#[derive(Clone, Copy, Default)]
struct Shared(Deleted);

// SAFETY: no pointers, and nothing that belongs to one process.
unsafe impl PGRXSharedMemory for Shared {}

/// Asks for the shared memory. Called while the library is preloaded.
pub fn init() {
    pg_shmem_init!(DELETED);
}

/// Keeps an ID whose row was deleted. The library must have been preloaded.
pub fn keep(id: i64) {
    DELETED.exclusive().0.keep(id);
}

/// Returns whether the row might have been deleted here before, so that it is not new to this
/// server. The library must have been preloaded.
pub fn might_contain(id: i64) -> bool {
    DELETED.share().0.might_contain(id)
}
