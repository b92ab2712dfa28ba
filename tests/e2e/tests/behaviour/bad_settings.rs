//! Settings: who may change which, and what a bad value does.

use snowflake_e2e::Cluster;

/// The worker ID of the next ID.
fn worker(cluster: &Cluster) -> i32 {
    cluster.value("SELECT snowflake_worker_id(snowflake_nextval())")
}

#[test]
fn a_bad_value_stops_the_start() {
    const HELD: &str = "The valid values are the decimal numbers that its bits can hold";
    for (settings, rule) in [
        ("worker_id = 32", "The valid values are the decimal numbers from 0 to 31"),
        ("worker_id = -2", HELD),
        ("datacenter_id = five", HELD),
        ("datacenter_id = ", HELD),
        ("worker_id = 7.6", HELD),
        ("worker_id = 1e1", HELD),
        ("worker_id = 0x10", HELD),
        ("worker_id = 99999999999", HELD),
        ("start_after = tomorrow", "it is neither an ISO 8601 instant with an offset"),
        // Seconds, and a year.
        ("start_after = 1795300647", "is before the epoch, 2010-11-04 01:42:54.657"),
        ("start_after = 2020", "is before the epoch"),
        // Microseconds, and the last millisecond of the field, after which there is no ID.
        (
            "start_after = 1795300647000000",
            "no ID is after it, since the timestamp field ends at 2080-07-10 17:30:30.208",
        ),
        ("start_after = 9223372036854775807", "no ID is after it"),
        ("start_after = 2080-07-10T17:30:30.208Z, max_backward_step = -1", "no ID is after it"),
        (
            "epoch = yesterday",
            "it is neither an ISO 8601 instant with an offset nor a number of milliseconds",
        ),
        ("epoch = 2020-01-01T00:00:00", "it is neither an ISO 8601 instant with an offset"),
        ("epoch = 1969-01-01T00:00:00Z", "it is before 1970-01-01T00:00:00Z"),
        ("epoch = 2020-01-01T00:00:00.0001Z", "it is not a whole number of milliseconds"),
        ("sequence_bits = 0", "The valid range is 1 to 24."),
        ("sequence_bits = 15", "add up to 25 bits; the valid range is 10 to 24"),
        ("worker_bits = 25", "The valid range is 0 to 24."),
        ("max_backward_step = soon", "The valid range is -1 to 2147483647 ms."),
        ("reuse_window = 257", "The valid range is 0 to 256 ms."),
        ("max_wait = -2", "The valid range is -1 to 2147483647 ms."),
        ("sequence_jitter = 4096", "The valid range is 0 to 4095."),
        ("max_forward_step = 0", "The valid values are -1, and 1002 ms to 2147483647 ms"),
        ("max_forward_step = 1s", "The valid values are -1, and 1002 ms to 2147483647 ms"),
        // The range of an ID follows its width.
        ("worker_bits = 3, worker_id = 8", "The valid values are the decimal numbers from 0 to 7"),
        ("worker_bits = 0, worker_id = 1", "This part of an ID has 0 bits, so its only value is 0"),
        // Which texts are valid is tested in the core.
        ("identity_requires = CLUSTER_NAME", "snowflake.identity_requires\": \"CLUSTER_NAME\""),
        ("identity_requires = A=1;;B=2", "an equals sign"),
        ("worker_id_from = POD_INDEX=7", "snowflake.worker_id_from\": \"POD_INDEX=7\""),
        ("worker_id_from = A=*;", "one asterisk"),
        ("adopted_schemas = a;;b", "invalid value for parameter \"snowflake.adopted_schemas\""),
    ] {
        let builder = settings.split(", ").fold(Cluster::builder(), |builder, setting| {
            let (name, value) = setting.split_once(" = ").expect("a name and a value");
            builder.set(&format!("snowflake.{name}"), &value.replace(';', ","))
        });
        match builder.try_start() {
            Ok(_) => panic!("the server started with {settings}"),
            Err(log) => {
                assert!(log.contains("FATAL: ") && log.contains(rule), "{settings}: {log}");
            }
        }
    }
    let builder = Cluster::builder().set("snowflake.worker_bits", "3");
    assert_eq!(worker(&builder.set("snowflake.worker_id", "7").start()), 7);
}

/// PostgreSQL's own integers read 010 as 8.
#[test]
fn an_id_is_a_decimal_number_wherever_it_is_set() {
    let mut cluster = Cluster::builder().set("snowflake.worker_id", "010").start();
    assert_eq!(worker(&cluster), 10);
    cluster.run("ALTER SYSTEM SET snowflake.worker_id = '011'");
    cluster.restart();
    assert_eq!(worker(&cluster), 11);
    cluster.stop();
    cluster.start_with(&["-c", "snowflake.worker_id=012"]).expect("a start");
    assert_eq!(worker(&cluster), 12);
    cluster.stop();
    assert!(cluster.start_with(&["-c", "snowflake.worker_id=7.6"]).is_err());
    cluster.assert_logged("invalid value for parameter \"snowflake.worker_id\": \"7.6\"");
}
