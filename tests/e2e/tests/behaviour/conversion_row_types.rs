//! Expressions that use the row type of a table whose key is converted. From 15.20, 16.16, 17.12 and
//! 18.7 on, PostgreSQL refuses to change the type of a column under them; earlier releases change it,
//! and leave them with the old row type.

use postgres::error::SqlState;
use snowflake_e2e::{Cluster, error_of};

const TABLES: &str = "CREATE TABLE film (id serial PRIMARY KEY, title text);
    CREATE TABLE note (words text);";

/// Objects that are created again, and a query that uses them.
const CREATED_AGAIN: [(&str, &str, &str); 13] = [
    (
        "a function with an argument of the row type",
        "CREATE FUNCTION f(film film) RETURNS text LANGUAGE sql BEGIN ATOMIC SELECT film.title; END",
        "SELECT f(film) FROM film",
    ),
    (
        "a procedure with a cast",
        "CREATE PROCEDURE f() LANGUAGE sql BEGIN ATOMIC SELECT (ROW(1, 'a')::film).title; END",
        "CALL f()",
    ),
    (
        "the default of an argument",
        "CREATE FUNCTION f(film DEFAULT ROW(1, 'a')::film) RETURNS text LANGUAGE sql AS 'SELECT $1.title'",
        "SELECT f()",
    ),
    (
        "the default of an argument of another type",
        "CREATE FUNCTION f(text DEFAULT (ROW(1, 'a')::film).title) RETURNS text LANGUAGE sql AS 'SELECT $1'",
        "SELECT f()",
    ),
    (
        "an array in a function",
        "CREATE FUNCTION f(films film[]) RETURNS text LANGUAGE sql BEGIN ATOMIC SELECT films[1].title; END",
        "SELECT f(array_agg(film)) FROM film",
    ),
    ("a view", "CREATE VIEW v AS SELECT ROW(1, 'a')::film AS film", "SELECT (film).id FROM v"),
    (
        "a view, and what depends on its row type",
        "CREATE VIEW v AS SELECT ROW(1, 'a')::film AS film;
         CREATE FUNCTION f(v) RETURNS bigint LANGUAGE sql AS 'SELECT ($1.film).id'",
        "SELECT f(v) FROM v",
    ),
    (
        "the row type of a view on the table",
        "CREATE VIEW v AS SELECT film FROM film;
         CREATE VIEW w AS SELECT (ROW(ROW(1, 'a')::film)::v).film AS film",
        "SELECT (film).id FROM w",
    ),
    (
        "a materialized view",
        "CREATE MATERIALIZED VIEW v AS SELECT (ROW(1, 'a')::film).title",
        "SELECT title FROM v",
    ),
    (
        "a column of a materialized view",
        "CREATE MATERIALIZED VIEW v AS SELECT ROW(1, 'a')::film AS film",
        "SELECT (film).id FROM v",
    ),
    (
        "a policy",
        "CREATE POLICY p ON note USING ((ROW(1, words)::film).title <> '')",
        "INSERT INTO note VALUES ('a')",
    ),
    (
        "a trigger",
        "CREATE FUNCTION t() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN new; END';
         CREATE TRIGGER t BEFORE INSERT ON note FOR EACH ROW
            WHEN ((ROW(1, new.words)::film).title <> '') EXECUTE FUNCTION t()",
        "INSERT INTO note VALUES ('a')",
    ),
    (
        "a rule",
        "CREATE RULE r AS ON INSERT TO note DO ALSO SELECT (ROW(1, new.words)::film).title",
        "INSERT INTO note VALUES ('a')",
    ),
];

/// Objects that are not, and how the obstacle names them.
const IN_THE_WAY: [(&str, &str); 15] = [
    (
        "ALTER TABLE note ADD CONSTRAINT k CHECK ((ROW(1, words)::film).title <> '')",
        "constraint k on table public.note",
    ),
    (
        "ALTER TABLE film ADD CONSTRAINT k CHECK ((ROW(id, title)::film).title <> '')",
        "constraint k on table public.film",
    ),
    ("CREATE INDEX i ON note (((ROW(1, words)::film).title))", "index public.i"),
    ("CREATE INDEX i ON note (words) WHERE (ROW(1, words)::film).title <> ''", "index public.i"),
    (
        "CREATE STATISTICS s ON words, ((ROW(1, words)::film).title) FROM note",
        "statistics object public.s",
    ),
    (
        "CREATE DOMAIN d AS text CONSTRAINT k CHECK ((ROW(1, value)::film).title <> '')",
        "constraint k of type public.d",
    ),
    ("CREATE DOMAIN d AS text DEFAULT (ROW(1, 'a')::film).title", "type public.d"),
    ("CREATE DOMAIN d AS film DEFAULT ROW(1, 'a')::film", "type public.d"),
    (
        "ALTER TABLE note ADD title text GENERATED ALWAYS AS ((ROW(1, words)::film).title) STORED",
        "column title of table public.note",
    ),
    (
        "ALTER TABLE note ALTER words SET DEFAULT (ROW(1, 'a')::film).title",
        "column words of table public.note",
    ),
    (
        "CREATE TABLE parts (words text) PARTITION BY LIST (((ROW(1, words)::film).title))",
        "the partition key of table public.parts",
    ),
    (
        "CREATE TYPE pair AS (film film); ALTER TABLE note ADD pair pair",
        "column pair of table public.note",
    ),
    (
        "CREATE TYPE span AS RANGE (subtype = film); ALTER TABLE note ADD spans span_multirange",
        "column spans of table public.note",
    ),
    (
        "CREATE FOREIGN DATA WRAPPER w; CREATE SERVER s FOREIGN DATA WRAPPER w;
         CREATE FOREIGN TABLE remote (film film) SERVER s",
        "column film of foreign table public.remote",
    ),
    (
        "CREATE OPERATOR CLASS c FOR TYPE film USING btree AS OPERATOR 1 *< (record, record)",
        "operator class public.c for access method btree",
    ),
];

