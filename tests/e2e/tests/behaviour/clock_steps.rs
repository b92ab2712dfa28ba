//! The server's clock is set back, while it runs.

use std::thread;
use std::time::Duration;

use snowflake_e2e::{
    Cluster, NEXT, Run, bigint, eventually, process, refusal, seconds_after, value,
};

#[test]
fn a_step_back_beyond_max_backward_step_is_refused() {
    let cluster = Cluster::builder().set("snowflake.max_backward_step", "0").fake_clock().start();
    let mut client = cluster.connect();
    let before = bigint(&mut client, NEXT);
    cluster.set_clock("-1h");
    let error = refusal(client.query(NEXT, &[]));
    let behind = seconds_after("the clock is ", error.message());
    assert!((3590.0..=3600.0).contains(&behind), "{error}");
    let issued: String = value(&mut client, &format!("SELECT snowflake_timestamp({before})::text"));
    assert!(error.detail().expect("a detail").contains(&issued), "{error:?} does not say {issued}");
    assert!(error.hint().expect("a hint").contains("snowflake.max_backward_step"));
    cluster.set_clock("+0");
    assert!(bigint(&mut client, NEXT) > before);
}

/// A clock that was set back after an ID was taken, which is waited for.
fn cluster_that_waits(max_wait: &str, step: &str) -> Cluster {
    let cluster = Cluster::builder()
        .set("snowflake.max_backward_step", "0")
        .set("snowflake.max_wait", max_wait)
        .fake_clock()
        .start();
    cluster.bigint(NEXT);
    cluster.set_clock(step);
    cluster
}

/// A call that waits already, and whose clock is set back again, has waited for a part of
/// `max_wait`.
#[test]
fn two_steps_share_max_wait() {
    let cluster = cluster_that_waits("10s", "-8s");
    let mut client = cluster.connect();
    thread::scope(|scope| {
        let waiting = scope.spawn(move || client.query_one(NEXT, &[]).map(|_| ()));
        thread::sleep(Duration::from_secs(5));
        // 8 seconds behind once more, of which 5 would be waited for.
        cluster.set_clock("-13s");
        let error = refusal(waiting.join().expect("an answer"));
        assert!(error.message().contains("behind the last snowflake ID"), "{error}");
    });
}

#[test]
fn a_wait_shows_its_event_and_can_be_canceled_and_terminated() {
    let cluster = cluster_that_waits("-1", "-1h");
    let mut watcher = cluster.connect();
    let event = if cluster.programs().major() >= 17 { "SnowflakeClock" } else { "Extension" };
    for (end, said) in [
        ("pg_cancel_backend", "ERROR:  canceling statement due to user request"),
        ("pg_terminate_backend", "FATAL:  terminating connection due to administrator command"),
    ] {
        let mut client = cluster.connect();
        let pid = process(&mut client);
        let event_of = format!(
            "SELECT concat(wait_event_type, ' ', wait_event) FROM pg_stat_activity WHERE pid = {pid}"
        );
        thread::scope(|scope| {
            let waiting = scope.spawn(move || client.query(NEXT, &[]).map(drop));
            eventually("the session waits for the clock", || {
                value::<String>(&mut watcher, &event_of) == format!("Extension {event}")
            });
            watcher.run(&format!("SELECT {end}({pid})"));
            // A client might see its connection closed before it sees why: the log knows.
            waiting.join().expect("the session").expect_err("the wait ends");
        });
        eventually("the log says why", || cluster.log().contains(said));
    }
}

#[test]
fn a_wait_ends_when_the_clock_is_set_right() {
    let cluster = cluster_that_waits("-1", "-1h");
    let mut client = cluster.connect();
    thread::scope(|scope| {
        // The clock is looked at again after a tenth of a second. Otherwise, the wait lasts an
        // hour.
        client.run("SET statement_timeout = '2min'");
        let waiting = scope.spawn(move || bigint(&mut client, NEXT));
        let mut watcher = cluster.connect();
        let waiting_sessions = "SELECT count(*) FROM pg_stat_activity
            WHERE wait_event_type = 'Extension' AND query LIKE '%snowflake_nextval%'";
        eventually("a session waits", || bigint(&mut watcher, waiting_sessions) == 1);
        cluster.set_clock("+0");
        waiting.join().expect("an ID");
    });
}
