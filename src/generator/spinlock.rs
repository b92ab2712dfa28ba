//! Spinlocks, in line.
//!
//! An uncontended lock and unlock are one atomic exchange and one store. A contended one backs off
//! in PostgreSQL's own `s_lock()`, which spins, then sleeps, and PANICs after a minute or so: that
//! would be a bug of whoever holds it.

use std::sync::atomic::Ordering::{Acquire, Release};

use pgrx::pg_sys;

/// PostgreSQL's spinlock, with the uncontended path in line: 0 is free, all else is taken.
#[repr(transparent)]
pub struct SpinLock(Word);

#[cfg(any(target_arch = "x86", target_arch = "x86_64"))]
type Word = std::sync::atomic::AtomicU8;
#[cfg(not(any(target_arch = "x86", target_arch = "x86_64")))]
type Word = std::sync::atomic::AtomicU32;

const _: () = assert!(size_of::<Word>() == size_of::<pg_sys::slock_t>());

impl SpinLock {
    /// A lock that is free.
    pub fn new() -> SpinLock {
        SpinLock(Word::new(0))
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
        if self.0.swap(1, Acquire) != 0 {
            self.lock_contended();
        }
    }

    /// Releases it.
    #[inline(always)]
    pub fn unlock(&self) {
        self.0.store(0, Release);
    }

    #[cold]
    #[inline(never)]
    fn lock_contended(&self) {
        // SAFETY: the word has the type and the meaning of PostgreSQL's slock_t, which s_lock()
        // acquires.
        unsafe {
            pg_sys::s_lock(
                self.0.as_ptr().cast(),
                c"src/generator/spinlock.rs".as_ptr(),
                line!() as i32,
                c"lock".as_ptr(),
            );
        }
    }
}
