//! Clocks in `pg_stat_snowflake` and `snowflake_status`.

use std::collections::BTreeSet;
use std::time::{SystemTime, UNIX_EPOCH};

use postgres::Client;
use snowflake_e2e::{Cluster, NEXT, Run, at_once, bigint, bigints, error_of, eventually};

fn statistic(client: &mut Client, column: &str) -> i64 {
    bigint(client, &format!("SELECT {column} FROM pg_stat_snowflake"))
}

/// Far from what was expected by less than a slow machine explains.
#[track_caller]
fn assert_about(value: i64, expected: i64) {
    assert!((expected - 5000..=expected).contains(&value), "{value} is not about {expected}");
}

#[test]
fn steps_of_the_clock_are_counted_and_measured() {
    let cluster = Cluster::builder().set("snowflake.max_backward_step", "1h").fake_clock().start();
    let mut client = cluster.connect();
    bigint(&mut client, NEXT);
    const ALL: &str = "largest_step_back + steps_held + steps_refused + max_lead";
    assert_eq!(statistic(&mut client, ALL), 0);

    cluster.set_clock("-10s");
    for _ in 0..5 {
        bigint(&mut client, NEXT);
    }
    assert_eq!(statistic(&mut client, "steps_held"), 1);
    assert_about(statistic(&mut client, "largest_step_back"), 10_000);
    assert_about(statistic(&mut client, "max_lead"), 10_000);
    assert_about(statistic(&mut client, "lead"), 10_000);
    assert_about(bigint(&mut client, "SELECT lead FROM snowflake_status"), 10_000);

    cluster.set_clock("-2h");
    for _ in 0..3 {
        error_of(client.query(NEXT, &[]));
    }
    assert_eq!(statistic(&mut client, "steps_refused"), 3);
    assert_eq!(statistic(&mut client, "steps_held"), 1);
    assert_about(statistic(&mut client, "largest_step_back"), 7_190_000);
    // The last ID is ahead, also while no other is issued.
    assert_about(statistic(&mut client, "max_lead"), 7_200_000);

    cluster.set_clock("+0");
    eventually("the clock has caught up", || statistic(&mut client, "lead") == 0);
    client.run("SELECT snowflake_stat_reset()");
    bigint(&mut client, NEXT);
    assert_eq!(statistic(&mut client, "issued"), 1);
    assert_eq!(statistic(&mut client, ALL), 0);
    // A jump ahead that is refused is one, too.
    cluster.set_clock("+3d");
    error_of(client.query(NEXT, &[]));
    assert_eq!(statistic(&mut client, "steps_refused"), 1);
}

/// Whatever has moved IDs ahead: a step that is refused, or that no call has met yet, an observed
/// ID, or a floor.
#[test]
fn max_lead_is_at_least_lead() {
    let server = Cluster::builder().set("snowflake.max_observed_lead", "1min");
    let cluster = server.fake_clock().start();
    let mut client = cluster.connect();
    bigint(&mut client, NEXT);
    cluster.set_clock("-2d");
    error_of(client.query(NEXT, &[]));
    cluster.set_clock("+0");
    assert_about(statistic(&mut client, "max_lead"), 172_800_000);
    let other = "snowflake_make(clock_timestamp() + interval '50 s', 1, 2, 0)";
    let floor = "SELECT snowflake_set_floor(clock_timestamp() + interval '2 min')";
    for (clock, act, lead) in [
        ("-1h", "", 3_600_000),
        ("+0", &*format!("SELECT snowflake_observe({other})"), 50_000),
        ("+0", floor, 120_000),
    ] {
        client.run("SELECT snowflake_stat_reset()");
        cluster.set_clock(clock);
        client.run(act);
        assert!(statistic(&mut client, "max_lead - lead") >= 0);
        assert_about(statistic(&mut client, "lead"), lead);
        cluster.set_clock("+0");
        assert_about(statistic(&mut client, "max_lead"), lead);
    }
}

/// A sequence that is used up is counted once for its millisecond, and not once for each session
/// that waits for the next one.
#[test]
fn an_overflow_is_counted_once_for_all_sessions() {
    let cluster = Cluster::builder().set("snowflake.sequence_bits", "4").start();
    // Single IDs queue, and several at once wait for the next millisecond.
    for take in [
        "SELECT snowflake_nextval() FROM generate_series(1, 4000)",
        "SELECT snowflake_nextval(4000)",
    ] {
        cluster.run("SELECT snowflake_stat_reset()");
        let ids = at_once(4, |_| bigints(&mut cluster.connect(), take)).concat();
        let times: BTreeSet<i64> = ids.iter().map(|id| id >> 14).collect();
        let overflows = statistic(&mut cluster.connect(), "sequence_overflows");
        let milliseconds = times.len() as i64;
        assert!(
            (milliseconds / 2..=milliseconds).contains(&overflows),
            "{take}: {overflows} {milliseconds}"
        );
    }
}

#[test]
fn waits_are_counted_and_timed() {
    let cluster = Cluster::builder()
        .set("snowflake.max_backward_step", "0")
        .set("snowflake.max_wait", "10s")
        .fake_clock()
        .start();
    let mut client = cluster.connect();
    let id = bigint(&mut client, NEXT);
    let before = statistic(&mut client, "waits");
    cluster.set_clock("-1s");
    assert!(bigint(&mut client, NEXT) > id);
    assert_eq!(statistic(&mut client, "waits"), before + 1);
    let waited = statistic(&mut client, "wait_time::bigint");
    assert!((500..=1500).contains(&waited), "{waited} ms");
    assert_about(statistic(&mut client, "largest_step_back"), 1000);
}

#[test]
fn the_end_of_the_field_is_announced_at_start() {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).expect("after 1970").as_millis() as i64;
    let day = 24 * 60 * 60 * 1000;
    for (left, said) in [
        (364 * day, Some("LOG:  the timestamp field of snowflake IDs is used up in 363 days")),
        (366 * day, None),
        (-day, Some("LOG:  the timestamp field of snowflake IDs is used up")),
    ] {
        // The timestamp has 63 - 24 bits.
        let epoch = (now + left - (1 << 39)).to_string();
        let cluster = Cluster::builder()
            .set("snowflake.epoch", &epoch)
            .set("snowflake.sequence_bits", "14")
            .start();
        match said {
            Some(said) => cluster.assert_logged(said),
            None => cluster.assert_not_logged("is used up"),
        }
    }
}
