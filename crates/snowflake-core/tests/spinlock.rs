//! The lock under the orders of memory that C11 allows, which are more than any processor has. loom
//! runs all of them but a few that its documentation names. On x86, a lock without the right orders
//! passes every other test.

use std::sync::atomic::Ordering;

use loom::cell::UnsafeCell;
use loom::sync::Arc;
use loom::sync::atomic::{AtomicU32, AtomicU64, Ordering::Relaxed};
use loom::thread;
use snowflake_core::generator::{Generator, Request, Run};
use snowflake_core::ring::Ring;
use snowflake_core::spinlock::{SpinLock, Word};
use snowflake_core::time::{Span, Timestamp};

const NOW: Timestamp = Timestamp(1_000);

struct Modeled(AtomicU32);

impl Word for Modeled {
    fn swap(&self, value: u8, ordering: Ordering) -> u32 {
        self.0.swap(value.into(), ordering)
    }

    fn load(&self, ordering: Ordering) -> u32 {
        self.0.load(ordering)
    }

    fn store(&self, value: u8, ordering: Ordering) {
        self.0.store(value.into(), ordering);
    }
}

/// The generator in shared memory.
struct Shared {
    lock: SpinLock<Modeled>,
    /// loom fails where one thread writes this and another one's access is not ordered with that.
    generator: UnsafeCell<Generator>,
    /// The end of the durable WAL. It is written before a floor is published.
    durable: AtomicU64,
}

impl Shared {
    fn with_floor(floor: Timestamp) -> Arc<Shared> {
        let mut generator =
            Generator::starting_after(NOW - Span(1), Span::ZERO, Timestamp(i64::MAX));
        generator.raise_floor(floor, floor);
        Arc::new(Shared {
            lock: SpinLock(Modeled(AtomicU32::new(0))),
            generator: UnsafeCell::new(generator),
            durable: AtomicU64::new(0),
        })
    }

    /// `None` where the lock is taken. Who waits has not seen anything yet, so that nothing is lost
    /// by not waiting, and a model has to come to an end.
    fn locked<T>(&self, act: impl FnOnce(&mut Generator) -> T) -> Option<T> {
        self.lock.try_lock().then(|| {
            // SAFETY: the lock is held, and loom checks that nobody else has a reference.
            let outcome = self.generator.with_mut(|generator| act(unsafe { &mut *generator }));
            self.lock.unlock();
            outcome
        })
    }

    fn take(&self) -> Option<Run> {
        let request = Request { first: 0, want: 1, last_sequence: 4095, leave: 0 };
        let take = |generator: &mut Generator| {
            generator.take_at_once(&mut Ring::<1>::new(), NOW, request, || Some(Span::ZERO))
        };
        self.locked(take).flatten()
    }
}

/// One after the other, with the words that servers use.
#[test]
fn a_lock_that_is_taken_is_free_again_after_its_release() {
    fn check(lock: SpinLock<impl Word>) {
        for _ in 0..2 {
            assert!(!lock.is_taken());
            assert!(lock.try_lock());
            assert!(lock.is_taken());
            assert!(!lock.try_lock());
            lock.unlock();
        }
    }
    check(SpinLock(std::sync::atomic::AtomicU8::new(0)));
    check(SpinLock(std::sync::atomic::AtomicU32::new(0)));
}

/// (I4): sessions that take IDs at the same time get different ones.
#[test]
fn ids_are_distinct() {
    loom::model(|| {
        let shared = Shared::with_floor(NOW);
        let others = shared.clone();
        let other = thread::spawn(move || others.take());
        let run = shared.take();
        let other = other.join().expect("no panic");
        assert!(run.is_some() || other.is_some(), "the lock is taken, and nobody has it");
        assert_ne!(run, other);
    });
}

/// (I1): who gets an ID of a reservation that another session has made sees that it is durable. A
/// commit record relies on this, too: its place in the WAL is behind the reservation.
#[test]
fn who_gets_an_id_sees_its_reservation() {
    loom::model(|| {
        let shared = Shared::with_floor(NOW - Span(1));
        let others = shared.clone();
        let other = thread::spawn(move || {
            others.durable.store(1, Relaxed);
            others.locked(|generator| generator.raise_floor(NOW, NOW));
        });
        if shared.take().is_some() {
            assert_eq!(shared.durable.load(Relaxed), 1, "an ID without its reservation");
        }
        other.join().expect("no panic");
    });
}
