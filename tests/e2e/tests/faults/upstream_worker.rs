//! The check of a standby says whether the background worker runs that follows the clock of the
//! upstream.

use snowflake_e2e::{Cluster, Stopped, assert_check, check, eventually};

use super::promoted_clocks::assert_not_compared;
use super::{NEXT, wait_until_heard};

/// PostgreSQL takes the first worker for itself. What is short for the second does not go unnoticed
/// until the promotion.
#[test]
fn a_standby_without_the_worker_shows() {
    let clock = |standby: &Cluster| check(&mut standby.connect(), "clock");
    for workers in ["0", "1", "2"] {
        let mut primary = Cluster::builder().set("max_worker_processes", workers).start();
        primary.run(NEXT);
        let standby = primary.standby();
        wait_until_heard(&standby);
        assert!(clock(&primary).0, "{workers}");
        if workers == "2" {
            eventually("the clocks were compared", || clock(&standby).1.starts_with("It agrees"));
            assert!(clock(&standby).0);
            continue;
        }
        let hint = assert_check(&mut standby.connect(), "clock", false, "does not run");
        assert!(hint.contains("raise it, and restart the server"), "{hint}");
        // Nobody has looked at the messages, but the log does not deny that it streamed.
        assert_not_compared(&mut primary, &standby);
        assert!(clock(&standby).0, "a primary needs no such worker");
    }
}

/// The row does not know that the worker has ended before it should have been started again.
#[test]
fn a_worker_that_stands_still_shows() {
    let primary = Cluster::start();
    let standby = primary.standby();
    let is_well = || check(&mut standby.connect(), "clock").0;
    let mut pid = None;
    eventually("it runs", || {
        pid = standby.background_worker("snowflake upstream clock");
        pid.is_some() && is_well()
    });
    let stopped = Stopped::new(pid.expect("a process"));
    eventually("it shows", || !is_well());
    drop(stopped);
    eventually("it runs again", is_well);
}
