//! Settings: who may change which, and what a bad value does.

use postgres::error::SqlState;
use snowflake_e2e::{Cluster, bigint, error_of, eventually};

#[test]
fn identity_cannot_be_changed_in_a_running_server() {
    let cluster = Cluster::start();
    let mut superuser = cluster.connect();
    superuser.batch_execute("CREATE ROLE ordinary LOGIN").expect("a role");
    let mut ordinary =
        cluster.config().user("ordinary").connect(postgres::NoTls).expect("a session");
    for client in [&mut superuser, &mut ordinary] {
        for setting in [
            "snowflake.worker_id = 5",
            "snowflake.datacenter_id = 5",
            "snowflake.epoch = '2020-01-01T00:00:00Z'",
            "snowflake.sequence_bits = 10",
            "snowflake.max_backward_step = '1s'",
        ] {
            let error = error_of(client.batch_execute(&format!("SET {setting}")));
            assert_eq!(error.code(), &SqlState::CANT_CHANGE_RUNTIME_PARAM, "{error}");
        }
    }
    for scope in ["DATABASE postgres", "ROLE postgres", "ROLE ordinary", "ROLE ALL"] {
        let error = error_of(
            superuser.batch_execute(&format!("ALTER {scope} SET snowflake.worker_id = 5")),
        );
        assert_eq!(error.code(), &SqlState::CANT_CHANGE_RUNTIME_PARAM, "{error}");
    }
    for user in ["postgres", "ordinary"] {
        let error = cluster
            .config()
            .user(user)
            .options("-c snowflake.worker_id=5")
            .connect(postgres::NoTls);
        assert_eq!(error_of(error).code(), &SqlState::CANT_CHANGE_RUNTIME_PARAM);
    }
    assert_eq!(
        bigint(&mut superuser, "SELECT snowflake_worker_id(snowflake_nextval())::bigint"),
        9
    );
}

#[test]
fn alter_system_refuses_what_a_start_would_refuse() {
    let cluster = Cluster::start();
    let mut client = cluster.connect();
    for (setting, rule) in [
        ("snowflake.worker_id = 32", "invalid value for parameter \"snowflake.worker_id\": \"32\""),
        ("snowflake.worker_id = -2", "invalid value for parameter \"snowflake.worker_id\": \"-2\""),
        (
            "snowflake.worker_id = 7.6",
            "invalid value for parameter \"snowflake.worker_id\": \"7.6\"",
        ),
        (
            "snowflake.datacenter_id = '0x10'",
            "invalid value for parameter \"snowflake.datacenter_id\": \"0x10\"",
        ),
        (
            "snowflake.datacenter_id = '+5'",
            "invalid value for parameter \"snowflake.datacenter_id\": \"+5\"",
        ),
        (
            "snowflake.start_after = 'tomorrow'",
            "invalid value for parameter \"snowflake.start_after\": \"tomorrow\"",
        ),
        (
            "snowflake.epoch = 'yesterday'",
            "invalid value for parameter \"snowflake.epoch\": \"yesterday\"",
        ),
        (
            "snowflake.max_wait = '-5ms'",
            "outside the valid range for parameter \"snowflake.max_wait\"",
        ),
        ("snowflake.sequence_jitter = 4096", "(0 .. 4095)"),
        (
            "snowflake.max_forward_step = 0",
            "invalid value for parameter \"snowflake.max_forward_step\": 0",
        ),
    ] {
        let error = error_of(client.batch_execute(&format!("ALTER SYSTEM SET {setting}")));
        assert_eq!(error.code(), &SqlState::INVALID_PARAMETER_VALUE, "{error}");
        assert!(error.message().contains(rule), "{error}");
    }
    let error =
        error_of(client.batch_execute("ALTER SYSTEM SET snowflake.epoch = '2999-01-01T00:00:00Z'"));
    let detail = error.detail().expect("a detail");
    assert!(detail.contains("it is in the future"), "{detail}");
    assert!(detail.contains("ISO 8601"), "{detail}");
    let error =
        error_of(client.batch_execute("ALTER SYSTEM SET snowflake.start_after = '1795300647'"));
    let detail = error.detail().expect("a detail");
    assert!(detail.contains("is before the epoch"), "{detail}");
    let error =
        error_of(client.batch_execute("ALTER SYSTEM SET snowflake.max_forward_step = '1001ms'"));
    assert!(
        error.detail().expect("a detail").starts_with("The valid values are -1, and 1002 ms"),
        "{error:?}"
    );
    for valid in ["-1", "'1002ms'"] {
        client
            .batch_execute(&format!("ALTER SYSTEM SET snowflake.max_forward_step = {valid}"))
            .expect(valid);
    }
    let error = error_of(client.batch_execute("ALTER SYSTEM SET snowflake.no_such_setting = 1"));
    assert!([SqlState::UNDEFINED_OBJECT, SqlState::INVALID_NAME].contains(error.code()), "{error}");
}

#[test]
fn without_identity_nothing_is_generated() {
    for unset in ["snowflake.datacenter_id", "snowflake.worker_id"] {
        let cluster = Cluster::builder().unset(unset).start();
        let mut client = cluster.connect();
        for query in ["SELECT snowflake_nextval()", "SELECT snowflake_nextval(1)"] {
            let error = error_of(client.query(query, &[]));
            assert_eq!(error.code(), &SqlState::OBJECT_NOT_IN_PREREQUISITE_STATE);
            let hint = error.hint().expect("a hint");
            assert!(hint.contains("outside the data directory"), "{hint}");
            // Numbers that somebody pastes would be another server's.
            assert!(!hint.contains('='), "{hint}");
        }
        assert_eq!(
            bigint(&mut client, "SELECT snowflake_worker_id(1268118639732232192)::bigint"),
            9
        );
    }
}

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
    cluster.connect().batch_execute("ALTER SYSTEM SET snowflake.worker_id = '011'").expect("valid");
    cluster.stop();
    cluster.start_again();
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

#[test]
fn jitter_spreads_the_first_sequence() {
    let cluster = Cluster::builder().set("snowflake.sequence_jitter", "1023").start();
    let mut client = cluster.connect();
    let row = client
        .query_one(
            "SELECT max(snowflake_sequence(id)), count(DISTINCT snowflake_sequence(id) % 8)
             FROM (SELECT snowflake_nextval() AS id, pg_sleep(0.002) FROM generate_series(1, 200)) AS ids",
            &[],
        )
        .expect("IDs");
    // Chances that this fails by itself: 200 draws of 1,024 that all stay below 512, or miss one of
    // 8 classes.
    assert!((512..=1023).contains(&row.get::<_, i32>(0)));
    assert_eq!(row.get::<_, i64>(1), 8);
}
