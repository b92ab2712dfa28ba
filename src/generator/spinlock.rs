//! Spinlocks, in line.
//!
//! An uncontended lock and unlock are one atomic exchange and one store. A contended one backs off
//! in PostgreSQL's own `s_lock()`, which spins, then sleeps, and PANICs after about a minute,
//! because a lock that is held for so long is a bug.
//!
//! PostgreSQL's spinlock is the same exchange and the same store, with the same order of memory:
//! `__sync_lock_test_and_set()` acquires on ARM, and `__sync_lock_release()` releases.

use pgrx::pg_sys;
use snowflake_core::spinlock;

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
        // SAFETY: the word has the type and the meaning of PostgreSQL's slock_t, which s_lock()
        // acquires.
        unsafe {
            pg_sys::s_lock(
                self.0.0.as_ptr().cast(),
                c"src/generator/spinlock.rs".as_ptr(),
                line!() as i32,
                c"lock".as_ptr(),
            );
        }
    }
}
