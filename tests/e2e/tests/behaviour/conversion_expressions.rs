//! Expressions that do not stand the change of a key: they fail with the next ID, or call functions
//! that are there for integer only. Each is a finding of its own, and names what it is about.

use postgres::error::SqlState;
use snowflake_e2e::{Cluster, bigint, error_of};

const FUNCTIONS: &str = "
    CREATE FUNCTION small(int) RETURNS boolean LANGUAGE plpgsql IMMUTABLE AS
        'BEGIN RETURN $1 > 0; END';
    CREATE FUNCTION titled(int, text) RETURNS boolean LANGUAGE plpgsql IMMUTABLE AS
        'BEGIN RETURN true; END';
    CREATE FUNCTION hates(bigint) RETURNS boolean LANGUAGE plpgsql IMMUTABLE AS
        'BEGIN IF $1 > 1000 THEN RAISE ''too large''; END IF; RETURN true; END';";

struct Case {
    /// A table with the key, called one, and others.
    tables: &'static str,
    /// What the report says of which object.
    kind: &'static str,
    object: &'static str,
    says: &'static str,
    /// What ends the conversion, if anything does.
    error: Option<SqlState>,
    names: &'static str,
}

const CASES: [Case; 15] = [
    Case {
        tables: "CREATE TABLE one (id serial PRIMARY KEY) PARTITION BY HASH (id);
            CREATE TABLE two PARTITION OF one FOR VALUES WITH (MODULUS 1, REMAINDER 0);",
        kind: "obstacle",
        object: "public.one",
        says: "the partition key of public.one",
        error: Some(SqlState::DEPENDENT_OBJECTS_STILL_EXIST),
        names: "the partition key of public.one",
    },
    Case {
        tables: "CREATE TABLE one (id serial) PARTITION BY RANGE ((id / 1000));
            CREATE TABLE two PARTITION OF one DEFAULT;",
        kind: "obstacle",
        object: "public.one",
        says: "the partition key of public.one",
        error: Some(SqlState::DEPENDENT_OBJECTS_STILL_EXIST),
        names: "the partition key of public.one",
    },
    Case {
        tables: "CREATE TABLE one (id serial PRIMARY KEY CONSTRAINT tenfold CHECK (id * 10 > 0))",
        kind: "obstacle",
        object: "public.one",
        says: "check constraint tenfold: bigint out of range.",
        error: Some(SqlState::CHECK_VIOLATION),
        names: "check constraint tenfold: bigint out of range.",
    },
    Case {
        tables: "CREATE TABLE one (id serial PRIMARY KEY CONSTRAINT fits CHECK (small(id)))",
        kind: "obstacle",
        object: "public.one",
        says: "constraint fits on table public.one",
        error: Some(SqlState::DEPENDENT_OBJECTS_STILL_EXIST),
        names: "constraint fits on table public.one",
    },
    Case {
        tables: "CREATE TABLE one (
                id serial PRIMARY KEY, title text, CONSTRAINT fits CHECK (titled(id, title)))",
        kind: "obstacle",
        object: "public.one",
        says: "function public.titled(bigint, text) does not exist.",
        error: Some(SqlState::DEPENDENT_OBJECTS_STILL_EXIST),
        names: "constraint fits on table public.one",
    },
    Case {
        tables: "CREATE TYPE mood AS ENUM ('sad', 'glad');
            CREATE TABLE one (
                id serial PRIMARY KEY, mood mood, CONSTRAINT fits CHECK (mood <> 'sad' OR small(id)))",
        kind: "obstacle",
        object: "public.one",
        says: "function public.small(bigint) does not exist.",
        error: Some(SqlState::DEPENDENT_OBJECTS_STILL_EXIST),
        names: "constraint fits on table public.one",
    },
    Case {
        tables: "CREATE TABLE one (id serial PRIMARY KEY);
            CREATE TABLE two (one int REFERENCES one CONSTRAINT fits CHECK (small(one)))",
        kind: "obstacle",
        object: "public.two",
        says: "function public.small(bigint) does not exist.",
        error: Some(SqlState::DEPENDENT_OBJECTS_STILL_EXIST),
        names: "constraint fits on table public.two",
    },
    Case {
        tables: "CREATE TABLE one (id serial PRIMARY KEY, title text);
            CREATE INDEX fitting ON one (title, small(id));",
        kind: "obstacle",
        object: "public.one",
        says: "function public.small(bigint) does not exist.",
        error: Some(SqlState::DEPENDENT_OBJECTS_STILL_EXIST),
        names: "index public.fitting",
    },
    Case {
        tables: "CREATE TABLE one (id serial PRIMARY KEY, title text);
            CREATE INDEX fitting ON one (title) WHERE small(id) AND title <> '';",
        kind: "obstacle",
        object: "public.one",
        says: "function public.small(bigint) does not exist.",
        error: Some(SqlState::DEPENDENT_OBJECTS_STILL_EXIST),
        names: "index public.fitting",
    },
    Case {
        tables: "CREATE TABLE one (id serial PRIMARY KEY, title text);
            CREATE STATISTICS fitting ON title, (small(id)) FROM one;",
        kind: "obstacle",
        object: "public.one",
        says: "function public.small(bigint) does not exist.",
        error: Some(SqlState::DEPENDENT_OBJECTS_STILL_EXIST),
        names: "statistics object public.fitting",
    },
    Case {
        tables: "CREATE TABLE one (id serial PRIMARY KEY, title text);
            CREATE POLICY fitting ON one USING (tableoid > 0 AND EXISTS (SELECT WHERE small(one.id)));",
        kind: "obstacle",
        object: "public.one",
        says: "function public.small(bigint) does not exist.",
        error: Some(SqlState::DEPENDENT_OBJECTS_STILL_EXIST),
        names: "policy fitting on table public.one",
    },
    Case {
        tables: "CREATE TABLE one (id serial PRIMARY KEY);
            CREATE INDEX fitting ON one USING brin (id int4_minmax_multi_ops);",
        kind: "obstacle",
        object: "public.one",
        says: "Index public.fitting uses operator class int4_minmax_multi_ops of access method brin",
        error: Some(SqlState::DEPENDENT_OBJECTS_STILL_EXIST),
        names: "Index public.fitting",
    },
    Case {
        tables: "CREATE TABLE one (id serial PRIMARY KEY);
            CREATE TABLE two (title text, one int REFERENCES one);
            CREATE INDEX fitting ON two USING brin (title, one int4_bloom_ops);",
        kind: "obstacle",
        object: "public.two",
        says: "Index public.fitting uses operator class int4_bloom_ops of access method brin",
        error: Some(SqlState::DEPENDENT_OBJECTS_STILL_EXIST),
        names: "Index public.fitting",
    },
    Case {
        tables: "CREATE TABLE one (id serial PRIMARY KEY);
            CREATE TABLE two (one int REFERENCES one CONSTRAINT raises CHECK (one / 0 > 0));",
        kind: "risk",
        object: "public.two",
        says: "check constraint raises: division by zero.",
        error: None,
        names: "",
    },
    Case {
        tables: "CREATE TABLE one (id serial PRIMARY KEY CONSTRAINT small CHECK (hates(id)));",
        kind: "risk",
        object: "public.one",
        says: "check constraint small.",
        error: Some(SqlState::CHECK_VIOLATION),
        names: "check constraint small: too large.",
    },
];

