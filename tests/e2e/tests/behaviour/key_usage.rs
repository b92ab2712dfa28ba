//! `snowflake_key_usage`: which key ends first, for somebody who has no snowflake IDs.

use postgres::{Client, NoTls};
use snowflake_e2e::{Cluster, bigint, eventually};

/// A server on which nothing is preloaded.
fn plain() -> Cluster {
    Cluster::builder().with_conversion().unset("shared_preload_libraries").start()
}

/// Column, sequence, last value, limit, part in thousandths, and whether it was read.
type Row = (String, String, Option<i64>, i64, Option<i64>, bool);

fn usage(client: &mut Client) -> Vec<Row> {
    let query = "SELECT concat_ws('.', schema_name, table_name, column_name), sequence, last_value, key_limit,
                        round(1000 * part_used)::bigint, readable
                 FROM snowflake_key_usage";
    let rows = client.query(query, &[]).unwrap_or_else(|error| panic!("{error:?}"));
    rows.iter()
        .map(|row| (row.get(0), row.get(1), row.get(2), row.get(3), row.get(4), row.get(5)))
        .collect()
}

fn session(cluster: &Cluster, role: &str) -> Client {
    cluster.config().user(role).connect(NoTls).expect("a session")
}

const INTEGER: i64 = i32::MAX as i64;
const BIGINT: i64 = i64::MAX;

