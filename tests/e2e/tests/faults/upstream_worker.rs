//! The check of a standby says whether the background worker runs that follows the clock of the
//! upstream.

use snowflake_e2e::{Cluster, bigint, check, eventually, signal};

use super::NEXT;

/// PostgreSQL takes the first worker for itself. What is short for the second does not go unnoticed
/// until the promotion.
#[test]
fn a_standby_without_the_worker_shows() {
    let clock = |standby: &Cluster| check(&mut standby.connect(), "clock");
    for workers in ["0", "1", "2"] {
        let primary = Cluster::builder().set("max_worker_processes", workers).start();
        primary.connect().batch_execute(NEXT).expect("an ID");
        let standby = primary.standby();
        eventually("it streams, and has heard from the primary", || {
            let heard = "SELECT count(*) FROM pg_stat_wal_receiver WHERE latest_end_lsn > '0/0'";
            bigint(&mut standby.connect(), heard) == 1
        });
        assert!(clock(&primary).0, "{workers}");
        if workers == "2" {
            eventually("the clocks were compared", || clock(&standby).1.starts_with("It agrees"));
            assert!(clock(&standby).0);
            continue;
        }
        let (ok, detail, hint) = clock(&standby);
        assert!(!ok && detail.contains("does not run"), "{workers}: {detail}");
        assert!(hint.contains("raise it, and restart the server"), "{hint}");
        standby.promote();
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
    let pid = pid.expect("a process");
    signal(pid, "STOP");
    eventually("it shows", || !is_well());
    signal(pid, "CONT");
    eventually("it runs again", is_well);
}
