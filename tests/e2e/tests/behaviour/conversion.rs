//! Conversions beside other sessions, and of many tables. What one session sees is in
//! `tests/scenarios/conversion`.

use std::time::{Duration, Instant};

use postgres::error::SqlState;
use postgres::{Client, Error, Row};
use snowflake_e2e::{Cluster, Run, at_once, bigint, dump_text, error_of, eventually, values};

const CONVERT: &str = "SELECT count(*) FROM snowflake_convert('one', 'id', dry_run => false)";

/// Two tables that refer to each other.
fn ring() -> Cluster {
    let cluster = Cluster::start();
    let ring = "CREATE TABLE one (id serial PRIMARY KEY, two integer);
        CREATE TABLE two (id serial PRIMARY KEY, one integer REFERENCES one);
        ALTER TABLE one ADD FOREIGN KEY (two) REFERENCES two";
    cluster.run(ring);
    cluster
}

/// With locks in the order of the statements, which begins elsewhere for each of the keys, two
/// conversions would wait for each other.
#[test]
fn conversions_from_both_ends_of_a_cycle_do_not_deadlock() {
    let cluster = ring();
    at_once(2, |session| {
        let mut client = cluster.connect();
        let convert = CONVERT.replace("one", ["one", "two"][session]);
        (0..50).for_each(|_| client.run(&format!("BEGIN; {convert}; ROLLBACK")));
    });
}

/// A conversion that waits has changed nothing, and waits no longer than lock_timeout says.
#[test]
fn all_tables_are_locked_before_the_first_statement() {
    let cluster = ring();
    let mut reader = cluster.connect();
    reader.run("BEGIN; SELECT FROM two");
    let mut client = cluster.connect();
    client.run("SET lock_timeout = '200ms'");
    assert_eq!(error_of(client.query(CONVERT, &[])).code(), &SqlState::LOCK_NOT_AVAILABLE);

    let narrow =
        "SELECT count(*) FROM pg_attribute WHERE attrelid IN ('one'::regclass, 'two'::regclass)
        AND atttypid = 'integer'::regtype";
    let conversion = behind(&cluster, "two", CONVERT, || {
        // A SELECT plans with the columns of the tables as they are.
        assert_eq!(bigint(&mut cluster.connect(), narrow), 4);
        reader.run("COMMIT");
    });
    assert_eq!(conversion.expect("a conversion").get::<_, i64>(0), 5);
    assert_eq!(bigint(&mut client, narrow), 2);
}

/// A conversion that waits for a table, until others end what it waits for.
fn behind(cluster: &Cluster, table: &str, convert: &str, end: impl FnOnce()) -> Result<Row, Error> {
    std::thread::scope(|scope| {
        let conversion = scope.spawn(|| cluster.connect().query_one(convert, &[]));
        let mut other = cluster.connect();
        let waits = format!(
            "SELECT count(*) FROM pg_locks WHERE NOT granted AND relation = '{table}'::regclass"
        );
        eventually("it waits", || bigint(&mut other, &waits) == 1);
        end();
        conversion.join().expect("a session")
    })
}

/// The largest key, and what refers to the key, are those of the time at which nobody else can
/// change them any more.
#[test]
fn what_was_committed_while_a_conversion_waited_is_seen() {
    let wide = "ALTER TABLE one ALTER id TYPE bigint";
    let largest = "9223372036854775807";
    for (before, change, code, detail) in [
        (wide, "INSERT INTO one VALUES (9223372036854775807)", "55000", largest),
        ("", "CREATE TABLE three (one integer REFERENCES one)", "40001", ""),
    ] {
        let cluster = ring();
        let mut writer = cluster.connect();
        writer.run(before);
        writer.run(&format!("BEGIN; {change}"));
        let error = error_of(behind(&cluster, "one", CONVERT, || writer.run("COMMIT")));
        assert_eq!(error.code().code(), code, "{error}");
        assert!(error.detail().unwrap_or_default().contains(detail), "{error:?}");
        if code == "40001" {
            assert_eq!(bigint(&mut writer, CONVERT), 6);
        }
    }
}

/// Of a schema, the other keys are converted.
#[test]
fn a_table_that_is_dropped_while_a_conversion_waits_is_not_there() {
    for (arguments, converted) in [("schema => 'public'", Some(1)), ("'one'", None)] {
        let cluster = ring();
        let mut other = cluster.connect();
        other.run("BEGIN; DROP TABLE one CASCADE");
        let convert =
            "SELECT count(*) FROM snowflake_convert(?, dry_run => false) WHERE step = 'convert'";
        let convert = convert.replace('?', arguments);
        match (behind(&cluster, "one", &convert, || other.run("COMMIT")), converted) {
            (Ok(row), Some(count)) => assert_eq!(row.get::<_, i64>(0), count),
            (outcome, None) => {
                assert_eq!(error_of(outcome).code(), &SqlState::UNDEFINED_TABLE);
            }
            (Err(error), Some(_)) => panic!("{error}"),
        }
    }
}

