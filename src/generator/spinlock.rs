//! Spinlocks, in line.
//!
//! An uncontended lock and unlock are one atomic exchange and one store. A contended one waits as
//! PostgreSQL's own `s_lock()` does, which spins, then sleeps, and PANICs after about a minute,
//! because a lock that is held for so long is a bug. But `s_lock()` sleeps longer each time, up to
//! a second. A session that loses its processor while it holds this lock, among many that take IDs
//! without a pause, would leave some of them asleep long after it has it back.
//!
//! PostgreSQL's spinlock is the same exchange and the same store, with the same order of memory:
//! `__sync_lock_test_and_set()` acquires on ARM, and `__sync_lock_release()` releases.

use pgrx::pg_sys;
use snowflake_core::spinlock;

use crate::pg::unguarded::{finish_spin_delay, perform_spin_delay};

/// The length of the first sleeps, in microseconds: PostgreSQL's shortest.
const SHORT_SLEEP: i32 = 1000;

/// The number of short sleeps. Those that follow, to the 1,000th, grow as PostgreSQL's do, so that
/// whoever holds the lock gets a processor, and that the PANIC comes no sooner than a minute.
const SHORT_SLEEPS: i32 = 500;

/// PostgreSQL's spinlock, with the uncontended path in line.
#[repr(transparent)]
pub struct SpinLock(spinlock::SpinLock<Word>);

#[cfg(any(target_arch = "x86", target_arch = "x86_64"))]
type Word = std::sync::atomic::AtomicU8;
#[cfg(not(any(target_arch = "x86", target_arch = "x86_64")))]
type Word = std::sync::atomic::AtomicU32;

const _: () = assert!(size_of::<Word>() == size_of::<pg_sys::slock_t>());

impl SpinLock {
    /// A lock that is free.
    pub fn new() -> SpinLock {
        SpinLock(spinlock::SpinLock(Word::new(0)))
    }

    /// A lock of PostgreSQL's own.
    ///
    /// # Safety
    ///
    /// `lock` points to a spinlock that lives as long as the server.
    pub unsafe fn of(lock: *mut pg_sys::slock_t) -> &'static SpinLock {
        // SAFETY: the type is the same, and what is shared is atomic.
        unsafe { &*lock.cast() }
    }

    /// Takes the lock.
    #[inline(always)]
    pub fn lock(&self) {
        if !self.0.try_lock() {
            self.lock_contended();
        }
    }

    /// Releases it.
    #[inline(always)]
    pub fn unlock(&self) {
        self.0.unlock();
    }

    #[cold]
    #[inline(never)]
    fn lock_contended(&self) {
        let mut delay = pg_sys::SpinDelayStatus {
            file: c"src/generator/spinlock.rs".as_ptr(),
            line: line!() as i32,
            func: c"lock".as_ptr(),
            ..Default::default()
        };
        while self.0.is_taken() || !self.0.try_lock() {
            // SAFETY: the status lives as long as the calls.
            unsafe { perform_spin_delay(&raw mut delay) };
            if delay.delays < SHORT_SLEEPS {
                delay.cur_delay = delay.cur_delay.min(SHORT_SLEEP);
            }
        }
        // SAFETY: as before.
        unsafe { finish_spin_delay(&raw mut delay) };
    }
}
