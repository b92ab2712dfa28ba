//! COPY into tables whose keys are IDs of the default: what it costs, and what the keys are like,
//! wherever the rows come from and whatever the table has.

use std::fs;
use std::io::Write;

use postgres::Client;
use snowflake_e2e::{
    Cluster, Means, NEXT, assert_distinct, assert_increasing, bigint, bigints, lacks,
};

/// Sends rows to the server.
pub fn copy_in(client: &mut Client, statement: &str, rows: &[u8]) -> Result<u64, postgres::Error> {
    let mut writer = client.copy_in(statement)?;
    writer.write_all(rows).expect("sent");
    writer.finish()
}

/// How many rows each file has: more than COPY keeps for one insertion.
const ROWS: i64 = 2500;

/// A cluster, and a file of the numbers 1 to [`ROWS`] in each format.
struct Files(Cluster);

impl Files {
    fn new() -> (Files, Client) {
        let cluster = Cluster::builder().set("autovacuum", "off").start();
        let mut client = cluster.connect();
        let files = Files(cluster);
        for format in ["text", "csv", "binary"] {
            let path = files.path(format);
            client
                .batch_execute(&format!(
                    "COPY (SELECT number FROM generate_series(1::bigint, {ROWS}) AS number)
                     TO '{path}' (FORMAT {format})"
                ))
                .expect("a file");
        }
        (files, client)
    }

    fn path(&self, format: &str) -> String {
        self.0.directory().join(format).display().to_string()
    }

    /// COPY of the numbers in the text file into a column `number`.
    fn copy(&self, target: &str) -> String {
        format!("COPY {target} (number) FROM '{}'", self.path("text"))
    }
}

fn wal(client: &mut Client, statement: &str) -> f64 {
    const POSITION: &str = "SELECT (pg_current_wal_insert_lsn() - '0/0')::bigint";
    let before = bigint(client, POSITION);
    client.batch_execute(statement).expect(statement);
    (bigint(client, POSITION) - before) as f64
}

fn ids_by_number(client: &mut Client, table: &str) -> Vec<i64> {
    let ids = bigints(client, &format!("SELECT id FROM {table} ORDER BY number"));
    assert_eq!(ids.len(), ROWS as usize, "{table}");
    ids
}

/// The WAL shows whether COPY inserts many rows at a time: without it, 1.5 times as much is written.
#[test]
fn a_copy_writes_as_much_wal_as_with_keys_in_the_file() {
    let (files, mut client) = Files::new();
    let keyed = files.path("keyed");
    client
        .batch_execute(&format!(
            "CREATE TABLE keyed (id bigint PRIMARY KEY, number bigint);
             CREATE TABLE orders (id bigint PRIMARY KEY DEFAULT snowflake_nextval(), number bigint);
             CREATE TABLE inner_call (id bigint PRIMARY KEY DEFAULT 1 + snowflake_nextval(),
                number bigint);
             CREATE TABLE with_trigger (LIKE orders INCLUDING ALL);
             CREATE FUNCTION pass() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN new; END';
             CREATE TRIGGER pass BEFORE INSERT ON with_trigger
                FOR EACH ROW EXECUTE FUNCTION pass();
             COPY (SELECT snowflake_nextval(), number FROM generate_series(1, {ROWS}) AS number)
                TO '{keyed}'"
        ))
        .expect("tables");
    let free = wal(&mut client, &format!("COPY keyed FROM '{keyed}'"));
    for table in ["orders", "inner_call"] {
        let of_default = wal(&mut client, &files.copy(table));
        assert!(of_default <= 1.02 * free, "{table}: {of_default} bytes of WAL, {free} for free");
    }
    // A BEFORE trigger has PostgreSQL insert row by row, whatever the key: the figure can tell.
    let row_by_row = wal(&mut client, &files.copy("with_trigger"));
    assert!(row_by_row > 1.2 * free, "{row_by_row} bytes of WAL, {free} for free");
}

/// IDs have the order of the input.
#[test]
fn keys_are_in_the_order_of_the_input_from_each_source_in_each_format() {
    let (files, mut client) = Files::new();
    let table = "CREATE TABLE orders (id bigint PRIMARY KEY DEFAULT snowflake_nextval(),
                                      number bigint)";
    client.batch_execute(table).expect("a table");
    for format in ["text", "csv", "binary"] {
        let path = files.path(format);
        for source in ["file", "client", "program"] {
            let before = bigint(&mut client, NEXT);
            let copy = |from: &str| format!("COPY orders (number) FROM {from} (FORMAT {format})");
            match source {
                "client" => {
                    let bytes = fs::read(&path).expect("a file");
                    let sent = copy_in(&mut client, &copy("STDIN"), &bytes).expect("rows");
                    assert_eq!(sent, ROWS as u64);
                }
                "file" => client.batch_execute(&copy(&format!("'{path}'"))).expect("rows"),
                _ => client.batch_execute(&copy(&format!("PROGRAM 'cat {path}'"))).expect("rows"),
            }
            let ids = ids_by_number(&mut client, "orders");
            let after = bigint(&mut client, NEXT);
            assert_increasing(&[vec![before], ids, vec![after]].concat());
            client.batch_execute("TRUNCATE orders").expect("emptied");
        }
    }
}

