//! Who holds the advisory lock makes others wait, for a time that is bounded.

use std::thread;
use std::time::{Duration, Instant};

use postgres::Client;
use postgres::error::SqlState;
use snowflake_e2e::{
    Cluster, NEXT, Run, assert_increasing, bigint, error_of, eventually, process, value,
};

use super::{TAKE_LOCK, install_with, plain_server, start};

/// Waits so that the next ID needs the lock.
fn become_stale() {
    thread::sleep(Duration::from_millis(10));
}

#[test]
fn a_call_names_who_holds_the_lock_and_waits_for_five_seconds_at_most() {
    let cluster = start(plain_server());
    let mut setup = cluster.connect();
    setup.run("CREATE ROLE other LOGIN");
    let mut holder = cluster.connect_as("other", "postgres");
    let mut client = cluster.connect();
    let mut ids = vec![bigint(&mut client, NEXT)];
    holder.run(TAKE_LOCK);
    let pid = process(&mut holder);
    for (timeout, expected) in [("0", 5000), ("100ms", 100), ("1min", 5000), ("1s", 1000)] {
        client.run(&format!("SET lock_timeout = '{timeout}'"));
        become_stale();
        let begin = Instant::now();
        let error = error_of(client.query_one(NEXT, &[]));
        let waited = begin.elapsed().as_millis();
        assert_eq!(error.code(), &SqlState::LOCK_NOT_AVAILABLE, "{error:?}");
        assert_eq!(error.message(), "the lock of snowflake_nextval() is not available");
        assert_eq!(error.detail(), Some(&*format!("Process {pid} holds it.")));
        assert!((expected..expected + 3000).contains(&waited), "{timeout}: {waited} ms");
        assert_eq!(value::<String>(&mut client, "SHOW lock_timeout"), timeout);
    }
    holder.run("SELECT pg_advisory_unlock_all()");
    // Holders that share the lock are several, of which one is named.
    for client in [&mut holder, &mut setup] {
        client.run(&TAKE_LOCK.replace("lock(", "lock_shared("));
    }
    let error = error_of(client.query_one(NEXT, &[]));
    assert!(error.detail().expect("a detail").starts_with("Process "), "{error:?}");
    drop((holder, setup));
    client.run("RESET lock_timeout");
    for _ in 0..100 {
        ids.push(bigint(&mut client, NEXT));
    }
    assert_increasing(&ids);
}

/// Returns whether a session holds an advisory lock, or waits for one.
fn is_locked(cluster: &Cluster) -> bool {
    cluster.bigint("SELECT count(*) FROM pg_locks WHERE locktype = 'advisory'") > 0
}

#[test]
fn the_lock_is_not_held_until_the_commit() {
    let cluster = start(plain_server());
    let (mut one, mut other) = (cluster.connect(), cluster.connect());
    let mut ids = Vec::new();
    for client in [&mut one, &mut other] {
        client.run("BEGIN; SET LOCAL lock_timeout = '100ms'");
        become_stale();
        ids.push(bigint(client, NEXT));
        assert!(!is_locked(&cluster));
        assert_eq!(value::<String>(client, "SHOW lock_timeout"), "100ms");
    }
    assert_increasing(&ids);
}

/// Cancels a call while it waits for the lock, while it moves the counter, and between the two
/// sequences.
#[test]
fn a_canceled_call_leaves_no_lock() {
    let cluster = plain_server().start_bare();
    let pause = "PERFORM pg_catalog.pg_sleep(CASE pg_catalog.current_setting('test.pause', true) WHEN '%' THEN 60 ELSE 0 END);\n";
    let [before, between] = ["before", "between"].map(|place| pause.replace('%', place));
    install_with(
        &cluster,
        &[
            ("PERFORM pg_catalog.setval('public.snowflake_counter'", before),
            ("PERFORM pg_catalog.setval('public.snowflake_reserved'", between),
        ],
    );
    let mut client = cluster.connect();
    let mut watch = cluster.connect();
    let pid = process(&mut client);
    let mut ids = vec![bigint(&mut client, NEXT)];
    let mut cancel = |client: &mut Client, waits_for: &str| {
        become_stale();
        thread::scope(|scope| {
            let call = scope.spawn(|| error_of(client.query_one(NEXT, &[])));
            let waiting = format!(
                "SELECT count(*) FROM pg_stat_activity WHERE pid = {pid} AND wait_event = '{waits_for}'"
            );
            eventually("the call waits", || bigint(&mut watch, &waiting) == 1);
            watch.run(&format!("SELECT pg_cancel_backend({pid})"));
            assert_eq!(call.join().expect("an error").code(), &SqlState::QUERY_CANCELED);
        });
    };
    for place in ["before", "between"] {
        client.run(&format!("SET test.pause = '{place}'"));
        cancel(&mut client, "PgSleep");
        assert!(!is_locked(&cluster), "{place}");
        client.run("RESET test.pause");
        ids.push(bigint(&mut client, NEXT));
    }
    let mut holder = cluster.connect();
    holder.run(TAKE_LOCK);
    cancel(&mut client, "advisory");
    drop(holder);
    eventually("the lock is free", || !is_locked(&cluster));
    ids.push(bigint(&mut client, NEXT));
    assert_increasing(&ids);
}
