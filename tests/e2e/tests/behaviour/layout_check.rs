//! Nothing decodes, or indexes, IDs by a layout that they were not issued under.

use postgres::Client;
use snowflake_e2e::{
    Cluster, INSERT, NEXT, Run, assert_check, bigint, check, error_of, eventually, refusal, value,
};

const DECODE: &str = "SELECT snowflake_timestamp(1268118639732232192)";
const CONFIRM: &str = "SELECT snowflake_confirm('layout')";
const REFUSED: &str = "IDs have been issued under another snowflake.epoch or other widths";

/// Confirms the layout: whether there was something to confirm.
fn confirm(cluster: &Cluster) -> bool {
    cluster.value(CONFIRM)
}

#[track_caller]
fn assert_refused(cluster: &Cluster) {
    let mut client = cluster.connect();
    for query in [DECODE, "SELECT snowflake_min(now())", "SELECT snowflake_json(1)", DECODE] {
        let error = refusal(client.query(query, &[]));
        assert_eq!(error.message(), REFUSED);
        assert!(error.hint().expect("a hint").contains("snowflake_confirm('layout')"));
    }
    // A call that names its layout depends on nothing.
    client.run("SELECT snowflake_timestamp(175928847299117063, '2015-01-01+00')");
}

#[test]
fn a_server_with_another_layout_does_not_decode() {
    let mut cluster = Cluster::start();
    let mut client = cluster.connect();
    client.run(
        "CREATE TABLE orders (id bigint DEFAULT snowflake_nextval());
         CREATE INDEX ON orders (snowflake_timestamp(id));
         INSERT INTO orders DEFAULT VALUES;",
    );
    cluster.restart_with(&[("snowflake.sequence_bits", "13")]);
    assert_refused(&cluster);
    let insert = "INSERT INTO orders VALUES (1268118639732232192)";
    refusal(cluster.connect().batch_execute(insert));

    // A superuser may decide otherwise.
    confirm(&cluster);
    cluster.run(DECODE);
    cluster.run(INSERT);

    // Without preloading, it is the same.
    cluster.restart_with(&[("shared_preload_libraries", ""), ("snowflake.sequence_bits", "12")]);
    assert_refused(&cluster);
    cluster.restart_with(&[("snowflake.sequence_bits", "13")]);
    cluster.run(DECODE);
}

/// A session of a standby that decodes the newest row, whose ID was issued under another layout,
/// gets an error, and never a time.
#[test]
fn an_open_session_of_a_standby_notices_another_layout() {
    let mut primary = Cluster::start();
    primary.run(
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
    );
    let standby = primary.standby();
    let mut open = standby.connect();
    let rows = "SELECT count(*) FROM orders";
    eventually("the row reaches the standby", || bigint(&mut open, rows) == 1);
    let newest =
        "SELECT (SELECT count(*) FROM orders), snowflake_timestamp(max(id))::text FROM orders";
    let prepared = open.prepare(newest).expect("a query");
    open.query(&prepared, &[]).expect("decoded");
    let mut follower = standby.connect();
    let following = std::thread::spawn(move || error_of(follower.batch_execute("SELECT follow()")));

    primary.restart_with(&[("snowflake.sequence_bits", "13")]);
    confirm(&primary);
    primary.run(INSERT);
    let error = loop {
        match open.query_one(&prepared, &[]) {
            Ok(row) => assert_eq!(row.get::<_, i64>(0), 1, "decoded {}", row.get::<_, String>(1)),
            Err(error) => break error_of::<()>(Err(error)),
        }
    };
    for error in [error, following.join().expect("a session"), error_of(open.query(DECODE, &[]))] {
        assert_eq!(error.message(), REFUSED);
    }
}

/// Confirming a wrong layout is undone by correcting the configuration, until the first ID.
#[test]
fn a_layout_confirmed_by_mistake_can_be_left() {
    let mut primary = Cluster::start();
    primary.run(NEXT);
    let restart = |standby: &mut Cluster, bits: &str| {
        standby.restart_with(&[("snowflake.sequence_bits", bits)]);
    };
    let mut standby = primary.standby_with(&[("snowflake.sequence_bits", "13")]);
    let floor = "SELECT count(snowflake_floor())";
    eventually("the register is there", || standby.bigint(floor) == 1);
    assert_refused(&standby);
    let before = primary.bigint(NEXT);
    primary.stop();
    standby.promote();
    assert_refused(&standby);
    assert!(confirm(&standby));
    assert!(!confirm(&standby));
    standby.run(DECODE);
    assert_check(&mut standby.connect(), "layout", true, "No ID has been issued under them");

    // Under the one that IDs were issued under, nothing needs to be confirmed for the server. The
    // database is named, and confirming takes the other layout back.
    restart(&mut standby, "12");
    standby.run(DECODE);
    assert!(confirm(&standby));
    restart(&mut standby, "13");
    assert_refused(&standby);
    assert!(confirm(&standby));
    restart(&mut standby, "12");
    assert!(standby.bigint(NEXT) > before);

    // The first ID has ended it.
    restart(&mut standby, "13");
    assert_refused(&standby);
    assert!(confirm(&standby));
    standby.run(NEXT);
    restart(&mut standby, "12");
    assert_refused(&standby);
    let error = error_of(standby.connect().query(CONFIRM, &[]));
    assert_eq!(error.message(), "the configured snowflake.epoch and widths would issue IDs again");
    let hint = error.hint().expect("a hint");
    assert!(hint.starts_with("Set the epoch and the widths as they were."), "{hint}");
}

