//! A dump carries the layout that its database was used with, and a server with another one does
//! not restore it without a word.

use postgres::Client;
use snowflake_e2e::{
    Cluster, ClusterBuilder, Dump, INSERT, Run, bigint, check, create_orders, error_of, eventually,
    value,
};

const EPOCH: (&str, &str) = ("snowflake.epoch", "2015-01-01T00:00:00Z");
const BITS: (&str, &str) = ("snowflake.sequence_bits", "13");

/// A cluster with this layout, and a role that may create databases.
fn cluster(layout: &[(&str, &str)]) -> Cluster {
    let builder =
        layout.iter().fold(Cluster::builder(), |builder, (name, value)| builder.set(name, value));
    let cluster = builder.start();
    cluster.run("CREATE ROLE owner LOGIN CREATEDB");
    cluster
}

/// A cluster with another layout, its database `orders`, and its rows.
fn original() -> (Cluster, String) {
    let original = cluster(&[EPOCH, BITS]);
    let mut client = original.create_database("owner", "orders");
    client.run(ORDERS);
    let rows = orders(&mut client);
    (original, rows)
}

const ORDERS: &str = "
    CREATE EXTENSION snowflake;
    CREATE TABLE orders (
        id bigint PRIMARY KEY DEFAULT snowflake_nextval(),
        created_at timestamptz GENERATED ALWAYS AS (snowflake_timestamp(id)) STORED
    );
    INSERT INTO orders SELECT FROM generate_series(1, 100);";

/// Every row, with its time.
fn orders(client: &mut Client) -> String {
    let rows = "SELECT string_agg(o::text, ' ' ORDER BY id) FROM orders AS o";
    value(client, rows)
}

const LAYOUTS: &str = "SELECT count(*) FROM snowflake_internal.snowflake_layout";

/// Asserts the error of the guard, whose detail and hint
/// `tests/scenarios/layouts/of_a_database.sql` shows.
#[track_caller]
fn assert_refused(restored: Result<String, String>) {
    let said = restored.expect_err("an error");
    let error = "ERROR:  the dump is of a server with another snowflake.epoch or other widths";
    assert!(said.contains(error) && said.contains("\nHINT:  Restore it on"), "{said}");
}

/// The ordinary owner of a database creates the extension, dumps the database, and restores it,
/// with what the page on dumps recommends.
#[test]
fn a_dump_is_restored_where_the_layout_is_the_same_and_nowhere_else() {
    let (original, expected) = original();
    let (same, other) = (cluster(&[EPOCH, BITS]), cluster(&[]));
    for (format, options) in [
        ("plain", &["-v", "ON_ERROR_STOP=1"][..]),
        ("custom", &["--exit-on-error"]),
        ("directory", &["--exit-on-error", "--jobs=2"]),
        ("tar", &["--single-transaction"]),
    ] {
        let dump = Dump::of(&original, "owner", "orders", format, &[]);
        let database = format!("restored_{format}");
        let mut client = same.create_database("owner", &database);
        dump.restore(&same, "owner", &database, options).expect("restored");
        assert_eq!(orders(&mut client), expected, "{format}");
        assert_eq!(bigint(&mut client, LAYOUTS), 1);

        let mut client = other.create_database("owner", &database);
        assert_refused(dump.restore(&other, "owner", &database, options));
        if format == "tar" {
            let tables = "SELECT count(*) FROM pg_class WHERE relname = 'orders'";
            assert_eq!(bigint(&mut client, tables), 0, "nothing was restored");
        } else {
            assert_eq!(bigint(&mut client, LAYOUTS), 1);
        }
    }
}

/// Without `--exit-on-error`, the rest is restored, and gives other times. An operator who wants
/// that leaves the row out.
#[test]
fn a_dump_can_be_restored_under_another_layout() {
    let ((original, expected), other) = (original(), cluster(&[]));
    let but_the_layout = "--exclude-table-data=snowflake_internal.snowflake_layout";
    for (name, options) in [("whole", &[][..]), ("but_the_layout", &[but_the_layout])] {
        let dump = Dump::of(&original, "owner", "orders", "custom", options);
        let mut client = other.create_database("owner", name);
        let restored = dump.restore(&other, "owner", name, &[]);
        match options {
            [] => assert_refused(restored),
            _ => assert_eq!(restored.as_deref(), Ok("")),
        }
        assert_eq!(bigint(&mut client, "SELECT count(*) FROM orders"), 100);
        assert_ne!(orders(&mut client), expected);
        assert_eq!(bigint(&mut client, LAYOUTS), 1);
    }
    // A dump of chosen tables has neither the extension nor the layout.
    let chosen = Dump::of(&original, "owner", "orders", "plain", &["--table=orders"]);
    let text = std::fs::read_to_string(chosen.path()).expect("a dump");
    assert!(text.contains("snowflake_nextval()") && !text.contains("snowflake_layout"), "{text}");
}