/// What makes tables, and the rows for them: the column, the last value, the limit, and the part.
type Case = (&'static str, &'static [(&'static str, Option<i64>, i64, i64)]);

const CASES: [Case; 14] = [
    (
        "CREATE TABLE t (id serial); SELECT setval('t_id_seq', 1932735283)",
        &[("public.t.id", Some(1_932_735_283), INTEGER, 900)],
    ),
    ("CREATE TABLE t (id serial)", &[("public.t.id", None, INTEGER, 0)]),
    (
        "CREATE TABLE t (id int GENERATED ALWAYS AS IDENTITY); SELECT setval('t_id_seq', 214748365)",
        &[("public.t.id", Some(214_748_365), INTEGER, 100)],
    ),
    // The sequence holds more than the column.
    (
        "CREATE SEQUENCE s; CREATE TABLE t (id smallint DEFAULT nextval('s')); SELECT setval('s', 16384)",
        &[("public.t.id", Some(16_384), 32_767, 500)],
    ),
    // A column that refers to it, by another one, holds less.
    (
        "CREATE TABLE t (id bigserial PRIMARY KEY); CREATE TABLE u (id bigint PRIMARY KEY REFERENCES t);
         CREATE TABLE v (u integer REFERENCES u); SELECT setval('t_id_seq', 1073741824)",
        &[("public.t.id", Some(1_073_741_824), INTEGER, 500)],
    ),
    (
        "CREATE TABLE t (id bigserial); SELECT setval('t_id_seq', 2305843009213693952)",
        &[("public.t.id", Some(2_305_843_009_213_693_952), BIGINT, 250)],
    ),
    (
        "CREATE TABLE t (id bigserial); ALTER SEQUENCE t_id_seq MAXVALUE 1000; SELECT setval('t_id_seq', 10)",
        &[("public.t.id", Some(10), 1000, 10)],
    ),
    // Downwards, and from the smallest value on.
    (
        "CREATE SEQUENCE s INCREMENT -1; CREATE TABLE t (id int DEFAULT nextval('s'));
         SELECT setval('s', -1073741824)",
        &[("public.t.id", Some(-1_073_741_824), -2_147_483_648, 500)],
    ),
    (
        "CREATE TABLE t (id serial); ALTER SEQUENCE t_id_seq MINVALUE -2147483648 RESTART -2147483648;
         SELECT setval('t_id_seq', -1)",
        &[("public.t.id", Some(-1), INTEGER, 500)],
    ),
    (
        "CREATE DOMAIN d AS integer; CREATE DOMAIN e AS d; CREATE SEQUENCE s;
         CREATE TABLE t (id e DEFAULT nextval('s')); SELECT setval('s', 214748365)",
        &[("public.t.id", Some(214_748_365), INTEGER, 100)],
    ),
    // Partitions are one key with their table, unless they have a sequence of their own.
    (
        "CREATE TABLE t (id serial, day int) PARTITION BY LIST (day);
         CREATE TABLE p PARTITION OF t FOR VALUES IN (1); CREATE TABLE q PARTITION OF t FOR VALUES IN (2);
         CREATE SEQUENCE s; ALTER TABLE q ALTER id SET DEFAULT nextval('s')",
        &[("public.q.id", None, INTEGER, 0), ("public.t.id", None, INTEGER, 0)],
    ),
    // Two columns that share a sequence, of which one calls it within an expression.
    (
        "CREATE SEQUENCE s; CREATE TABLE t (a int DEFAULT nextval('s'), b text DEFAULT 'x' || nextval('s'));
         SELECT setval('s', 214748365)",
        &[
            ("public.t.a", Some(214_748_365), INTEGER, 100),
            ("public.t.b", Some(214_748_365), BIGINT, 0),
        ],
    ),
    // The application calls nextval() itself.
    (
        "CREATE TABLE t (id serial); ALTER TABLE t ALTER id DROP DEFAULT",
        &[("public.t.id", None, INTEGER, 0)],
    ),
    // It owns the sequence, and takes nothing of it.
    ("CREATE TABLE t (id bigserial); ALTER TABLE t ALTER id SET DEFAULT snowflake_nextval()", &[]),
];

#[test]
fn the_nearest_limit_counts() {
    let cluster = plain();
    let mut client = cluster.connect();
    for (tables, expected) in CASES {
        client.batch_execute(&format!("BEGIN; {tables}")).expect(tables);
        let found: Vec<_> = usage(&mut client)
            .into_iter()
            .map(|(column, _, last, limit, part, readable)| {
                assert!(readable, "{tables}");
                (column, last, limit, part.expect("a part"))
            })
            .collect();
        let expected: Vec<_> = expected
            .iter()
            .map(|(column, last, limit, part)| (column.to_string(), *last, *limit, *part))
            .collect();
        assert_eq!(found, expected, "{tables}");
        client.batch_execute("ROLLBACK").expect("rolled back");
    }
}

/// These are more than the lock table has room for by default.
#[test]
fn thousands_of_sequences_leave_no_locks() {
    let cluster = plain();
    let mut client = cluster.connect();
    let sequences = "DO $$ BEGIN FOR n IN 1..8000 LOOP
            EXECUTE format('CREATE SEQUENCE s%s', n);
            IF n % 100 = 0 THEN COMMIT; END IF;
        END LOOP; END $$";
    let tables = "DO $$ BEGIN FOR n IN 0..7 LOOP
            EXECUTE format('CREATE TABLE t%s (%s)', n, (
                SELECT string_agg(format('c%s bigint DEFAULT nextval(''s%s'')', m, 1000 * n + m), ', ')
                FROM generate_series(1, 1000) AS m));
        END LOOP; END $$";
    client.batch_execute(sequences).expect("sequences");
    client.batch_execute(tables).expect("tables");
    for level in ["READ COMMITTED", "SERIALIZABLE"] {
        client.batch_execute(&format!("BEGIN ISOLATION LEVEL {level}")).expect("a transaction");
        let read = "SELECT count(*) FROM snowflake_key_usage WHERE readable";
        assert_eq!(bigint(&mut client, read), 8000, "{level}");
        let locks = "SELECT count(*) FROM pg_locks JOIN pg_class AS c ON c.oid = relation
            WHERE pid = pg_backend_pid() AND relkind = 'S'";
        assert_eq!(bigint(&mut client, locks), 0, "{level}");
        client.batch_execute("COMMIT").expect("committed");
    }
}

#[test]
fn what_could_not_be_read_is_said() {
    let cluster = plain();
    let mut client = cluster.connect();
    client
        .batch_execute(
            "CREATE ROLE watcher LOGIN IN ROLE pg_monitor; CREATE ROLE other LOGIN; CREATE ROLE user_of LOGIN;
             CREATE SCHEMA hidden; CREATE TABLE hidden.t (id serial); INSERT INTO hidden.t DEFAULT VALUES;
             GRANT USAGE ON SCHEMA hidden TO user_of; GRANT USAGE ON SEQUENCE hidden.t_id_seq TO user_of;",
        )
        .expect("a table");
    for (role, expected) in [("watcher", true), ("other", false), ("user_of", true)] {
        let rows = usage(&mut session(&cluster, role));
        let [(_, _, last, _, part, readable)] = rows[..] else { panic!("{rows:?}") };
        let seen = (last.is_some(), part.is_some(), readable);
        assert_eq!(seen, (expected, expected, expected), "{role}");
    }
    // It does not wait for a transaction that changes the sequence.
    client.batch_execute("BEGIN; LOCK TABLE hidden.t; DROP TABLE hidden.t").expect("dropped");
    let mut watcher = session(&cluster, "watcher");
    watcher.batch_execute("SET statement_timeout = '60s'").expect("set");
    let rows = usage(&mut watcher);
    assert_eq!(rows.iter().map(|row| row.5).collect::<Vec<_>>(), [false], "{rows:?}");
    client.batch_execute("COMMIT").expect("committed");
    assert_eq!(usage(&mut watcher), []);
}

#[test]
fn a_standby_says_the_same_but_of_unlogged_sequences() {
    let primary = Cluster::start_with_conversion();
    let mut client = primary.connect();
    client
        .batch_execute(
            "CREATE TABLE t (id serial); INSERT INTO t DEFAULT VALUES;
             CREATE UNLOGGED TABLE u (id int GENERATED ALWAYS AS IDENTITY); INSERT INTO u DEFAULT VALUES",
        )
        .expect("tables");
    let unlogged =
        "SELECT count(*) FROM pg_class WHERE relname = 'u_id_seq' AND relpersistence = 'u'";
    let is_unlogged = bigint(&mut client, unlogged) == 1;
    let standby = primary.standby();
    let mut reader = standby.connect();
    eventually("the tables reach the standby", || {
        bigint(&mut reader, "SELECT count(*) FROM pg_class WHERE relname IN ('t', 'u')") == 2
    });
    let rows = usage(&mut reader);
    let read: Vec<bool> = rows.iter().map(|row| row.5).collect();
    assert_eq!(read, [true, !is_unlogged], "{rows:?}");
}

/// The report of a conversion says what is used to a half or more.
#[test]
fn a_report_names_keys_that_run_out() {
    let cluster = plain();
    let mut client = cluster.connect();
    client
        .batch_execute(
            "CREATE TABLE t (id serial PRIMARY KEY); SELECT setval('t_id_seq', 2040109465);
             CREATE TABLE u (id serial PRIMARY KEY); SELECT setval('u_id_seq', 1000000000);
             CREATE TABLE v (id bigserial PRIMARY KEY); CREATE TABLE w (v int REFERENCES v);
             SELECT setval('v_id_seq', 1073741824);",
        )
        .expect("tables");
    let named = |client: &mut Client, arguments: &str| -> Vec<(String, String)> {
        let query = format!(
            "SELECT object, reason FROM snowflake_convert_report({arguments}) WHERE reason ~ 'keys are used'"
        );
        let rows = client.query(&query, &[]).expect("a report");
        rows.iter().map(|row| (row.get(0), row.get(1))).collect()
    };
    let used = |column: &str, part: &str, last: &str, limit: &str| {
        let reason = format!(
            "{part} % of its keys are used: the last one is {last}, and the limit of {limit} is 2147483647."
        );
        (column.to_owned(), reason)
    };
    let t = used("public.t.id", "95.0", "2040109465", "type integer");
    let v = used("public.v.id", "50.0", "1073741824", "public.w.v");
    assert_eq!(named(&mut client, "schema => 'public'"), [t.clone(), v]);
    assert_eq!(named(&mut client, "'t', 'id'"), [t]);
    assert_eq!(named(&mut client, "'u'"), []);
}
