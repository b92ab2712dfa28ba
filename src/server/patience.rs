//! Locks that a session tries to get again and again, because waiting for them in the queue might
//! cause a deadlock.

use std::cell::Cell;
use std::thread::sleep;
use std::time::Duration;

use pgrx::check_for_interrupts;
use pgrx::pg_sys;

/// The pause between two attempts to lock a relation.
const PAUSE: Duration = Duration::from_millis(5);

/// The time for which one statement still waits for locks, altogether.
pub struct Patience(Cell<Duration>);

impl Patience {
    /// As long as `deadlock_timeout`.
    pub fn new() -> Patience {
        // SAFETY: one of the server's settings, which is positive.
        let timeout = unsafe { pg_sys::DeadlockTimeout };
        Patience(Cell::new(Duration::from_millis(timeout as u64)))
    }

    /// Whether the relation could be locked. It stays locked until the transaction ends.
    pub fn lock(&self, relation: pg_sys::Oid, mode: u32) -> bool {
        loop {
            if lock_at_once(relation, mode) {
                return true;
            }
            let Some(rest) = self.0.get().checked_sub(PAUSE) else { return false };
            self.0.set(rest);
            check_for_interrupts!();
            sleep(PAUSE);
        }
    }
}

/// Whether the relation could be locked without waiting.
pub fn lock_at_once(relation: pg_sys::Oid, mode: u32) -> bool {
    // SAFETY: the relation might be gone, and then the lock does no harm.
    unsafe { pg_sys::ConditionalLockRelationOid(relation, mode as i32) }
}
