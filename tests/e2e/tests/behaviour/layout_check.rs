//! Nothing decodes, or indexes, IDs by a layout that they were not issued under.

use postgres::error::SqlState;
use snowflake_e2e::{Cluster, bigint, connect_to, error_of, eventually};

const DECODE: &str = "SELECT snowflake_timestamp(1268118639732232192)";

#[track_caller]
fn assert_refused(cluster: &Cluster) {
    let mut client = cluster.connect();
    for query in [DECODE, "SELECT snowflake_min(now())", "SELECT snowflake_json(1)", DECODE] {
        let error = error_of(client.query(query, &[]));
        assert_eq!(error.code(), &SqlState::OBJECT_NOT_IN_PREREQUISITE_STATE);
        assert_eq!(
            error.message(),
            "IDs have been issued under another snowflake.epoch or other widths"
        );
        assert!(error.hint().expect("a hint").contains("snowflake_confirm('layout')"));
    }
    // What names its layout depends on nothing.
    client
        .query("SELECT snowflake_timestamp(175928847299117063, '2015-01-01+00')", &[])
        .expect("decoded");
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
    let error = error_of(
        cluster.connect().batch_execute("INSERT INTO orders VALUES (1268118639732232192)"),
    );
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
    eventually("the register reaches the standby", || {
        standby.connect().query(DECODE, &[]).is_err()
    });
    assert_refused(&standby);
    standby.stop();
    standby.configure(&[("snowflake.epoch", "1288834974657")]);
    standby.start_again();
    standby.connect().query(DECODE, &[]).expect("decoded");
}

/// What a session of a standby decodes of the newest row, whose ID was issued under another layout:
/// an error, and never a time.
#[test]
fn an_open_session_of_a_standby_notices_another_layout() {
    let mut primary = Cluster::start();
    primary
        .connect()
        .batch_execute(
            "CREATE TABLE orders (id bigint PRIMARY KEY DEFAULT snowflake_nextval());
             CREATE FUNCTION follow() RETURNS void LANGUAGE plpgsql AS $$
             BEGIN
                 FOR round IN 1..6000 LOOP
                     PERFORM snowflake_timestamp(id) FROM orders;
                     IF (SELECT count(*) FROM orders) > 1 THEN
                         RAISE 'decoded %', (SELECT snowflake_timestamp(max(id)) FROM orders);
                     END IF;
                     PERFORM pg_sleep(0.01);
                 END LOOP;
             END $$;
             INSERT INTO orders DEFAULT VALUES;",
        )
        .expect("a table");
    let standby = primary.standby();
    let mut open = standby.connect();
    eventually("the row reaches the standby", || {
        open.query_one("SELECT count(*) FROM orders", &[])
            .is_ok_and(|row| row.get::<_, i64>(0) == 1)
    });
    let prepared = open
        .prepare(
            "SELECT (SELECT count(*) FROM orders), snowflake_timestamp(max(id))::text FROM orders",
        )
        .expect("a query");
    open.query(&prepared, &[]).expect("decoded");
    let mut follower = standby.connect();
    let following = std::thread::spawn(move || error_of(follower.batch_execute("SELECT follow()")));

    primary.stop();
    primary.configure(&[("snowflake.sequence_bits", "13")]);
    primary.start_again();
    primary.connect().batch_execute("SELECT snowflake_confirm('layout')").expect("confirmed");
    primary.connect().batch_execute("INSERT INTO orders DEFAULT VALUES").expect("a row");
    let error = loop {
        match open.query_one(&prepared, &[]) {
            Ok(row) => assert_eq!(row.get::<_, i64>(0), 1, "decoded {}", row.get::<_, String>(1)),
            Err(error) => break error_of::<()>(Err(error)),
        }
    };
    for error in [error, following.join().expect("a session"), error_of(open.query(DECODE, &[]))] {
        assert_eq!(
            error.message(),
            "IDs have been issued under another snowflake.epoch or other widths"
        );
    }
}

/// What was computed under the old layout is named, and the hint finds it in another database.
#[test]
fn a_confirmed_layout_names_what_holds_old_times() {
    let mut cluster = Cluster::start();
    let mut client = cluster.connect();
    client.batch_execute("CREATE DATABASE other").expect("a database");
    for (database, table) in [("postgres", "orders"), ("other", "visits")] {
        connect_to(&cluster, database)
            .batch_execute(&format!(
                "CREATE EXTENSION IF NOT EXISTS snowflake;
                 CREATE TABLE {table} (
                     id bigint DEFAULT snowflake_nextval() CHECK (snowflake_worker_id(id) < 32),
                     at timestamptz GENERATED ALWAYS AS (snowflake_timestamp(id)) STORED
                 );
                 CREATE INDEX {table}_at ON {table} (snowflake_timestamp(id));
                 INSERT INTO {table} DEFAULT VALUES;"
            ))
            .expect("a table");
    }
    drop(client);
    cluster.stop();
    cluster.configure(&[("snowflake.sequence_bits", "13")]);
    cluster.start_again();
    let (sender, notices) = std::sync::mpsc::channel();
    let mut config = cluster.config();
    config.notice_callback(move |notice| drop(sender.send(notice)));
    let mut client = config.connect(postgres::NoTls).expect("a session");
    client.batch_execute("SELECT snowflake_confirm('layout')").expect("confirmed");
    drop((client, config));
    let notices: Vec<_> = notices.iter().collect();
    let notice = notices.first().expect("a notice");
    let detail = notice.detail().expect("a detail");
    for object in [
        "index public.orders_at",
        "default value for column at of table public.orders",
        "constraint orders_id_check on table public.orders",
    ] {
        assert!(detail.contains(object), "{detail}");
    }
    assert!(!detail.contains("column id"), "{detail}");
    let (_, query) = notice.hint().and_then(|hint| hint.split_once(": ")).expect("a query");
    let found: Vec<String> = connect_to(&cluster, "other")
        .query(query, &[])
        .expect("it runs")
        .iter()
        .map(|row| row.get(0))
        .collect();
    assert_eq!(found.len(), 3, "{found:?}");
    assert!(found.contains(&"index visits_at".to_owned()), "{found:?}");
}