/// Partitions get rows by the buffer, in an order of PostgreSQL's own, and so do AFTER triggers; the
/// keys have the order of the input all the same.
#[test]
fn keys_of_partitions_are_in_the_order_of_the_input() {
    let (files, mut client) = Files::new();
    client
        .batch_execute(
            "CREATE TABLE parts (id bigint DEFAULT snowflake_nextval(), number bigint)
                PARTITION BY HASH (number);
             CREATE TABLE parts_0 PARTITION OF parts FOR VALUES WITH (MODULUS 2, REMAINDER 0);
             CREATE TABLE parts_1 PARTITION OF parts FOR VALUES WITH (MODULUS 2, REMAINDER 1);
             CREATE TABLE events (place bigserial, id bigint, number bigint);
             CREATE FUNCTION note() RETURNS trigger LANGUAGE plpgsql AS
                'BEGIN INSERT INTO events (id, number) VALUES (new.id, new.number); RETURN NULL; END';
             CREATE TRIGGER note AFTER INSERT ON parts FOR EACH ROW EXECUTE FUNCTION note()",
        )
        .expect("tables");
    client.batch_execute(&files.copy("parts")).expect("rows");
    assert_increasing(&ids_by_number(&mut client, "parts"));
    assert_increasing(&ids_by_number(&mut client, "events"));
    let by_buffer = bigints(&mut client, "SELECT number FROM events ORDER BY place");
    assert!(!by_buffer.is_sorted(), "PostgreSQL fires AFTER triggers in the order of the input");
}

/// Triggers, conditions, generated columns, two keys, and a call within an expression.
#[test]
fn keys_are_distinct_whatever_the_table_has() {
    let (files, mut client) = Files::new();
    client
        .batch_execute(
            "CREATE TABLE orders (
                id bigint PRIMARY KEY DEFAULT snowflake_nextval(),
                other bigint UNIQUE DEFAULT snowflake_nextval(),
                name text UNIQUE DEFAULT 'order ' || snowflake_nextval(),
                number bigint,
                created timestamptz GENERATED ALWAYS AS (snowflake_timestamp(id)) STORED,
                CHECK (snowflake_nextval() > 0));
             CREATE TABLE log (id bigint DEFAULT snowflake_nextval(), of bigint);
             CREATE FUNCTION before() RETURNS trigger LANGUAGE plpgsql AS
                'BEGIN new.other := snowflake_nextval(); RETURN new; END';
             CREATE FUNCTION after() RETURNS trigger LANGUAGE plpgsql AS
                'BEGIN INSERT INTO log (of) VALUES (new.id), (new.other); RETURN NULL; END'",
        )
        .expect("tables");
    const ALL: &str = "SELECT id FROM orders UNION ALL SELECT other FROM orders
        UNION ALL SELECT substr(name, 7)::bigint FROM orders UNION ALL SELECT id FROM log";
    for (trigger, condition, kept) in [
        ("", "", ROWS),
        ("", "WHERE number % 2 = 0", ROWS / 2),
        ("", "WHERE snowflake_nextval() % 2 >= 0", ROWS),
        (
            "CREATE TRIGGER after AFTER INSERT ON orders FOR EACH ROW EXECUTE FUNCTION after()",
            "",
            ROWS,
        ),
        (
            "CREATE TRIGGER before BEFORE INSERT ON orders FOR EACH ROW EXECUTE FUNCTION before()",
            "",
            ROWS,
        ),
    ] {
        client.batch_execute(trigger).expect("a trigger");
        client.batch_execute(&format!("{} {condition}", files.copy("orders"))).expect("rows");
        let ids = bigints(&mut client, ALL);
        assert!(ids.len() as i64 >= 3 * kept, "{trigger} {condition}: {}", ids.len());
        assert_distinct(ids);
        let late = "SELECT count(*) FROM orders WHERE created <> snowflake_timestamp(id)";
        assert_eq!(bigint(&mut client, late), 0);
        let order = bigints(&mut client, "SELECT id FROM orders ORDER BY number");
        assert_increasing(&order);
        client.batch_execute("TRUNCATE orders, log").expect("emptied");
    }
}

/// A marker in the file asks for the default of one row.
#[test]
fn a_marker_in_the_file_takes_an_id() {
    if lacks(&[Means::PostgreSQL(16)]) {
        return;
    }
    let (_files, mut client) = Files::new();
    let table = "CREATE TABLE orders (id bigint PRIMARY KEY DEFAULT snowflake_nextval(),
                                      number bigint)";
    client.batch_execute(table).expect("a table");
    let lines: String = (0..ROWS)
        .map(
            |line| if line % 3 == 0 { format!("{line}\t{line}\n") } else { format!("-\t{line}\n") },
        )
        .collect();
    let copy = "COPY orders (id, number) FROM STDIN (DEFAULT '-')";
    copy_in(&mut client, copy, lines.as_bytes()).expect("rows");
    let ids = ids_by_number(&mut client, "orders");
    assert_distinct(ids.clone());
    let taken: Vec<i64> = ids.into_iter().filter(|id| *id > ROWS).collect();
    assert_increasing(&taken);
    assert_eq!(taken.len(), (ROWS - (ROWS + 2) / 3) as usize);
}
