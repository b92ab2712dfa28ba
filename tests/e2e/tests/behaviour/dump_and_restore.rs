//! Objects that use the extension survive pg_dump and pg_restore.

use postgres::Client;
use snowflake_e2e::{
    Cluster, Dump, INSERT, NEXT, Programs, Run, bigint, dump_and_restore, explain, new_directory,
    refusal, value,
};
use snowflake_repository::page;

#[test]
fn decoding_in_the_schema_survives() {
    let cluster = Cluster::start();
    cluster.run(
        "CREATE TABLE events (
             id bigint PRIMARY KEY DEFAULT snowflake_nextval() CHECK (snowflake_within(id, '2020-01-01+00', 'infinity')),
             created_at timestamptz GENERATED ALWAYS AS (snowflake_timestamp(id)) STORED,
             code text COLLATE \"C\" GENERATED ALWAYS AS (snowflake_to_base62(id)) STORED
         );
         CREATE INDEX by_time ON events (snowflake_timestamp(id));
         CREATE INDEX by_time_brin ON events USING brin (snowflake_timestamp(id));
         CREATE VIEW seen AS SELECT id, snowflake_json(id) AS parts FROM events WHERE snowflake_within(id, '2020-01-01+00', now());
         INSERT INTO events SELECT snowflake_nextval(10000);
         CREATE TABLE parted (id bigint PRIMARY KEY DEFAULT snowflake_nextval()) PARTITION BY RANGE (id);
         CREATE TABLE parted_2026 PARTITION OF parted
             FOR VALUES FROM (snowflake_min('2026-01-01+00')) TO (snowflake_min('2027-01-01+00'));
         CREATE TABLE refers (id bigint REFERENCES parted);",
    );
    dump_and_restore(&cluster, "postgres", "restored");
    let mut restored = cluster.connect_to("restored");
    assert_eq!(bigint(&mut restored, "SELECT count(*) FROM seen"), 10_000);
    let wrong = "SELECT count(*) FROM events WHERE created_at <> snowflake_timestamp(id) OR snowflake_from_base62(code) <> id";
    assert_eq!(bigint(&mut restored, wrong), 0);
    restored.run("SET enable_seqscan = off");
    for (index, prepare) in [
        ("by_time", "SET enable_bitmapscan = off"),
        ("by_time_brin", "DROP INDEX by_time; SET enable_bitmapscan = on"),
    ] {
        restored.run(prepare);
        let query = "SELECT count(*) FROM events WHERE snowflake_timestamp(id) >= '2020-01-01+00'";
        let plan = explain(&mut restored, query);
        assert!(plan.split_whitespace().any(|word| word == index), "{plan}");
        assert_eq!(bigint(&mut restored, query), 10_000);
    }
}

/// A database whose extension is in a schema of its own, with tables and a column that use it, and
/// as many rows.
const ROWS: i64 = 1000;
const IN_ANOTHER_SCHEMA: &str = "
    CREATE SCHEMA tools;
    CREATE EXTENSION snowflake SCHEMA tools;
    CREATE TABLE orders (
        id bigint PRIMARY KEY DEFAULT tools.snowflake_nextval(),
        created_at timestamptz GENERATED ALWAYS AS (tools.snowflake_timestamp(id)) STORED,
        item text
    );
    CREATE INDEX ON orders (tools.snowflake_timestamp(id));
    CREATE TABLE visits (
        id bigint PRIMARY KEY DEFAULT tools.snowflake_nextval(),
        order_id bigint REFERENCES orders
    );
    INSERT INTO orders (item) SELECT 'item' FROM generate_series(1, 1000);
    INSERT INTO visits (order_id) SELECT id FROM orders";

/// A cluster with the database `source`, whose extension is in a schema of its own.
fn source() -> Cluster {
    let cluster = Cluster::start();
    cluster.create_database("postgres", "source").run(IN_ANOTHER_SCHEMA);
    cluster
}

/// The rows are there, and the next IDs are greater than theirs.
#[track_caller]
fn assert_goes_on(client: &mut Client) {
    let count = "SELECT count(*) FROM orders JOIN visits ON order_id = orders.id
        WHERE created_at = tools.snowflake_timestamp(orders.id)";
    assert_eq!(bigint(client, count), ROWS);
    let newest = bigint(client, "SELECT max(id) FROM visits");
    let order = bigint(client, INSERT);
    let visit = bigint(client, "INSERT INTO visits DEFAULT VALUES RETURNING id");
    assert!(newest < order && order < visit, "{newest}, {order}, {visit}");
}

