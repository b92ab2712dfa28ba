//! Signals that end the program: the first one between two statements, a second one at once.

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use crate::failure::Failure;

type Cancel = Box<dyn Fn() + Send>;

static SIGNALS: AtomicUsize = AtomicUsize::new(0);
static CANCEL: Mutex<Option<Cancel>> = Mutex::new(None);

/// Listens to Ctrl-C and to the signals with which systems end programs.
pub fn listen() {
    ctrlc::set_handler(|| {
        if SIGNALS.fetch_add(1, Ordering::Relaxed) == 0 {
            eprintln!("ends after this statement; Ctrl-C again cancels the statement");
        } else if let Some(cancel) = &*CANCEL.lock().expect("no panic") {
            cancel();
        }
    })
    .expect("no other handler");
}

/// What a second signal does.
pub fn on_second(cancel: Cancel) {
    *CANCEL.lock().expect("no panic") = Some(cancel);
}

/// Fails once there was a signal.
pub fn check() -> Result<(), Failure> {
    match SIGNALS.load(Ordering::Relaxed) {
        0 => Ok(()),
        _ => Err(Failure::Interrupted),
    }
}

/// Sleeps, until a signal comes.
pub fn sleep(time: Duration) -> Result<(), Failure> {
    let end = Instant::now() + time;
    loop {
        check()?;
        let left = end.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Ok(());
        }
        thread::sleep(left.min(Duration::from_millis(50)));
    }
}
