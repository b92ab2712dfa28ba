//! Waiting for what happens at its own time.

use std::env;
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

/// The time for which a test waits: three minutes, which no machine that is only slow takes, or
/// `SNOWFLAKE_PATIENCE` seconds, which `tools/break-rules` sets, since its tests are expected to
/// fail.
pub fn patience() -> Duration {
    let seconds = env::var("SNOWFLAKE_PATIENCE").unwrap_or_else(|_| "180".into());
    Duration::from_secs(seconds.parse().expect("SNOWFLAKE_PATIENCE is a number of seconds"))
}

/// Waits until `condition` holds; panics after [`patience`].
#[track_caller]
pub fn eventually(what: &str, mut condition: impl FnMut() -> bool) {
    let patience = patience();
    let deadline = Instant::now() + patience;
    while !condition() {
        assert!(Instant::now() < deadline, "not within {patience:?}: {what}");
        thread::sleep(Duration::from_millis(10));
    }
}

/// Returns the result of `act` within the time; `None` when it takes longer. Then its thread is
/// left behind.
pub fn within<T: Send + 'static>(
    time: Duration,
    act: impl FnOnce() -> T + Send + 'static,
) -> Option<T> {
    let (sender, receiver) = mpsc::channel();
    thread::spawn(move || sender.send(act()));
    receiver.recv_timeout(time).ok()
}