#[test]
fn an_expression_that_stops_a_conversion_is_a_finding_and_an_error() {
    let cluster = Cluster::start_with_conversion();
    let mut client = cluster.connect();
    client.batch_execute(FUNCTIONS).expect("functions");
    for Case { tables, kind, object, says, error, names } in CASES {
        client.batch_execute(&format!("BEGIN; {tables}")).expect(tables);
        let report = "SELECT kind, object, reason FROM snowflake_convert_report('one')";
        let rows = client.query(report, &[]).unwrap_or_else(|e| panic!("{tables}: {e:?}"));
        let rows = rows.iter().map(|row| (row.get(0), row.get(1), row.get(2)));
        let rows: Vec<(String, String, String)> = rows.collect();
        let found = rows.iter().filter(|row| row.0 == kind && row.1 == object);
        let found = found.filter(|row| row.2.contains(says)).count();
        assert_eq!(found, 1, "{tables}: {rows:#?}");
        let convert = "SELECT snowflake_convert('one', dependents => 'recreate'";
        for way in ["rehearse => true", "dry_run => false"] {
            client.batch_execute("SAVEPOINT before").expect("a savepoint");
            let done = client.query(&format!("{convert}, {way})"), &[]);
            if let Some(sqlstate) = &error {
                let error = error_of(done);
                assert_eq!(error.code(), sqlstate, "{tables}: {error:?}");
                let text = format!("{} {}", error.message(), error.detail().unwrap_or_default());
                assert!(text.contains(names), "{tables}: {text}");
            } else {
                done.unwrap_or_else(|error| panic!("{tables}: {error:?}"));
            }
            client.batch_execute("ROLLBACK TO before").expect("rolled back");
        }
        client.batch_execute("ROLLBACK").expect("rolled back");
    }
}

