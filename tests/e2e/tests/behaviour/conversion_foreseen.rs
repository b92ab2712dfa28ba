//! What ends a rehearsal is in the report, which executes nothing.

use postgres::Client;
use snowflake_e2e::{Cluster, error_of};

/// Tables of an owner, of which one is called one; which row of the report names what; and how a
/// rehearsal fails.
const CASES: [(&str, &str, &str, &str); 6] = [
    (
        "CREATE TABLE one (id serial PRIMARY KEY); REVOKE SELECT ON one FROM app",
        "obstacle",
        "Owner app of table public.one lacks SELECT on column id.",
        "owner app of table public.one lacks SELECT on column id",
    ),
    (
        "CREATE TABLE one (id serial PRIMARY KEY);
         CREATE TABLE two (x int);
         CREATE MATERIALIZED VIEW both_of AS SELECT id, x FROM one, two; REVOKE SELECT ON two FROM app",
        "obstacle",
        "Owner app of materialized view public.both_of lacks SELECT on public.two.",
        "owner app of materialized view public.both_of lacks SELECT on public.two",
    ),
    (
        "CREATE TABLE one (id serial PRIMARY KEY); CREATE TABLE two (id int NOT NULL);
         CREATE TABLE three () INHERITS (one, two)",
        "obstacle",
        "The table has it from public.one, public.two, which do not all inherit it from one table.",
        "cannot change the type of column id of table public.three",
    ),
    (
        "CREATE TABLE one (id serial PRIMARY KEY); CREATE TYPE pair AS (one one); CREATE TABLE two OF pair",
        "obstacle",
        "What depends on it: column one of table public.two.",
        "cannot change the type of column id of table public.one",
    ),
    (
        "CREATE TABLE one (id serial PRIMARY KEY, parent int REFERENCES one);
         CREATE RECURSIVE VIEW tree(id) AS
             SELECT 1 UNION ALL SELECT one.id FROM one JOIN tree ON one.parent = tree.id",
        "risk",
        "recursive query \"tree\" column 1 has type integer in non-recursive term but type bigint overall.",
        "recursive query \"tree\" column 1 has type integer in non-recursive term but type bigint overall",
    ),
    (
        "CREATE TABLE one (id serial PRIMARY KEY);
         CREATE FUNCTION larger(int, int) RETURNS int LANGUAGE sql AS 'SELECT greatest($1, $2)';
         CREATE AGGREGATE largest(int) (SFUNC = larger, STYPE = int);
         CREATE VIEW last AS SELECT largest(x.id) FROM one AS x",
        "risk",
        "function largest(bigint) does not exist.",
        "function public.largest(bigint) does not exist",
    ),
];

/// What can be converted, of which a report is not to say otherwise.
const HARMLESS: &str = "
    CREATE TABLE one (id serial PRIMARY KEY, title text, parent int REFERENCES one);
    CREATE TABLE top (id serial PRIMARY KEY);
    CREATE TABLE left_of () INHERITS (top); CREATE TABLE right_of () INHERITS (top);
    CREATE TABLE below () INHERITS (left_of, right_of);
    CREATE TYPE mood AS ENUM ('sad', 'glad');
    CREATE TABLE checked (id serial PRIMARY KEY, mood mood, CHECK (id > 0 OR mood = 'sad'));
    CREATE FUNCTION same(int) RETURNS int LANGUAGE plpgsql IMMUTABLE AS 'BEGIN RETURN $1; END';
    CREATE TABLE indexed (id serial PRIMARY KEY, n int);
    CREATE INDEX ON indexed (same(n));
    CREATE VIEW grouped AS SELECT id, title, count(*) FROM one GROUP BY id;
    CREATE VIEW of_rows AS SELECT one, one.title FROM one;
    CREATE VIEW of_system AS SELECT tableoid, ctid, id FROM one AS x WHERE x.id IN (SELECT id FROM one);
    CREATE VIEW locking AS SELECT id FROM one FOR UPDATE;
    CREATE VIEW sampled AS SELECT id FROM one TABLESAMPLE system (50);
    CREATE VIEW moody AS SELECT id, CASE WHEN id > 5 THEN 'sad'::mood ELSE 'glad' END FROM ONLY one;
    CREATE RECURSIVE VIEW tree(id) AS
        SELECT id FROM one WHERE parent IS NULL
        UNION ALL SELECT one.id FROM one JOIN tree ON one.parent = tree.id;
    CREATE VIEW of_views AS SELECT id FROM tree UNION SELECT 1 UNION SELECT id FROM moody;";

/// A session of a role that owns what it creates.
pub fn owner(cluster: &Cluster) -> Client {
    cluster
        .connect()
        .batch_execute("CREATE ROLE app LOGIN; GRANT CREATE ON SCHEMA public TO app")
        .expect("a role");
    cluster.config().user("app").connect(postgres::NoTls).expect("a session")
}

fn report(client: &mut Client, arguments: &str) -> Vec<(String, String)> {
    let query = format!("SELECT kind, reason FROM snowflake_convert_report({arguments})");
    let rows = client.query(&query, &[]).unwrap_or_else(|error| panic!("{error:?}"));
    rows.iter().map(|row| (row.get(0), row.get(1))).collect()
}

#[test]
fn a_report_says_what_a_rehearsal_would_run_into() {
    let cluster = Cluster::start_with_conversion();
    let mut client = owner(&cluster);
    for (tables, kind, reason, message) in CASES {
        client.batch_execute(&format!("BEGIN; {tables}")).expect(tables);
        let rows = report(&mut client, "'one'");
        let found = rows.iter().filter(|row| row.0 == kind && row.1.contains(reason));
        assert_eq!(found.count(), 1, "{tables}: {rows:#?}");
        let rehearse =
            "SELECT snowflake_convert('one', dependents => 'recreate', rehearse => true)";
        let error = error_of(client.query(rehearse, &[]));
        let said = format!("{}\n{}", error.message(), error.detail().unwrap_or_default());
        assert!(said.contains(message), "{tables}: {said}");
        client.batch_execute("ROLLBACK").expect("rolled back");
    }
}

#[test]
fn a_report_says_no_more_than_that() {
    let cluster = Cluster::start_with_conversion();
    let mut client = owner(&cluster);
    client.batch_execute(HARMLESS).expect("tables");
    let rows = report(&mut client, "schema => 'public'");
    for (kind, reason) in &rows {
        let is_expected = match kind.as_str() {
            "obstacle" => reason.contains("What depends on it"),
            // What there is to say of any conversion.
            "risk" => ["Sessions keep plans", "have no time", "2^53"]
                .iter()
                .any(|words| reason.contains(words)),
            _ => true,
        };
        assert!(is_expected, "{kind}: {reason}");
    }
    client
        .query(
            "SELECT snowflake_convert(schema => 'public', dependents => 'recreate', rehearse => true)",
            &[],
        )
        .unwrap_or_else(|error| panic!("{error:?}"));
}