/// Bigint keys are as they were before: defaults, sequences, their owners and privileges. Identities
/// are new ones, with their kind and options.
#[test]
fn a_dump_is_the_same_after_there_and_back() {
    let cluster = Cluster::start();
    let mut client = cluster.connect();
    let schema = "CREATE ROLE shop; CREATE ROLE clerk; CREATE SCHEMA shop AUTHORIZATION shop; SET ROLE shop;
        CREATE TABLE shop.orders (id bigserial PRIMARY KEY, item text);
        CREATE TABLE shop.lines (id bigint GENERATED BY DEFAULT AS IDENTITY (START 7 INCREMENT 3),
            order_id bigint REFERENCES shop.orders, PRIMARY KEY (id));
        CREATE TABLE shop.logs (id bigserial, day date, PRIMARY KEY (id, day)) PARTITION BY RANGE (day);
        CREATE TABLE shop.logs_26 PARTITION OF shop.logs FOR VALUES FROM ('2026-01-01') TO ('2027-01-01');
        GRANT USAGE ON SEQUENCE shop.orders_id_seq TO clerk;
        COMMENT ON SEQUENCE shop.orders_id_seq IS 'numbers';
        CREATE VIEW shop.items AS SELECT id, item FROM shop.orders; RESET ROLE;
        INSERT INTO shop.orders (item) VALUES ('book'); INSERT INTO shop.lines (order_id) VALUES (1), (1);";
    client.run(schema);
    let dump = || dump_text(&cluster, &["--schema=shop"]);
    let before = dump();
    let convert = "SELECT statement FROM
        snowflake_convert(schema => 'shop', dry_run => false) WITH ORDINALITY AS s (step, statement, number)
        WHERE step = 'revert' ORDER BY number";
    let back: Vec<String> = values(&mut client, convert);
    assert_ne!(dump(), before);
    client.run("SET ROLE shop");
    back.iter().for_each(|statement| client.run(statement));
    assert_eq!(dump(), before);
}

/// A schema of this many tables, each of which refers to the one before, and to the first.
fn chain(client: &mut Client, schema: &str, tables: usize) {
    let first = format!("CREATE SCHEMA {schema}; CREATE TABLE {schema}.t0 (id serial PRIMARY KEY)");
    client.run(&first);
    // One transaction for each has few locks at a time.
    let others = format!(
        "DO $do$ BEGIN FOR n IN 1..{tables} - 1 LOOP
             EXECUTE format('CREATE TABLE {schema}.t%s (id serial PRIMARY KEY,
                 last integer REFERENCES {schema}.t%s, first integer REFERENCES {schema}.t%s)', n, n - 1, n / 10);
             COMMIT;
         END LOOP; END $do$"
    );
    client.run(&others);
}

/// How long a conversion takes, and how long its statements take without it.
fn times(client: &mut Client, schema: &str) -> [Duration; 2] {
    let dry_run = format!(
        "SELECT statement FROM
         snowflake_convert(schema => '{schema}') WITH ORDINALITY AS s (step, statement, number)
         WHERE step = 'convert' ORDER BY number"
    );
    let script: Vec<String> = values(client, &dry_run);
    let by_hand = timed(client, &script.join("\n"));
    let convert =
        format!("SELECT count(*) FROM snowflake_convert(schema => '{schema}', dry_run => false)");
    [timed(client, &convert), by_hand]
}

fn timed(client: &mut Client, script: &str) -> Duration {
    let start = Instant::now();
    client.run(&format!("BEGIN; {script}; ROLLBACK"));
    start.elapsed()
}

/// SNOWFLAKE_CONVERT_TABLES adds a size, for figures.
#[test]
fn a_schema_of_many_tables_takes_little_longer_than_its_statements() {
    let cluster = Cluster::builder().set("max_locks_per_transaction", "2000").start();
    let mut client = cluster.connect();
    let more =
        std::env::var("SNOWFLAKE_CONVERT_TABLES").map(|more| more.parse().expect("a number"));
    let mut rates = Vec::new();
    for tables in [150, 600].into_iter().chain(more) {
        let schema = format!("of_{tables}");
        chain(&mut client, &schema, tables);
        let [whole, by_hand] = times(&mut client, &schema);
        println!("{tables} tables: {whole:.2?}, and {by_hand:.2?} for the statements alone");
        assert!(whole < 4 * by_hand, "{tables} tables: {whole:?} against {by_hand:?}");
        rates.push(whole / tables as u32);
    }
    assert!(rates[1] < 3 * rates[0], "the time for a table grows: {rates:?}");
    println!("the time for a table: {rates:.2?}");
}

