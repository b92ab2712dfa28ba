//! Without shared_preload_libraries the extension decodes, and says what to add before it
//! generates.

use postgres::error::SqlState;
use snowflake_e2e::{Cluster, ClusterBuilder, bigint, error_of, eventually};

fn unloaded() -> ClusterBuilder {
    Cluster::builder().unset("shared_preload_libraries")
}

#[test]
fn decoding_works() {
    let cluster = unloaded().start();
    let mut client = cluster.connect();
    assert_eq!(bigint(&mut client, "SELECT snowflake_worker_id(1268118639732232192)::bigint"), 9);
    let row = client
        .query_one("SELECT snowflake_make('2020-06-03 09:53:38.874+00', 5, 9, 0), (snowflake_parse(1268118639732232192)).sequence", &[])
        .expect("decoded");
    assert_eq!(row.get::<_, i64>(0), 1268118639732232192);
}

#[test]
fn decoding_uses_the_configured_epoch() {
    let cluster = unloaded().set("snowflake.epoch", "1420070400000").start();
    let timestamp: String = cluster
        .connect()
        .query_one("SELECT snowflake_timestamp(175928847299117063)::text", &[])
        .expect("decoded")
        .get(0);
    assert_eq!(timestamp, "2016-04-30 11:18:25.796+00");
}

#[test]
fn generating_is_refused() {
    let cluster = unloaded().start();
    let mut client = cluster.connect();
    for query in ["SELECT snowflake_nextval()", "SELECT snowflake_nextval(3)"] {
        let error = error_of(client.query(query, &[]));
        assert_eq!(error.code(), &SqlState::OBJECT_NOT_IN_PREREQUISITE_STATE);
        let hint = error.hint().expect("a hint");
        assert!(hint.contains("snowflake_pg to shared_preload_libraries"), "{hint}");
        // Numbers that somebody pastes would be another server's.
        assert!(!hint.contains('='), "{hint}");
    }
    let error = error_of(client.query("SELECT snowflake_currval()", &[]));
    assert_eq!(error.code(), &SqlState::OBJECT_NOT_IN_PREREQUISITE_STATE);
}

#[test]
fn an_ordinary_user_cannot_choose_the_epoch() {
    let cluster = unloaded().start();
    cluster.connect().batch_execute("CREATE ROLE ordinary LOGIN").expect("a role");
    let mut config = cluster.config();
    config.user("ordinary");
    let decode = "SELECT snowflake_timestamp(1268118639732232192)::text";

    // Before the library is loaded, PostgreSQL takes the setting for an unknown one and accepts it.
    let mut client = config.connect(postgres::NoTls).expect("a session");
    client.batch_execute("SET snowflake.epoch = '1420070400000'").expect("a placeholder");
    let timestamp: String = client.query_one(decode, &[]).expect("decoded").get(0);
    assert_eq!(timestamp, "2020-06-03 09:53:38.874+00");
    let error = error_of(client.batch_execute("SET snowflake.epoch = '1420070400000'"));
    assert_eq!(error.code(), &SqlState::CANT_CHANGE_RUNTIME_PARAM);

    config.options("-c snowflake.epoch=1420070400000");
    let mut client = config.connect(postgres::NoTls).expect("a session");
    let timestamp: String = client.query_one(decode, &[]).expect("decoded").get(0);
    assert_eq!(timestamp, "2020-06-03 09:53:38.874+00");
}

#[test]
fn a_bad_epoch_is_an_error_each_time() {
    let cluster = unloaded().start();
    cluster.configure(&[("snowflake.epoch", "yesterday")]);
    cluster.reload();
    let mut client = cluster.connect();
    snowflake_e2e::eventually("the session has the setting", || {
        client
            .query_one("SELECT current_setting('snowflake.epoch', true)", &[])
            .expect("a row")
            .get::<_, Option<&str>>(0)
            == Some("yesterday")
    });
    for _ in 0..3 {
        let error = error_of(client.query("SELECT snowflake_timestamp(1268118639732232192)", &[]));
        assert_eq!(error.code(), &SqlState::INVALID_PARAMETER_VALUE);
        assert_eq!(
            error.message(),
            "invalid value for parameter \"snowflake.epoch\": \"yesterday\""
        );
    }
}

/// What a reload reads again counts in the sessions that begin after it.
#[test]
fn a_reload_keeps_the_configured_epoch() {
    let cluster = unloaded().set("snowflake.epoch", "1420070400000").start();
    cluster.configure(&[("work_mem", "5MB")]);
    cluster.connect().batch_execute("SELECT pg_reload_conf()").expect("reloaded");
    let reloaded = "SELECT (current_setting('work_mem') = '5MB')::int::bigint";
    eventually("a new session has it", || bigint(&mut cluster.connect(), reloaded) == 1);
    let decode = "SELECT snowflake_timestamp(175928847299117063)::text";
    let timestamp: String = cluster.connect().query_one(decode, &[]).expect("decoded").get(0);
    assert_eq!(timestamp, "2016-04-30 11:18:25.796+00");
}

/// What a session has set before the library is loaded is dropped with a warning, whatever it is.
#[test]
fn what_a_session_has_set_before_does_not_spoil_decoding() {
    let cluster = unloaded().set("snowflake.epoch", "1420070400000").start();
    cluster
        .connect()
        .batch_execute(
            "CREATE ROLE ordinary LOGIN; CREATE ROLE setter LOGIN;
             ALTER ROLE setter SET snowflake.datacenter_bits = 99",
        )
        .expect("roles");
    let decode = "SELECT snowflake_timestamp(175928847299117063)::text";
    for (user, set) in [
        ("ordinary", "SET snowflake.datacenter_bits = 99"),
        ("ordinary", "SET snowflake.datacenter_bits = 'many'"),
        ("ordinary", "SET snowflake.sequence_bits = 24"),
        ("ordinary", "SET snowflake.epoch = 'yesterday'"),
        ("ordinary", "SET snowflake.worker_id = 'one'; SET snowflake.max_wait = 'long'"),
        ("ordinary", "BEGIN; SET LOCAL snowflake.worker_bits = 0; SET snowflake.start_after = 'x'"),
        ("postgres", "SET snowflake.datacenter_bits = 3; SET snowflake.epoch = '0'"),
        ("setter", "SELECT"),
    ] {
        let mut client = cluster.config().user(user).connect(postgres::NoTls).expect("a session");
        client.batch_execute(set).unwrap_or_else(|error| panic!("{set}: {error}"));
        // Twice: the library is loaded by the first.
        for _ in 0..2 {
            let row = client.query_one(decode, &[]);
            let row = row.unwrap_or_else(|error| panic!("{user}, {set}: {error:?}"));
            assert_eq!(row.get::<_, &str>(0), "2016-04-30 11:18:25.796+00", "{user}, {set}");
        }
    }
    let warned = cluster.log().matches("WARNING:").count();
    assert!(warned >= 8, "{warned} warnings");
}
