//! Settings: who may change which, and what a bad value does.

use snowflake_e2e::{Cluster, bigint, eventually};

#[test]
fn a_bad_value_stops_the_start() {
    for (name, value, rule) in [
        ("snowflake.worker_id", "32", "The valid values are the decimal numbers from 0 to 31"),
        ("snowflake.worker_id", "-2", "The valid values are decimal numbers, and -1 for none."),
        ("snowflake.datacenter_id", "five", "The valid values are decimal numbers"),
        ("snowflake.datacenter_id", "", "The valid values are decimal numbers"),
        ("snowflake.worker_id", "7.6", "The valid values are decimal numbers"),
        ("snowflake.worker_id", "1e1", "The valid values are decimal numbers"),
        ("snowflake.worker_id", "0x10", "The valid values are decimal numbers"),
        ("snowflake.worker_id", "99999999999", "The valid values are decimal numbers"),
        ("snowflake.start_after", "tomorrow", "it is neither an ISO 8601 instant with an offset"),
        // Seconds, and a year.
        ("snowflake.start_after", "1795300647", "is before the epoch, 2010-11-04 01:42:54.657"),
        ("snowflake.start_after", "2020", "is before the epoch"),
        (
            "snowflake.epoch",
            "yesterday",
            "it is neither an ISO 8601 instant with an offset nor a number of milliseconds",
        ),
        (
            "snowflake.epoch",
            "2020-01-01T00:00:00",
            "it is neither an ISO 8601 instant with an offset",
        ),
        ("snowflake.epoch", "1969-01-01T00:00:00Z", "it is before 1970-01-01T00:00:00Z"),
        (
            "snowflake.epoch",
            "2020-01-01T00:00:00.0001Z",
            "it is not a whole number of milliseconds",
        ),
        ("snowflake.sequence_bits", "0", "The valid range is 1 to 24."),
        ("snowflake.sequence_bits", "15", "add up to 25 bits; the valid range is 10 to 24"),
        ("snowflake.worker_bits", "25", "The valid range is 0 to 24."),
        ("snowflake.max_backward_step", "soon", "The valid range is -1 to 2147483647 ms."),
        ("snowflake.reuse_window", "257", "The valid range is 0 to 256 ms."),
        ("snowflake.max_wait", "-2", "The valid range is -1 to 2147483647 ms."),
        ("snowflake.sequence_jitter", "4096", "The valid range is 0 to 4095."),
        (
            "snowflake.max_forward_step",
            "0",
            "The valid values are -1, and 1002 ms to 2147483647 ms",
        ),
        (
            "snowflake.max_forward_step",
            "1s",
            "The valid values are -1, and 1002 ms to 2147483647 ms",
        ),
    ] {
        match Cluster::builder().set(name, value).try_start() {
            Ok(_) => panic!("the server started with {name} = {value}"),
            Err(log) => {
                assert!(log.contains("FATAL: "), "{log}");
                assert!(log.contains(rule), "{name} = {value}: {log}");
            }
        }
    }
}

#[test]
fn the_range_of_an_id_follows_its_width() {
    let cluster = Cluster::builder()
        .set("snowflake.worker_bits", "3")
        .set("snowflake.worker_id", "7")
        .start();
    assert_eq!(
        bigint(&mut cluster.connect(), "SELECT snowflake_worker_id(snowflake_nextval())::bigint"),
        7
    );
    for (bits, id, rule) in [
        ("3", "8", "The valid values are the decimal numbers from 0 to 7"),
        ("0", "1", "This part of an ID has 0 bits, so its only value is 0"),
    ] {
        let refused = Cluster::builder()
            .set("snowflake.worker_bits", bits)
            .set("snowflake.worker_id", id)
            .try_start();
        assert!(refused.err().expect("it does not fit").contains(rule), "{bits}");
    }
}

/// PostgreSQL's own integers read 010 as 8.
#[test]
fn an_id_is_a_decimal_number_wherever_it_is_set() {
    let worker = |cluster: &Cluster| {
        bigint(&mut cluster.connect(), "SELECT snowflake_worker_id(snowflake_nextval())::bigint")
    };
    let mut cluster = Cluster::builder().set("snowflake.worker_id", "010").start();
    assert_eq!(worker(&cluster), 10);
    cluster.run("ALTER SYSTEM SET snowflake.worker_id = '011'");
    cluster.restart(&[]);
    assert_eq!(worker(&cluster), 11);
    cluster.stop();
    cluster.start_with(&["-c", "snowflake.worker_id=012"]).expect("a start");
    assert_eq!(worker(&cluster), 12);
    cluster.stop();
    assert!(cluster.start_with(&["-c", "snowflake.worker_id=7.6"]).is_err());
    assert!(cluster.log().contains("invalid value for parameter \"snowflake.worker_id\": \"7.6\""));
}

#[test]
fn limits_follow_a_reload() {
    let cluster = Cluster::start();
    let mut client = cluster.connect();
    let show = |client: &mut postgres::Client| -> String {
        client.query_one("SHOW snowflake.max_backward_step", &[]).expect("a setting").get(0)
    };
    assert_eq!(show(&mut client), "1d");
    cluster.configure(&[("snowflake.max_backward_step", "90s")]);
    cluster.reload();
    eventually("the reload reaches the session", || show(&mut client) == "90s");
    // A bad value leaves the old one.
    cluster.configure(&[("snowflake.max_backward_step", "-2")]);
    cluster.reload();
    eventually("the log says why", || {
        cluster
            .log()
            .contains("outside the valid range for parameter \"snowflake.max_backward_step\"")
    });
    assert_eq!(show(&mut client), "90s");
}