/// Locks are those of the statements. Where the lock table does not hold them, PostgreSQL says so.
#[test]
fn a_schema_with_more_tables_than_locks_is_refused_by_postgresql() {
    let cluster = Cluster::builder()
        .set("max_locks_per_transaction", "10")
        .set("max_connections", "10")
        .start();
    let mut client = cluster.connect();
    chain(&mut client, "much", 800);
    let convert = "SELECT count(*) FROM snowflake_convert(schema => 'much', dry_run => false)";
    assert_eq!(error_of(client.query(convert, &[])).code(), &SqlState::OUT_OF_MEMORY);
    let locks = "SELECT count(*) FROM pg_locks
        WHERE pid = pg_backend_pid() AND relation >= 16384 AND database <> 0";
    assert_eq!(bigint(&mut client, locks), 0);
}

/// The owner of the schema waits until the dry run has the name of the table and waits for it, and then
/// puts a view in its place. It is not read: its function would run as the owner of the table.
#[test]
fn a_view_in_the_place_of_a_table_is_not_read() {
    let cluster = Cluster::start();
    let mut client = cluster.connect();
    client.run(
        "CREATE ROLE mallory LOGIN; CREATE ROLE shop LOGIN;
         CREATE SCHEMA theirs AUTHORIZATION mallory; CREATE SEQUENCE calls;
         GRANT ALL ON SEQUENCE calls TO PUBLIC; CREATE TABLE theirs.orders (id bigserial PRIMARY KEY);
         ALTER TABLE theirs.orders OWNER TO shop; GRANT UPDATE ON theirs.orders TO mallory;
         GRANT ALL ON SCHEMA theirs TO shop;
         GRANT CREATE ON DATABASE postgres TO mallory",
    );
    let waiting = "SELECT count(*) FROM pg_locks WHERE NOT granted";
    // How often the dry run opens the table before it reads it is not known.
    for opened in 0..5 {
        let lock = "BEGIN; LOCK TABLE theirs.orders";
        let mut first = cluster.connect_as("mallory", "postgres");
        let mut second = cluster.connect_as("mallory", "postgres");
        first.run(lock);
        std::thread::scope(|scope| {
            let dry_run = scope.spawn(|| {
                let query = "SELECT count(*) FROM snowflake_convert('theirs.orders')";
                // It might be what ends a deadlock.
                let _ = cluster.connect().query(query, &[]);
            });
            let waits = |client: &mut Client, for_lock: i64| {
                eventually("it waits", || {
                    dry_run.is_finished() || bigint(client, waiting) == for_lock
                });
            };
            waits(&mut client, 1);
            for _ in 0..opened {
                // Who holds the lock lets the dry run have it, and the next one is behind it.
                let mut next = std::mem::replace(&mut first, cluster.connect());
                let locks = scope.spawn(move || {
                    second.run(lock);
                    second
                });
                waits(&mut client, 2);
                next.run("COMMIT");
                first = locks.join().expect("a session");
                second = next;
                waits(&mut client, 1);
            }
            let _ = first.batch_execute(
                "ALTER SCHEMA theirs RENAME TO former; CREATE SCHEMA theirs;
                 CREATE FUNCTION theirs.id() RETURNS bigint LANGUAGE sql
                     AS $$ SELECT nextval('public.calls') $$;
                 CREATE VIEW theirs.orders AS SELECT theirs.id() AS id;
                 GRANT ALL ON SCHEMA theirs TO PUBLIC; GRANT ALL ON theirs.orders TO PUBLIC; COMMIT",
            );
            drop((first, second));
            dry_run.join().expect("a session");
        });
        let called = "SELECT count(*) FROM calls WHERE is_called";
        assert_eq!(bigint(&mut client, called), 0, "opened {opened} times");
        let _ = client.batch_execute(
            "DO $$ BEGIN IF to_regnamespace('former') IS NOT NULL THEN
                 DROP SCHEMA theirs CASCADE; ALTER SCHEMA former RENAME TO theirs;
             END IF; END $$",
        );
    }
}