/// What only names the row type finds it anew each time.
const UNTOUCHED: [&str; 10] = [
    "CREATE FUNCTION f(film, int DEFAULT 5) RETURNS text LANGUAGE sql AS 'SELECT $1.title'",
    "CREATE FUNCTION f(film) RETURNS int LANGUAGE sql BEGIN ATOMIC SELECT 1; END",
    "CREATE FUNCTION f() RETURNS SETOF film LANGUAGE sql AS 'SELECT * FROM film'",
    "CREATE FUNCTION f(film, film) RETURNS boolean LANGUAGE sql AS 'SELECT true';
     CREATE OPERATOR === (LEFTARG = film, RIGHTARG = film, FUNCTION = f)",
    "CREATE FUNCTION f(film) RETURNS int LANGUAGE sql AS 'SELECT 1';
     CREATE CAST (film AS int) WITH FUNCTION f(film)",
    "CREATE FUNCTION f(int, film) RETURNS int LANGUAGE sql AS 'SELECT 1';
     CREATE AGGREGATE a (film) (SFUNC = f, STYPE = int)",
    "CREATE TYPE pair AS (film film)",
    "CREATE DOMAIN d AS film; CREATE DOMAIN e AS d CHECK ((VALUE).title <> '')",
    "CREATE FUNCTION f(film, film) RETURNS int IMMUTABLE LANGUAGE sql AS 'SELECT 1';
     CREATE OPERATOR FAMILY f USING btree;
     ALTER OPERATOR FAMILY f USING btree ADD FUNCTION 1 (film, film) f(film, film)",
    "CREATE VIEW v AS SELECT note FROM note; CREATE VIEW w AS SELECT NULL::note AS note",
];

/// A cluster asks its server whether it changes the type under an expression.
#[test]
fn what_uses_the_row_type_is_created_again_or_in_the_way() {
    let cluster = Cluster::start_with_conversion();
    let mut client = cluster.connect();
    let mut in_case = |uses: &str, act: &mut dyn FnMut(&mut postgres::Client, bool)| {
        client
            .batch_execute(&format!("BEGIN; {TABLES} {uses}; SAVEPOINT before"))
            .unwrap_or_else(|error| panic!("{uses}: {error:?}"));
        let plain = client.batch_execute("ALTER TABLE film ALTER id TYPE bigint");
        let is_refused = plain.is_err_and(|error| {
            let error = error.as_db_error().expect("an error of the server");
            assert!(error.message().ends_with("uses its row type"), "{uses}: {error:?}");
            true
        });
        client.batch_execute("ROLLBACK TO before").expect("rolled back");
        act(&mut client, is_refused);
        client.batch_execute("ROLLBACK").expect("rolled back");
    };
    let convert = "SELECT snowflake_convert('film', dry_run => false";
    for uses in UNTOUCHED {
        in_case(uses, &mut |client, is_refused| {
            assert!(!is_refused, "{uses}");
            client.query(&format!("{convert})"), &[]).unwrap_or_else(|e| panic!("{uses}: {e:?}"));
        });
    }
    let mut refused = 0;
    for (what, uses, query) in CREATED_AGAIN {
        in_case(uses, &mut |client, is_refused| {
            refused += i32::from(is_refused);
            client.batch_execute("INSERT INTO film (title) VALUES ('a')").expect("a row");
            client.batch_execute("SAVEPOINT before").expect("a savepoint");
            let error = error_of(client.query(&format!("{convert})"), &[]));
            assert_eq!(error.code(), &SqlState::DEPENDENT_OBJECTS_STILL_EXIST, "{what}: {error:?}");
            client.batch_execute("ROLLBACK TO before").expect("rolled back");
            let recreate = format!("{convert}, dependents => 'recreate')");
            client.query(&recreate, &[]).unwrap_or_else(|error| panic!("{what}: {error:?}"));
            client.batch_execute(query).unwrap_or_else(|error| panic!("{what}: {error:?}"));
        });
    }
    for (uses, named) in IN_THE_WAY {
        in_case(uses, &mut |client, is_refused| {
            refused += i32::from(is_refused);
            let report = "SELECT concat(reason, remedy) FROM snowflake_convert_report('film') \
                WHERE kind = 'obstacle' AND object = 'public.film'";
            let reason: String = client.query_one(report, &[]).expect(uses).get(0);
            assert!(reason.contains(named) && reason.contains("Drop that,"), "{uses}: {reason}");
            for way in ["", ", dependents => 'recreate'"] {
                client.batch_execute("SAVEPOINT before").expect("a savepoint");
                let error = error_of(client.query(&format!("{convert}{way})"), &[]));
                let dependent = &SqlState::DEPENDENT_OBJECTS_STILL_EXIST;
                assert_eq!(error.code(), dependent, "{uses}: {error:?}");
                let detail = error.detail().unwrap_or_default();
                assert!(detail.contains(named), "{uses}: {error:?}");
                client.batch_execute("ROLLBACK TO before").expect("rolled back");
            }
        });
    }
    // A column of the row type is refused by every server.
    let of_columns = 3;
    let of_all = CREATED_AGAIN.len() + IN_THE_WAY.len();
    assert!(
        [of_columns, of_all].map(|count| i32::try_from(count).expect("few")).contains(&refused),
        "this server refuses {refused} of {of_all}"
    );
}
