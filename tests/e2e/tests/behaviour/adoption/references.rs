//! Integer columns that refer to keys that are snowflake IDs.

use postgres::error::SqlState;
use snowflake_e2e::error_of;

use super::{column, listening, server, take};

/// What is said of a column.
fn warning(column: &str, table: &str, of: &str, other: &str, top: &str) -> String {
    format!(
        "WARNING: column {column} of table {table} cannot hold the snowflake IDs that it refers to It is of \
         type {of}. An INSERT that refers to a new row of {other} fails, because the ID is out of range. \
         Run ALTER TABLE {top} ALTER COLUMN {column} TYPE bigint."
    )
}

/// Executes a statement, and asserts what is said. Then does as the hint says, after which a new ID
/// can be referred to.
#[test]
fn a_narrow_reference_stays_with_a_warning_that_mends_it() {
    let (cluster, _client) = server();
    let (mut client, heard) = listening(&cluster);
    client
        .batch_execute(
            "CREATE TABLE users (id bigserial PRIMARY KEY, name text); INSERT INTO users (name) VALUES ('Ada');
             CREATE TABLE wide (author bigint REFERENCES users); CREATE SCHEMA other;
             CREATE TABLE later (author integer); CREATE TABLE other.later (author integer)",
        )
        .expect("tables");
    assert_eq!(take(&heard), [""; 0]);
    let add = "FOREIGN KEY (author) REFERENCES users";
    for (statement, table, of) in [
        (
            "CREATE TABLE posts (author integer REFERENCES users)".to_owned(),
            "blog.posts",
            "integer",
        ),
        (
            "CREATE TABLE other.posts (author smallint REFERENCES users)".into(),
            "other.posts",
            "smallint",
        ),
        (format!("ALTER TABLE later ADD {add}"), "blog.later", "integer"),
        (format!("ALTER TABLE other.later ADD {add} NOT VALID"), "other.later", "integer"),
        ("ALTER TABLE wide ADD COLUMN more integer".into(), "", ""),
        ("CREATE TABLE added (a text)".into(), "", ""),
        (
            "ALTER TABLE added ADD COLUMN author integer REFERENCES users".into(),
            "blog.added",
            "integer",
        ),
        (
            format!("DO $$ BEGIN CREATE TABLE in_do (author integer, {add}); END $$"),
            "blog.in_do",
            "integer",
        ),
    ] {
        client.batch_execute(&statement).expect(&statement);
        if table.is_empty() {
            assert_eq!(take(&heard), [""; 0], "{statement}");
            continue;
        }
        let said = take(&heard);
        let expected = warning("author", table, of, "blog.users", table);
        assert_eq!(said, [expected], "{statement}");
        assert_eq!(column(&mut client, table, "author").0, of);
        let insert = format!("INSERT INTO {table} (author) SELECT id FROM users");
        let error = error_of(client.execute(&insert, &[]));
        assert_eq!(error.code(), &SqlState::NUMERIC_VALUE_OUT_OF_RANGE, "{statement}");
        let mend = said[0].split_once("Run ").expect("a hint").1.trim_end_matches('.');
        client.batch_execute(mend).expect(mend);
        client.execute(&insert, &[]).expect(mend);
    }
}

/// A column that a table inherits is changed where it comes from.
#[test]
fn a_reference_of_a_partition_is_mended_in_its_parent() {
    let (cluster, _client) = server();
    let (mut client, heard) = listening(&cluster);
    client
        .batch_execute(
            "CREATE TABLE users (id bigserial PRIMARY KEY);
             CREATE TABLE posts (author integer, at date) PARTITION BY RANGE (at);
             CREATE TABLE part PARTITION OF posts DEFAULT;
             ALTER TABLE part ADD FOREIGN KEY (author) REFERENCES users;
             ALTER TABLE posts ADD FOREIGN KEY (author) REFERENCES users",
        )
        .expect("tables");
    assert_eq!(
        take(&heard),
        [
            warning("author", "blog.part", "integer", "blog.users", "blog.posts"),
            warning("author", "blog.posts", "integer", "blog.users", "blog.posts"),
        ]
    );
    client.batch_execute("ALTER TABLE blog.posts ALTER COLUMN author TYPE bigint").expect("mended");
}

/// A table that refers to itself, with keys of several columns.
#[test]
fn a_key_is_looked_at_as_it_is_after_the_statement() {
    let (cluster, _client) = server();
    let (mut client, heard) = listening(&cluster);
    client
        .batch_execute(
            "CREATE TABLE tree (id bigserial PRIMARY KEY, parent integer REFERENCES tree);
             CREATE TABLE pairs (id bigserial, part integer, PRIMARY KEY (part, id));
             CREATE TABLE users (a integer, b integer, FOREIGN KEY (a, b) REFERENCES pairs)",
        )
        .expect("tables");
    assert_eq!(
        take(&heard),
        [
            warning("parent", "blog.tree", "integer", "blog.tree", "blog.tree"),
            warning("b", "blog.users", "integer", "blog.pairs", "blog.users"),
        ]
    );
}

#[test]
fn other_references_are_none_of_our_business() {
    let (cluster, _client) = server();
    let (mut client, heard) = listening(&cluster);
    client
        .batch_execute(
            "CREATE TABLE public.countries (id bigserial PRIMARY KEY);
             CREATE TABLE cities (name text, country integer REFERENCES public.countries);
             CREATE FUNCTION public.snowflake_nextval(text) RETURNS bigint LANGUAGE sql AS 'SELECT 1::bigint';
             CREATE TABLE public.theirs (id bigint PRIMARY KEY DEFAULT public.snowflake_nextval(''));
             CREATE TABLE more (country integer REFERENCES public.theirs);
             CREATE TABLE ours (id bigserial PRIMARY KEY); SET snowflake.adopted_schemas = '';
             CREATE TABLE silent (our integer REFERENCES ours)",
        )
        .expect("tables");
    assert_eq!(take(&heard), [""; 0]);
}
