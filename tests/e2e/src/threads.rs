//! Threads that do something at the same time.

use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::thread;
use std::time::Duration;

/// Lets several threads work until something else is done, also if that fails: they look at the
/// flag. Returns the results of all.
pub fn beside<S: Send, T>(
    threads: usize,
    work: impl Fn(usize, &AtomicBool) -> S + Sync,
    act: impl FnOnce() -> T,
) -> (Vec<S>, T) {
    let stop = AtomicBool::new(false);
    thread::scope(|scope| {
        let (work, stop) = (&work, &stop);
        let guard = StopOnDrop(stop);
        let threads: Vec<_> = (0..threads).map(|n| scope.spawn(move || work(n, stop))).collect();
        let done = act();
        drop(guard);
        (threads.into_iter().map(|thread| thread.join().expect("a thread")).collect(), done)
    })
}

/// Returns the results of several threads that do the same at once. Each gets its number.
pub fn at_once<T: Send>(threads: usize, act: impl Fn(usize) -> T + Sync) -> Vec<T> {
    meanwhile(threads, act, || thread::sleep(Duration::from_millis(1)))
}

/// The same; something else is done again and again until they have ended.
pub fn meanwhile<T: Send>(
    threads: usize,
    act: impl Fn(usize) -> T + Sync,
    mut other: impl FnMut(),
) -> Vec<T> {
    thread::scope(|scope| {
        let act = &act;
        let threads: Vec<_> = (0..threads).map(|n| scope.spawn(move || act(n))).collect();
        while !threads.iter().all(|thread| thread.is_finished()) {
            other();
        }
        threads.into_iter().map(|thread| thread.join().expect("a thread")).collect()
    })
}

/// Ends threads that look at the flag when it goes, also when an assertion fails: a scope waits for
/// its threads.
pub struct StopOnDrop<'a>(pub &'a AtomicBool);

impl Drop for StopOnDrop<'_> {
    fn drop(&mut self) {
        self.0.store(true, SeqCst);
    }
}
