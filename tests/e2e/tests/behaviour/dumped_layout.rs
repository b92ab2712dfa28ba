//! A dump carries the layout that its database was used with, and a server with another one does
//! not restore it without a word.

use std::path::Path;
use std::process::Output;

use postgres::Client;
use snowflake_e2e::{Cluster, ClusterBuilder, Run, bigint, check, error_of, eventually, output};

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

/// Runs a program on a database as its owner.
fn run(cluster: &Cluster, program: &str, database: &str, arguments: &[&str]) -> Output {
    let mut command = cluster.client_program(program);
    command.env("PGUSER", "owner").args(["--dbname", database]).args(arguments);
    command.output().expect("the program runs")
}

fn dump(cluster: &Cluster, database: &str, format: &str, file: &Path, options: &[&str]) {
    let mut command = cluster.client_program("pg_dump");
    let arguments = ["--format", format, "--dbname", database, "--file"];
    output(command.env("PGUSER", "owner").args(arguments).arg(file).args(options));
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
    client.query_one(rows, &[]).expect("rows").get(0)
}

const LAYOUTS: &str = "SELECT count(*) FROM snowflake_internal.snowflake_layout";

/// How the parts of the error say what is wrong.
const SAID: [&str; 4] = [
    "ERROR:  the dump is of a server with another snowflake.epoch or other widths",
    "The dump: epoch 2015-01-01 00:00:00+00, widths 5, 5 and 13 bits",
    "This server: epoch 2010-11-04 01:42:54.657+00, widths 5, 5 and 12 bits",
    "snowflake.epoch = '2015-01-01 00:00:00+00', snowflake.datacenter_bits = 5, \
     snowflake.worker_bits = 5 and snowflake.sequence_bits = 13",
];

#[track_caller]
fn assert_said(restored: &Output) {
    let said = String::from_utf8_lossy(&restored.stderr);
    assert!(!restored.status.success(), "{said}");
    for part in SAID {
        assert!(said.contains(part), "{said}");
    }
}