/// A restore of data alone, with triggers off, is noticed by the check.
#[test]
fn data_that_is_restored_without_triggers_is_noticed() {
    let (original, other) = (cluster(&[EPOCH, BITS]), cluster(&[]));
    original.run("CREATE TABLE notes (note text)");
    other.run("CREATE TABLE notes (note text)");
    let options = ["--data-only", "--disable-triggers"];
    let dump = Dump::of(&original, "postgres", "postgres", "plain", &options);
    let mut client = other.connect();
    assert!(layout_of_database(&mut client).0);
    let stop = ["-v", "ON_ERROR_STOP=1"];
    dump.restore(&other, "postgres", "postgres", &stop).expect("restored");
    let (ok, detail) = layout_of_database(&mut client);
    assert!(!ok && detail.contains("epoch 2015-01-01 00:00:00+00, widths 5, 5 and 13 bits"));
    // The trigger is fired again, but not as a replica.
    assert!(!check(&mut client, "guards").0);
    for table in ["snowflake_layout", "snowflake_node_claims"] {
        client.run(&format!("ALTER TABLE snowflake_internal.{table} ENABLE ALWAYS TRIGGER guard"));
    }
    assert!(check(&mut client, "guards").0);
    error_of(client.batch_execute(INSERT_LAYOUT));
}

const INSERT_LAYOUT: &str =
    "INSERT INTO snowflake_internal.snowflake_layout VALUES ('2015-01-01+00', 5, 5, 13)";

/// Returns the row of `snowflake_check()` on the table.
fn layout_of_database(client: &mut Client) -> (bool, String) {
    let (ok, detail, _) = check(client, "layout of the database");
    (ok, detail)
}

/// A publication of all tables has the table, too. A subscriber gets the row of its publisher, and
/// a change of it; the dump of a subscriber is restored as long as both have one layout.
#[test]
fn a_subscriber_to_all_tables_gets_the_layout_of_its_publisher() {
    let logical = || Cluster::builder().set("wal_level", "logical");
    let with_bits = |builder: ClusterBuilder| builder.set(BITS.0, BITS.1).start();
    let (mut publisher, subscriber) = (logical().start(), with_bits(logical()));
    create_orders(&publisher);
    create_orders(&subscriber);
    publisher.run("CREATE PUBLICATION everything FOR ALL TABLES");
    let mut client = subscriber.connect();
    subscriber.subscribe(&publisher, "postgres", "s", "PUBLICATION everything");
    eventually("the row arrives", || bigint(&mut client, LAYOUTS) == 2);
    let (ok, detail) = layout_of_database(&mut client);
    assert!(!ok && detail.contains("widths 5, 5 and 12 bits"), "{detail}");

    publisher.restart_with(&[BITS]);
    assert!(!layout_of_database(&mut publisher.connect()).0);
    publisher.run("SELECT snowflake_confirm('layout')");
    assert!(layout_of_database(&mut publisher.connect()).0);
    eventually("the change arrives", || layout_of_database(&mut client).0);
    publisher.run(INSERT);
    eventually("rows arrive", || bigint(&mut client, "SELECT count(*) FROM orders") == 1);

    assert_eq!(bigint(&mut client, LAYOUTS), 2);
    let options = ["--no-publications", "--no-subscriptions"];
    let dump = Dump::of(&subscriber, "postgres", "postgres", "plain", &options);
    let text = std::fs::read_to_string(dump.path()).expect("a dump");
    assert_eq!(text.matches("\t5\t5\t13\n").count(), 2);
    let mut restored = subscriber.create_database("postgres", "restored");
    dump.restore(&subscriber, "postgres", "restored", &["-v", "ON_ERROR_STOP=1"])
        .expect("restored");
    assert_eq!(bigint(&mut restored, LAYOUTS), 1);
}

/// Without the library in `shared_preload_libraries`, the layout is that of the configuration.
#[test]
fn without_preloading_the_layout_is_that_of_the_configuration() {
    let builder = Cluster::builder().unset("shared_preload_libraries");
    let mut cluster = builder.set(BITS.0, BITS.1).start();
    let mut client = cluster.connect();
    assert!(layout_of_database(&mut client).0);
    let row = "SELECT sequence_bits::bigint FROM snowflake_internal.snowflake_layout";
    assert_eq!(bigint(&mut client, row), 13);
    error_of(client.batch_execute(INSERT_LAYOUT));
    // Preloaded, and with another layout, before the first ID.
    cluster.restart_with(&[("shared_preload_libraries", "snowflake_pg"), EPOCH]);
    let mut client = cluster.connect();
    assert!(!layout_of_database(&mut client).0);
    let confirm = "SELECT snowflake_confirm('layout')";
    assert!(value::<bool>(&mut client, confirm));
    assert!(layout_of_database(&mut client).0);
    assert!(!value::<bool>(&mut client, confirm));
}