/// Once the primary has confirmed a layout, a standby would have to have it, because the primary
/// might be lost with its first IDs. Nobody says that there are some.
#[test]
fn a_standby_without_the_confirmed_layout_names_it() {
    const DETAIL: &str = "The confirmed layout is ";
    let mut primary = Cluster::start();
    primary.run(NEXT);
    const BITS: (&str, &str) = ("snowflake.sequence_bits", "13");
    let (mut standby, configured) = (primary.standby(), primary.standby_with(&[BITS]));
    primary.restart_with(&[BITS]);
    confirm(&primary);
    let row = |cluster: &Cluster| check(&mut cluster.connect(), "layout");
    eventually("the confirmation reaches the standbys", || {
        let (ok, detail, _) = row(&standby);
        (!ok && detail.contains(DETAIL)) && row(&configured).0
    });
    let (_, detail, _) = row(&standby);
    for part in [
        "Another snowflake.epoch or other widths have been confirmed.",
        "widths 5, 5 and 13",
        "might have been issued under it",
    ] {
        assert!(detail.contains(part), "{detail}");
    }
    assert_eq!(
        row(&configured).1,
        "The epoch and the widths were confirmed. This server has received no ID that was issued \
         under them."
    );
    standby.run(DECODE);

    // After a promotion, IDs are refused, as the row says.
    drop(primary);
    standby.promote();
    let error = refusal(standby.connect().query(NEXT, &[]));
    assert_eq!(error.message(), "another snowflake.epoch or other widths have been confirmed");
    assert!(error.detail().is_some_and(|detail| detail.starts_with(DETAIL)), "{error:?}");
    let error = error_of(standby.connect().query(CONFIRM, &[]));
    assert!(error.detail().is_some_and(|detail| detail.contains(" 13 ")), "{error:?}");
    standby.restart_with(&[BITS]);
    standby.run(NEXT);
}

/// Objects that were computed under the old layout are named in each database in which the layout
/// is confirmed.
#[test]
fn a_confirmed_layout_names_what_holds_old_times() {
    let mut cluster = Cluster::start();
    let databases = [("postgres", "orders"), ("other", "visits")];
    cluster.run("CREATE DATABASE other");
    for (database, table) in databases {
        let tables = format!(
            "CREATE EXTENSION IF NOT EXISTS snowflake;
             CREATE TABLE {table} (
                 id bigint DEFAULT snowflake_nextval() CHECK (snowflake_worker_id(id) < 32),
                 at timestamptz GENERATED ALWAYS AS (snowflake_timestamp(id)) STORED);
             CREATE INDEX {table}_at ON {table} (snowflake_timestamp(id));
             CREATE INDEX {table}_text ON {table} (snowflake_to_base62(id));
             CREATE FUNCTION snowflake_of_mine(bigint) RETURNS bigint
                 LANGUAGE sql IMMUTABLE RETURN abs($1);
             CREATE INDEX {table}_mine ON {table} (snowflake_of_mine(id));
             CREATE INDEX {table}_recent ON {table} (id)
                 WHERE snowflake_within(id, '2026-01-01 00:00:00+00', '2027-01-01 00:00:00+00');
             CREATE INDEX {table}_named ON {table} (snowflake_timestamp(id, '2015-01-01 00:00:00+00'));
             INSERT INTO {table} DEFAULT VALUES;"
        );
        cluster.run_in(database, &tables);
    }
    cluster.restart_with(&[("snowflake.sequence_bits", "13")]);
    let is_confirmed = |client: &mut Client| check(client, "layout of the database").0;
    for (database, table) in databases {
        let (mut client, notices) = cluster.connect_with_notices(database);
        assert!(!is_confirmed(&mut client), "{database}");
        // It goes back with its transaction, but for the register, which is the server's.
        client.run(&format!("BEGIN; {CONFIRM}; ROLLBACK"));
        assert!(!is_confirmed(&mut client), "{database}");
        assert!(value::<bool>(&mut client, CONFIRM), "{database}");
        assert!(is_confirmed(&mut client), "{database}");
        assert!(!value::<bool>(&mut client, CONFIRM), "{database}");
        drop(client);
        let notices: Vec<_> = notices.iter().collect();
        assert_eq!(notices.len(), 2, "{notices:?}");
        let detail = notices[1].detail().expect("a detail");
        for object in [
            format!("index public.{table}_at"),
            format!("index public.{table}_recent"),
            format!("default value for column at of table public.{table}"),
            format!("constraint {table}_id_check on table public.{table}"),
        ] {
            assert!(detail.contains(&object), "{detail}");
        }
        // Objects that do not depend on the layout of the server are left alone.
        for other in ["column id", "_text", "_named", "_mine"] {
            assert!(!detail.contains(other), "{detail}");
        }
        let hint = notices[1].hint().expect("a hint");
        assert!(hint.contains("in every other database"), "{hint}");
    }
}