/// New rows go into all of the partitions by turns.
#[test]
fn hash_partitions_need_no_others() {
    let cluster = Cluster::start_with_conversion();
    let mut client = cluster.connect();
    client
        .batch_execute(
            "CREATE TABLE one (id bigserial PRIMARY KEY) PARTITION BY HASH (id);
             CREATE TABLE two PARTITION OF one FOR VALUES WITH (MODULUS 1, REMAINDER 0);",
        )
        .expect("tables");
    let risks = "SELECT count(*) FROM snowflake_convert_report('one')
        WHERE kind = 'risk' AND reason ~ 'partition'";
    assert_eq!(bigint(&mut client, risks), 0);
    client
        .batch_execute(
            "SELECT snowflake_convert('one', dry_run => false); INSERT INTO one DEFAULT VALUES",
        )
        .expect("converted");
}

/// PostgreSQL reads a literal of an array of a domain by the checks of the domain, which are code of
/// a user, when it parses the text of an expression.
#[test]
fn a_report_reads_no_literal_of_a_user() {
    let cluster = Cluster::start_with_conversion();
    let mut client = cluster.connect();
    client
        .batch_execute(
            "CREATE SEQUENCE calls;
             CREATE FUNCTION called(int) RETURNS boolean LANGUAGE plpgsql AS
                 'BEGIN PERFORM nextval(''calls''); RETURN true; END';
             CREATE DOMAIN number AS int CHECK (called(value));
             CREATE TABLE one (id serial PRIMARY KEY, title text,
                               CONSTRAINT fits CHECK (id <> 5 OR '{5}'::number[] IS NULL OR title = ''));
             CREATE INDEX fitting ON one (title) WHERE id = ANY ('{5}'::number[]);",
        )
        .expect("a table");
    let calls = bigint(&mut client, "SELECT last_value FROM calls");
    let report = "SELECT object || ' ' || reason FROM snowflake_convert_report('one')";
    let rows = client.query(report, &[]).expect("a report");
    let rows: Vec<String> = rows.iter().map(|row| row.get(0)).collect();
    for untried in ["constraint fits on table public.one", "index public.fitting"] {
        let found = rows.iter().filter(|row| row.contains("could not be ruled out"));
        assert_eq!(found.filter(|row| row.contains(untried)).count(), 1, "{rows:#?}");
    }
    client.query("SELECT snowflake_convert('one')", &[]).expect("a dry run");
    assert_eq!(bigint(&mut client, "SELECT last_value FROM calls"), calls);
    client.query("SELECT snowflake_convert('one', dry_run => false)", &[]).expect("converted");
    assert!(bigint(&mut client, "SELECT last_value FROM calls") > calls);
}
