//! The server's clock is set back, while it runs.

use std::thread;
use std::time::{Duration, Instant};

use postgres::error::SqlState;
use snowflake_e2e::{
    Cluster, NEXT, Run, assert_increasing, bigint, bigints, error_of, eventually, seconds_after,
};

#[test]
fn a_step_back_within_max_backward_step_is_held() {
    let cluster = Cluster::builder().fake_clock().start();
    let mut client = cluster.connect();
    let mut ids = vec![bigint(&mut client, NEXT)];
    for offset in ["-10s", "-1h", "-23h", "+0"] {
        cluster.set_clock(offset);
        ids.extend(bigints(
            &mut client,
            "SELECT snowflake_nextval() FROM generate_series(1, 10000)",
        ));
    }
    assert_increasing(&ids);
}

#[test]
fn a_step_back_beyond_max_backward_step_is_refused() {
    let cluster = Cluster::builder().set("snowflake.max_backward_step", "0").fake_clock().start();
    let mut client = cluster.connect();
    let before = bigint(&mut client, NEXT);
    cluster.set_clock("-1h");
    let error = error_of(client.query(NEXT, &[]));
    assert_eq!(error.code(), &SqlState::OBJECT_NOT_IN_PREREQUISITE_STATE);
    let behind = seconds_after("the clock is ", error.message());
    assert!((3590.0..=3600.0).contains(&behind), "{error}");
    let issued: String = client
        .query_one("SELECT snowflake_timestamp($1)::text", &[&before])
        .expect("decoded")
        .get(0);
    assert!(error.detail().expect("a detail").contains(&issued), "{error:?} does not say {issued}");
    assert!(error.hint().expect("a hint").contains("snowflake.max_backward_step"));
    cluster.set_clock("+0");
    assert!(bigint(&mut client, NEXT) > before);
}

#[test]
fn a_short_step_is_waited_out() {
    let cluster = Cluster::builder()
        .set("snowflake.max_backward_step", "0")
        .set("snowflake.max_wait", "10s")
        .fake_clock()
        .start();
    let mut client = cluster.connect();
    let before = bigint(&mut client, NEXT);
    cluster.set_clock("-1s");
    assert!(bigint(&mut client, NEXT) > before);
}

/// A call that waits already, and whose clock is set back again, has waited for a part of `max_wait`.
#[test]
fn two_steps_share_max_wait() {
    let cluster = Cluster::builder()
        .set("snowflake.max_backward_step", "0")
        .set("snowflake.max_wait", "10s")
        .fake_clock()
        .start();
    let mut client = cluster.connect();
    bigint(&mut client, NEXT);
    cluster.set_clock("-8s");
    thread::scope(|scope| {
        let waiting = scope.spawn(move || client.query_one(NEXT, &[]).map(|_| ()));
        thread::sleep(Duration::from_secs(5));
        // 8 seconds behind once more, of which 5 would be waited for.
        cluster.set_clock("-13s");
        let error = error_of(waiting.join().expect("an answer"));
        assert_eq!(error.code(), &SqlState::OBJECT_NOT_IN_PREREQUISITE_STATE);
        assert!(error.message().contains("behind the last snowflake ID"), "{error}");
    });
}

/// Waits for a clock that is an hour behind: for as long as it takes.
fn cluster_that_waits() -> Cluster {
    let cluster = Cluster::builder()
        .set("snowflake.max_backward_step", "0")
        .set("snowflake.max_wait", "-1")
        .fake_clock()
        .start();
    bigint(&mut cluster.connect(), NEXT);
    cluster.set_clock("-1h");
    cluster
}

#[test]
fn a_wait_ends_at_statement_timeout() {
    let cluster = cluster_that_waits();
    let mut client = cluster.connect();
    client.run("SET statement_timeout = '300ms'");
    for query in [NEXT, "SELECT snowflake_nextval(5)"] {
        let error = error_of(client.query(query, &[]));
        assert_eq!(error.code(), &SqlState::QUERY_CANCELED);
        assert!(error.message().contains("statement timeout"), "{error}");
    }
    // Nothing is left locked or broken.
    cluster.set_clock("+0");
    bigint(&mut client, NEXT);
}

#[test]
fn a_wait_shows_its_event_and_can_be_canceled_and_terminated() {
    let cluster = cluster_that_waits();
    let mut watcher = cluster.connect();
    let event = if cluster.programs().major() >= 17 { "SnowflakeClock" } else { "Extension" };
    for (end, said) in [
        ("pg_cancel_backend", "ERROR:  canceling statement due to user request"),
        ("pg_terminate_backend", "FATAL:  terminating connection due to administrator command"),
    ] {
        let mut client = cluster.connect();
        let pid: i32 = client.query_one("SELECT pg_backend_pid()", &[]).expect("a pid").get(0);
        thread::scope(|scope| {
            let waiting = scope.spawn(move || client.query(NEXT, &[]).map(drop));
            eventually("the session waits for the clock", || {
                let row = watcher
                    .query_one(
                        "SELECT wait_event_type, wait_event FROM pg_stat_activity WHERE pid = $1",
                        &[&pid],
                    )
                    .expect("the session");
                (row.get(0), row.get(1)) == (Some("Extension"), Some(event))
            });
            watcher.execute(&format!("SELECT {end}($1)"), &[&pid]).expect("a signal");
            // A client might see its connection closed before it sees why: the log knows.
            waiting.join().expect("the session").expect_err("the wait ends");
        });
        eventually("the log says why", || cluster.log().contains(said));
    }
}

#[test]
fn a_wait_ends_when_the_clock_is_set_right() {
    let cluster = cluster_that_waits();
    let mut client = cluster.connect();
    thread::scope(|scope| {
        let waiting = scope.spawn(move || bigint(&mut client, NEXT));
        let mut watcher = cluster.connect();
        eventually("a session waits", || {
            bigint(
                &mut watcher,
                "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Extension' AND \
                 query LIKE '%snowflake_nextval%' AND pid <> pg_backend_pid()",
            ) == 1
        });
        cluster.set_clock("+0");
        let set = Instant::now();
        waiting.join().expect("an ID");
        // The clock is looked at again after a tenth of a second.
        assert!(set.elapsed() < Duration::from_secs(5), "{:?}", set.elapsed());
    });
}

#[test]
fn a_logical_clock_needs_no_wall_clock() {
    let cluster = Cluster::builder()
        .set("snowflake.max_backward_step", "-1")
        .set("snowflake.max_burst", "-1")
        .fake_clock()
        .start();
    let mut client = cluster.connect();
    let mut ids = bigints(&mut client, "SELECT snowflake_nextval() FROM generate_series(1, 10000)");
    cluster.set_clock("-2y");
    ids.extend(bigints(&mut client, "SELECT snowflake_nextval() FROM generate_series(1, 100000)"));
    assert_increasing(&ids);
}
