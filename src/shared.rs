//! The generator in shared memory, and the spinlock that guards it.
//!
//! # Locking contract
//!
//! One spinlock guards everything in [`Generator`]; nothing of it is read or written without the lock. Under
//! the lock there are integers only: no clock, no allocation, no error, no panic, no call into PostgreSQL, no
//! loop. Whoever has to wait releases it first. No other lock is taken while it is held, and it may be taken
//! while any other is held.
//!
//! An uncontended lock and unlock are one atomic exchange and one store, in line. A contended one backs off in
//! PostgreSQL's own `s_lock()`, which spins, then sleeps, and PANICs after a minute or so: that would be a bug
//! in this file.
//!
//! The server creates the memory when it starts, and again after a crash of one of its processes.

use std::cell::UnsafeCell;
use std::sync::atomic::Ordering::{Acquire, Release};

use pgrx::prelude::*;
use pgrx::{PGRXSharedMemory, PgAtomic, pg_shmem_init};
use snowflake_core::generator::{Decision, Generator, Limits, Reading};

use crate::settings;

// SAFETY: nobody else names shared memory like this.
static SHARED: PgAtomic<Shared> = unsafe { PgAtomic::new(c"snowflake_pg") };

/// Two cache lines to itself, since processors fetch lines in pairs.
#[repr(C, align(128))]
struct Shared {
    lock: SpinLock,
    generator: UnsafeCell<Generator>,
}

// SAFETY: no pointers and nothing that belongs to one process; `generator` is only touched under `lock`.
unsafe impl PGRXSharedMemory for Shared {}

/// Asks for the shared memory. Called while the library is preloaded.
pub fn init() {
    pg_shmem_init!(SHARED = Shared::new());
}

/// [`Generator::claim`], under the lock. The library must have been preloaded.
#[inline(always)]
pub fn claim(reading: Reading, first: u32, want: u32, limits: Limits) -> Decision {
    with_generator(|generator| generator.claim(reading, first, want, limits))
}

/// [`Generator::reserve_through`], under the lock. The library must have been preloaded.
pub fn reserve_through(timestamp: i64) {
    with_generator(|generator| generator.reserve_through(timestamp));
}

/// The generator as it is now. The library must have been preloaded.
pub fn generator() -> Generator {
    with_generator(|generator| *generator)
}

/// Puts another generator in its place. The library must have been preloaded.
pub fn restart(with: Generator) {
    with_generator(|generator| *generator = with);
}

/// Runs `action` under the lock. See the contract above for what it may do.
#[inline(always)]
fn with_generator<R>(action: impl FnOnce(&mut Generator) -> R) -> R {
    let shared = SHARED.get();
    shared.lock.lock();
    // SAFETY: the lock is held, so this is the only reference.
    let result = action(unsafe { &mut *shared.generator.get() });
    shared.lock.unlock();
    result
}

impl Shared {
    fn new() -> Shared {
        let layout = settings::fixed().layout;
        // Nothing is reserved, so the first claim asks the register where to begin.
        let generator = Generator::starting_after(layout.epoch() - 1, 0, layout.last_timestamp());
        Shared { lock: SpinLock::new(), generator: UnsafeCell::new(generator) }
    }
}

/// PostgreSQL's spinlock, with the uncontended path in line: 0 is free, all else is taken.
#[repr(transparent)]
struct SpinLock(Word);

#[cfg(any(target_arch = "x86", target_arch = "x86_64"))]
type Word = std::sync::atomic::AtomicU8;
#[cfg(not(any(target_arch = "x86", target_arch = "x86_64")))]
type Word = std::sync::atomic::AtomicU32;

const _: () = assert!(size_of::<Word>() == size_of::<pg_sys::slock_t>());

impl SpinLock {
    fn new() -> SpinLock {
        SpinLock(Word::new(0))
    }

    #[inline(always)]
    fn lock(&self) {
        if self.0.swap(1, Acquire) != 0 {
            self.lock_contended();
        }
    }

    #[inline(always)]
    fn unlock(&self) {
        self.0.store(0, Release);
    }

    #[cold]
    #[inline(never)]
    fn lock_contended(&self) {
        // SAFETY: the word has the type and the meaning of PostgreSQL's slock_t, which s_lock() acquires.
        unsafe {
            pg_sys::s_lock(
                self.0.as_ptr().cast(),
                c"src/shared.rs".as_ptr(),
                line!() as i32,
                c"claim".as_ptr(),
            );
        }
    }
}