/// The ordinary owner of a database creates the extension, dumps the database, and restores it,
/// with what the page on dumps recommends.
#[test]
fn a_dump_is_restored_where_the_layout_is_the_same_and_nowhere_else() {
    let original = cluster(&[EPOCH, BITS]);
    original.connect_as("owner", "postgres").run("CREATE DATABASE orders");
    let mut client = original.connect_as("owner", "orders");
    client.run(ORDERS);
    let expected = orders(&mut client);
    let (same, other) = (cluster(&[EPOCH, BITS]), cluster(&[]));
    let directory = tempfile::tempdir().expect("a directory");
    for (format, program, options) in [
        ("plain", "psql", &["-Xq", "-v", "ON_ERROR_STOP=1", "-f"][..]),
        ("custom", "pg_restore", &["--exit-on-error"]),
        ("directory", "pg_restore", &["--exit-on-error", "--jobs=2"]),
        ("tar", "pg_restore", &["--single-transaction"]),
    ] {
        let file = directory.path().join(format);
        dump(&original, "orders", format, &file, &[]);
        let arguments = [options, &[file.to_str().expect("UTF-8")]].concat();
        let database = format!("restored_{format}");
        for cluster in [&same, &other] {
            let create = format!("CREATE DATABASE {database}");
            cluster.connect_as("owner", "postgres").run(&create);
        }
        let restored = run(&same, program, &database, &arguments);
        assert!(restored.status.success(), "{}", String::from_utf8_lossy(&restored.stderr));
        let mut client = same.connect_as("owner", &database);
        assert_eq!(orders(&mut client), expected, "{format}");
        assert_eq!(bigint(&mut client, LAYOUTS), 1);

        assert_said(&run(&other, program, &database, &arguments));
        let mut client = other.connect_as("owner", &database);
        if options == ["--single-transaction"] {
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
    let original = cluster(&[EPOCH, BITS]);
    original.connect_as("owner", "postgres").run("CREATE DATABASE orders");
    let mut client = original.connect_as("owner", "orders");
    client.run(ORDERS);
    let expected = orders(&mut client);
    let directory = tempfile::tempdir().expect("a directory");
    let other = cluster(&[]);
    for (name, options, is_said) in [
        ("whole", &[][..], true),
        ("but_the_layout", &["--exclude-table-data=snowflake_internal.snowflake_layout"], false),
    ] {
        let file = directory.path().join(name);
        dump(&original, "orders", "custom", &file, options);
        let create = format!("CREATE DATABASE {name}");
        other.connect_as("owner", "postgres").run(&create);
        let restored = run(&other, "pg_restore", name, &[file.to_str().expect("UTF-8")]);
        if is_said {
            assert_said(&restored);
        } else {
            assert!(restored.status.success(), "{}", String::from_utf8_lossy(&restored.stderr));
        }
        let mut client = other.connect_as("owner", name);
        assert_eq!(bigint(&mut client, "SELECT count(*) FROM orders"), 100);
        assert_ne!(orders(&mut client), expected);
        assert_eq!(bigint(&mut client, LAYOUTS), 1);
    }
    // A dump of chosen tables has neither the extension nor the layout.
    let file = directory.path().join("chosen");
    dump(&original, "orders", "plain", &file, &["--table=orders"]);
    let text = std::fs::read_to_string(file).expect("a dump");
    assert!(text.contains("snowflake_nextval()") && !text.contains("snowflake_layout"), "{text}");
}

/// A restore of data alone, with triggers off, is noticed by the check.
#[test]
fn data_that_is_restored_without_triggers_is_noticed() {
    let (original, other) = (cluster(&[EPOCH, BITS]), cluster(&[]));
    original.run("CREATE TABLE notes (note text)");
    other.run("CREATE TABLE notes (note text)");
    let mut command = original.client_program("pg_dump");
    let data = output(command.args(["--data-only", "--disable-triggers"]));
    let mut client = other.connect();
    assert!(layout_of_database(&mut client).0);
    let file = tempfile::NamedTempFile::new().expect("a file");
    std::fs::write(file.path(), data).expect("a file");
    let mut psql = other.client_program("psql");
    output(psql.args(["-Xq", "-v", "ON_ERROR_STOP=1", "-f"]).arg(file.path()));
    let (ok, detail) = layout_of_database(&mut client);
    assert!(!ok && detail.contains("epoch 2015-01-01 00:00:00+00, widths 5, 5 and 13 bits"));
    // The trigger is fired again, but not as a replica.
    assert!(!check(&mut client, "guards").0);
    for table in ["snowflake_layout", "snowflake_node_claims"] {
        let always = format!("ALTER TABLE snowflake_internal.{table} ENABLE ALWAYS TRIGGER guard");
        client.run(&always);
    }
    assert!(check(&mut client, "guards").0);
    let dumped =
        "INSERT INTO snowflake_internal.snowflake_layout VALUES ('2015-01-01+00', 5, 5, 13)";
    error_of(client.batch_execute(dumped));
}

/// What `snowflake_check()` says of the table.
fn layout_of_database(client: &mut Client) -> (bool, String) {
    let (ok, detail, _) = check(client, "layout of the database");
    (ok, detail)
}

/// A publication of all tables has the table, too. A subscriber gets the row of its publisher, and a
/// change of it; the dump of a subscriber is restored as long as both have one layout.
#[test]
fn a_subscriber_to_all_tables_gets_the_layout_of_its_publisher() {
    let logical = || Cluster::builder().set("wal_level", "logical");
    let with_bits = |builder: ClusterBuilder| builder.set(BITS.0, BITS.1).start();
    let (mut publisher, subscriber) = (logical().start(), with_bits(logical()));
    let table = "CREATE TABLE orders (id bigint PRIMARY KEY DEFAULT snowflake_nextval());";
    publisher.run(&format!("{table} CREATE PUBLICATION everything FOR ALL TABLES"));
    let mut client = subscriber.connect();
    client.run(table);
    subscriber.subscribe(&publisher, "postgres", "s", "PUBLICATION everything");
    eventually("the row arrives", || bigint(&mut client, LAYOUTS) == 2);
    let (ok, detail) = layout_of_database(&mut client);
    assert!(!ok && detail.contains("widths 5, 5 and 12 bits"), "{detail}");

    publisher.restart(&[BITS]);
    assert!(!layout_of_database(&mut publisher.connect()).0);
    publisher.run("SELECT snowflake_confirm('layout')");
    assert!(layout_of_database(&mut publisher.connect()).0);
    eventually("the change arrives", || layout_of_database(&mut client).0);
    publisher.run("INSERT INTO orders DEFAULT VALUES");
    eventually("rows arrive", || bigint(&mut client, "SELECT count(*) FROM orders") == 1);

    assert_eq!(bigint(&mut client, LAYOUTS), 2);
    let dump = output(
        subscriber.client_program("pg_dump").args(["--no-publications", "--no-subscriptions"]),
    );
    assert_eq!(dump.matches("\t5\t5\t13\n").count(), 2);
    client.run("CREATE DATABASE restored");
    let file = tempfile::NamedTempFile::new().expect("a file");
    std::fs::write(file.path(), dump).expect("a file");
    let mut psql = subscriber.client_program("psql");
    let options = ["-Xq", "-v", "ON_ERROR_STOP=1", "-d", "restored", "-f"];
    output(psql.args(options).arg(file.path()));
    assert_eq!(bigint(&mut subscriber.connect_to("restored"), LAYOUTS), 1);
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
    error_of(client.batch_execute(
        "INSERT INTO snowflake_internal.snowflake_layout VALUES ('2015-01-01+00', 5, 5, 13)",
    ));
    // Preloaded, and with another layout, before the first ID.
    cluster.restart(&[("shared_preload_libraries", "snowflake_pg"), EPOCH]);
    let mut client = cluster.connect();
    assert!(!layout_of_database(&mut client).0);
    let confirmed = "SELECT snowflake_confirm('layout')::int::bigint";
    assert_eq!(bigint(&mut client, confirmed), 1);
    assert!(layout_of_database(&mut client).0);
    assert_eq!(bigint(&mut client, confirmed), 0);
}
