//! A call is stopped for ten seconds while it moves the counter, beside sessions that try again
//! every millisecond.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use std::thread;
use std::time::Duration;

use postgres::SimpleQueryMessage;
use postgres::error::SqlState;
use snowflake_e2e::{Journal, NEXT, Run, StopOnDrop, Stopped, bigint, eventually, process};

use super::{install_with, plain_server};

/// In the session that is to be stopped, shows the value as a lock, and waits for another lock,
/// which the test holds.
const PAUSE: &str = "
    CREATE FUNCTION public.pause(place text, value bigint) RETURNS void LANGUAGE plpgsql AS $$
    BEGIN
        IF current_setting('test.pause', true) = place THEN
            PERFORM pg_advisory_xact_lock_shared(value), pg_advisory_xact_lock_shared(1);
        END IF;
    END $$";

/// Stops a call before one of the statements, sets the clock meanwhile, and checks that no ID comes
/// twice, and that each is greater than those before it.
///
/// The clock is one of the script's own, because libfaketime can wait for itself if the handler of
/// a timeout reads the clock.
fn stop_before(place: &str, step: &str) {
    // The log does not need each call that fails.
    let builder = plain_server().set("log_min_messages", "log").set("test.clock", "0");
    let cluster = builder.start_bare();
    cluster.run(PAUSE);
    let clock = ("clock_timestamp()", "current_setting('test.clock')::interval + ".into());
    let moves = ["counter", "reserved"].map(|name| {
        let statement = format!("PERFORM pg_catalog.setval('public.snowflake_{name}'");
        (statement, format!("PERFORM public.pause('{name}', value);\n"))
    });
    let [counter, reserved] = moves.each_ref().map(|(before, pause)| (&**before, pause.clone()));
    install_with(&cluster, &[clock, counter, reserved]);
    let journal = Journal::new();
    let mut client = cluster.connect();
    journal.take(&mut client, NEXT).expect("an ID");

    let mut gate = cluster.connect();
    gate.run("SELECT pg_advisory_lock(1)");
    let mut stopped = cluster.connect();
    let pid = process(&mut stopped);
    // At once, because others have to use up the values of what passes between.
    let take_two =
        format!("{NEXT}; SELECT pg_sleep(0.003); SET test.pause = '{place}'; {NEXT} AS id");
    let locks = format!("FROM pg_locks WHERE pid = {pid} AND locktype = 'advisory'");
    let counter = "SELECT last_value FROM snowflake_counter";
    let stop = AtomicBool::new(false);
    let (failed, taken) = (AtomicUsize::new(0), AtomicUsize::new(0));
    thread::scope(|scope| {
        let moving = scope.spawn(|| last_of(stopped.simple_query(&take_two).expect("IDs")));
        let waits = format!("SELECT count(*) {locks} AND NOT granted");
        eventually("the call is there", || bigint(&mut client, &waits) == 1);
        let target = format!(
            "SELECT min((classid::bigint << 32) | objid::bigint) {locks} AND mode = 'ShareLock' AND granted"
        );
        let target = bigint(&mut client, &target);
        let stopped = Stopped::new(pid);
        gate.run("SELECT pg_advisory_unlock(1)");
        cluster.reload_with(&[("test.clock", step)]);
        eventually("sessions begin with the clock", || {
            cluster.value::<String>("SHOW test.clock") == step
        });
        let _stop = StopOnDrop(&stop);
        for _ in 0..8 {
            scope.spawn(|| {
                let mut client = cluster.connect();
                client.run("SET lock_timeout = '1ms'");
                while !stop.load(SeqCst) {
                    match journal.take(&mut client, NEXT) {
                        Ok(_) => taken.fetch_add(1, SeqCst),
                        Err(error) => {
                            let code = error.code();
                            assert_eq!(code, Some(&SqlState::LOCK_NOT_AVAILABLE), "{error:?}");
                            failed.fetch_add(1, SeqCst)
                        }
                    };
                }
            });
        }
        thread::sleep(Duration::from_secs(10));
        if step == "0" {
            // No value is taken: it would be too old.
            assert!(failed.load(SeqCst) > 1000, "{failed:?} calls failed");
        } else {
            eventually("values are taken that the move brings back", || {
                bigint(&mut client, counter) > target
            });
        }
        println!("{place}, {step}: {failed:?} calls failed, {taken:?} took IDs");
        let before = journal.count();
        drop(stopped);
        let moved = moving.join().expect("an ID");
        assert_eq!(moved, (target >> 12 << 22) | (5 << 17) | (9 << 12));
        let others = &journal.ids()[..before];
        assert!(!others.contains(&moved), "others were given {moved}, too");
        // Whoever comes now gets what the move has brought back.
        journal.wait_for(20_000);
    });
    journal.check();
}

/// The ID in the last row.
fn last_of(messages: Vec<SimpleQueryMessage>) -> i64 {
    let ids = messages.iter().filter_map(|message| match message {
        SimpleQueryMessage::Row(row) => row.get(0)?.parse().ok(),
        _ => None,
    });
    ids.last().expect("an ID")
}

#[test]
fn before_the_counter_is_moved() {
    for step in ["0", "-1 hour"] {
        stop_before("counter", step);
    }
}

#[test]
fn before_the_reservation_is_moved() {
    for step in ["0", "-1 hour"] {
        stop_before("reserved", step);
    }
}
