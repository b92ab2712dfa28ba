//! Without shared_preload_libraries the extension decodes, and says what to add before it
//! generates.

use postgres::error::SqlState;
use snowflake_e2e::{Cluster, ClusterBuilder, bigint, error_of};

fn unloaded() -> ClusterBuilder {
    Cluster::builder().unset("shared_preload_libraries")
}

#[test]
fn it_decodes() {
    let cluster = unloaded().start();
    let mut client = cluster.connect();
    assert_eq!(bigint(&mut client, "SELECT snowflake_worker_id(1268118639732232192)::bigint"), 9);
    let row = client
        .query_one("SELECT snowflake_make('2020-06-03 09:53:38.874+00', 5, 9, 0), (snowflake_parse(1268118639732232192)).sequence", &[])
        .expect("decoded");
    assert_eq!(row.get::<_, i64>(0), 1268118639732232192);
}

#[test]
fn it_decodes_with_the_configured_epoch() {
    let cluster = unloaded().set("snowflake.epoch", "1420070400000").start();
    let timestamp: String = cluster
        .connect()
        .query_one("SELECT snowflake_timestamp(175928847299117063)::text", &[])
        .expect("decoded")
        .get(0);
    assert_eq!(timestamp, "2016-04-30 11:18:25.796+00");
}

#[test]
fn it_does_not_generate() {
    let cluster = unloaded().start();
    let mut client = cluster.connect();
    for query in ["SELECT snowflake_nextval()", "SELECT snowflake_nextval(3)"] {
        let error = error_of(client.query(query, &[]));
        assert_eq!(error.code(), &SqlState::OBJECT_NOT_IN_PREREQUISITE_STATE);
        assert!(
            error.hint().expect("a hint").contains("\nshared_preload_libraries = 'snowflake_pg'\n")
        );
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