/// With the extension in a schema of its own, in each format, and with the schema and the data
/// apart.
#[test]
fn every_format_restores_what_uses_the_extension_in_another_schema() {
    let cluster = source();
    for format in ["plain", "custom", "directory"] {
        for parts in [&[&[][..]][..], &[&["--schema-only"], &["--data-only"]]] {
            let database = format!("{format}_{}", parts.len());
            let mut client = cluster.create_database("postgres", &database);
            for part in parts {
                let stop = match format {
                    "plain" => "--set=ON_ERROR_STOP=1",
                    _ => "--exit-on-error",
                };
                let dump = Dump::of(&cluster, "postgres", "source", format, part);
                dump.restore(&cluster, "postgres", &database, &[stop]).expect("restored");
            }
            assert_goes_on(&mut client);
        }
    }
}

/// A server that does not preload the library restores everything, decodes, and gives no IDs. Once
/// it preloads the library, it does. Where the extension is not installed, the first error of
/// pg_restore says so, and the tables that use it are missing.
#[test]
fn a_server_restores_what_it_can() {
    let dump = Dump::of(&source(), "postgres", "source", "custom", &[]);
    let mut cluster = Cluster::builder().unset("shared_preload_libraries").start_bare();
    dump.restore(&cluster, "postgres", "postgres", &["--exit-on-error"]).expect("restored");
    let mut client = cluster.connect();
    assert_eq!(bigint(&mut client, "SELECT count(*) FROM orders"), ROWS);
    let error = refusal(client.execute(INSERT, &[]));
    let message = "snowflake_pg must be loaded via \"shared_preload_libraries\" to generate IDs";
    assert_eq!(error.message(), message);
    cluster.restart_with(&[("shared_preload_libraries", "snowflake_pg")]);
    assert_goes_on(&mut cluster.connect());

    let directory = new_directory();
    let programs = Programs::from_env().without_the_extension(directory.path());
    let cluster =
        Cluster::builder().programs(programs).unset("shared_preload_libraries").start_bare();
    let said = dump.restore(&cluster, "postgres", "postgres", &[]).expect_err("errors");
    let first = said.lines().next().expect("errors");
    assert!(first.ends_with("ERROR:  extension \"snowflake\" is not available"), "{said}");
    let tables = "SELECT count(*) FROM pg_class WHERE relname IN ('orders', 'visits')";
    assert_eq!(cluster.bigint(tables), 0);
}

/// A server that does not know the floor would issue IDs again that ran ahead of the clock. The
/// documented query finds them, of its own identity alone, and by the index.
#[test]
fn restored_keys_ahead_of_the_clock_are_found_and_passed() {
    let old = Cluster::builder().fake_clock().start();
    let mut client = old.connect();
    client.run(
        "CREATE TABLE orders (id bigint PRIMARY KEY DEFAULT snowflake_nextval(), item text);
         INSERT INTO orders (item) SELECT 'book' FROM generate_series(1, 10000);",
    );
    old.set_clock("+2h");
    client.run(
        "INSERT INTO orders (item) SELECT 'book' FROM generate_series(1, 100);
         INSERT INTO orders VALUES (snowflake_make(now() + interval '3 hours', 7, 9, 0));",
    );
    let newest = bigint(&mut client, "SELECT max(id) FROM orders WHERE item IS NOT NULL");
    let dump = Dump::of(&old, "postgres", "postgres", "custom", &[]);

    let new = Cluster::start();
    let mut client = new.create_database("postgres", "restored");
    dump.restore(&new, "postgres", "restored", &["--exit-on-error"]).expect("restored");
    let page = page("docs/operations.md");
    let query = page.block("SELECT max(snowflake_timestamp(o.id))");
    let latest = format!("SELECT max::text FROM ({}) AS latest", query.replace(';', ""));
    let time_of_newest = format!("SELECT snowflake_timestamp({newest})::text");
    let expected: String = value(&mut client, &time_of_newest);
    client.run("ANALYZE orders");
    let plan = explain(&mut client, query.trim());
    assert!(plan.contains("orders_pkey"), "{plan}");
    assert_eq!(value::<String>(&mut client, &latest), expected);
    // An ID from before the remedy is smaller.
    assert!(bigint(&mut client, NEXT) < newest);

    let remedy = page.block("SELECT snowflake_set_floor('");
    let given = remedy.split('\'').nth(1).expect("a time");
    client.run(&remedy.replace(given, &expected));
    assert!(bigint(&mut client, NEXT) > newest);
}
