//! Nothing decodes, or indexes, IDs by a layout that they were not issued under.

use postgres::error::SqlState;
use snowflake_e2e::{Cluster, bigint, error_of, eventually};

const DECODE: &str = "SELECT snowflake_timestamp(1268118639732232192)";

#[track_caller]
fn assert_refused(cluster: &Cluster) {
    let mut client = cluster.connect();
    for query in [DECODE, "SELECT snowflake_min(now())", "SELECT snowflake_json(1)", DECODE] {
        let error = error_of(client.query(query, &[]));
        assert_eq!(error.code(), &SqlState::OBJECT_NOT_IN_PREREQUISITE_STATE);
        assert_eq!(error.message(), "IDs have been issued under another snowflake.epoch or other widths");
        assert!(error.hint().expect("a hint").contains("snowflake_confirm('layout')"));
    }
    // What names its layout depends on nothing.
    client.query("SELECT snowflake_timestamp(175928847299117063, '2015-01-01+00')", &[]).expect("decoded");
}

#[test]
fn a_server_with_another_layout_does_not_decode() {
    let mut cluster = Cluster::start();
    let mut client = cluster.connect();
    client
        .batch_execute(
            "CREATE TABLE orders (id bigint DEFAULT snowflake_nextval());
             CREATE INDEX ON orders (snowflake_timestamp(id));
             INSERT INTO orders DEFAULT VALUES;",
        )
        .expect("a table");
    drop(client);
    cluster.stop();
    cluster.configure(&[("snowflake.sequence_bits", "13")]);
    cluster.start_again();
    assert_refused(&cluster);
    let error = error_of(cluster.connect().batch_execute("INSERT INTO orders VALUES (1268118639732232192)"));
    assert_eq!(error.code(), &SqlState::OBJECT_NOT_IN_PREREQUISITE_STATE);

    // A superuser may decide otherwise.
    let mut client = cluster.connect();
    client.batch_execute("SELECT snowflake_confirm('layout')").expect("confirmed");
    client.query(DECODE, &[]).expect("decoded");
    client.batch_execute("INSERT INTO orders DEFAULT VALUES").expect("a row");

    // Without preloading, it is the same.
    drop(client);
    cluster.stop();
    cluster.configure(&[("shared_preload_libraries", ""), ("snowflake.sequence_bits", "12")]);
    cluster.start_again();
    assert_refused(&cluster);
    cluster.stop();
    cluster.configure(&[("snowflake.sequence_bits", "13")]);
    cluster.start_again();
    cluster.connect().query(DECODE, &[]).expect("decoded");
}

#[test]
fn a_standby_with_another_layout_does_not_decode() {
    let primary = Cluster::start();
    bigint(&mut primary.connect(), "SELECT snowflake_nextval()");
    let mut standby = primary.base_backup(&["--write-recovery-conf"]);
    standby.configure(&[("snowflake.epoch", "1420070400000")]);
    standby.start_again();
    eventually("the register reaches the standby", || standby.connect().query(DECODE, &[]).is_err());
    assert_refused(&standby);
    standby.stop();
    standby.configure(&[("snowflake.epoch", "1288834974657")]);
    standby.start_again();
    standby.connect().query(DECODE, &[]).expect("decoded");
}
