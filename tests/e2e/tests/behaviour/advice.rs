//! The advice of a report for an application that keeps keys in columns without a foreign key, and
//! passes them to functions: it names each place, and the application works if it is followed.

use postgres::Client;
use postgres::error::SqlState;
use snowflake_e2e::{Cluster, bigint, error_of};

const SCHEMA: &str = include_str!("advice/schema.sql");
/// What the application does. It has to work whatever type the keys have.
const STATEMENTS: &str = include_str!("advice/statements.sql");
/// What the report says: object, reason and remedy of each risk.
const RISKS: &str = include_str!("advice/risks.txt");
const BY_HAND: &str = include_str!("advice/by_hand.sql");
const AFTERWARDS: &str = include_str!("advice/afterwards.sql");

const CONVERT: &str =
    "SELECT step, statement FROM snowflake_convert(schema => 'forum', dependents => 'recreate'";

/// The functions that triggers call, after what is written by hand.
const ACKNOWLEDGED: &str =
    "'{count_post(integer), \"inc_ref_count(text,integer,integer)\", note_post(integer)}'";

fn forum() -> (Cluster, Client) {
    let cluster = Cluster::start_with_conversion();
    let mut client = cluster.connect();
    client.batch_execute(SCHEMA).expect("a schema");
    (cluster, client)
}

/// The statements of the application that fail, each with the error.
fn failures(client: &mut Client) -> Vec<String> {
    client.batch_execute("DISCARD PLANS").expect("discarded");
    let failed = STATEMENTS.lines().filter_map(|statement| {
        let error = client.batch_execute(statement).err()?;
        Some(format!("{statement} {}", error_of::<()>(Err(error))))
    });
    failed.collect()
}

fn rows(client: &mut Client, query: &str) -> Vec<(String, String)> {
    let rows = client.query(query, &[]).unwrap_or_else(|error| panic!("{query}: {error:?}"));
    rows.iter().map(|row| (row.get(0), row.get(1))).collect()
}

fn risks(client: &mut Client) -> Vec<(String, String, String)> {
    let query = "SELECT object, reason, coalesce(remedy, 'nothing')
        FROM snowflake_convert_report(schema => 'forum') WHERE kind = 'risk'";
    let rows = client.query(query, &[]).expect("a report");
    rows.iter().map(|row| (row.get(0), row.get(1), row.get(2))).collect()
}

#[test]
fn each_risk_is_named() {
    let (_cluster, mut client) = forum();
    let risks = risks(&mut client);
    // The present is not in the file.
    let now = bigint(&mut client, "SELECT snowflake_internal.id_of_now()").to_string();
    let ids = |why: &str| {
        let is_now = |word: &str| word.len() == now.len() && word.starts_with(&now[..4]);
        why.split(' ')
            .map(|word| if is_now(word) { "NOW" } else { word })
            .collect::<Vec<_>>()
            .join(" ")
    };
    let found: Vec<_> = risks
        .iter()
        .map(|(object, why, what)| format!("{object} | {} | {what}", ids(why)))
        .collect();
    let expected: Vec<_> = RISKS.lines().collect();
    for (found, expected) in found.iter().zip(&expected) {
        assert_eq!(found, expected);
    }
    assert_eq!(found.len(), expected.len(), "{found:#?}");
}

/// What the catalog says of the functions, but for their types.
fn properties(client: &mut Client) -> Vec<(String, String)> {
    rows(
        client,
        "SELECT proname::text, format('%s %s %s %s %s %s %s %s %s', proowner::regrole, proacl, proconfig, prosrc, prosecdef,
                provolatile, prorows, pronargdefaults, obj_description(oid, 'pg_proc'))
         FROM pg_proc
         WHERE pronamespace = 'forum'::regnamespace
           AND proname NOT IN ('notify_author', 'last_post', 'newest', 'label', 'largest')
         ORDER BY 1, 2",
    )
}

#[test]
fn an_application_works_if_the_advice_is_followed() {
    let (_cluster, mut client) = forum();
    assert_eq!(failures(&mut client), [""; 0], "before the conversion");
    let before = properties(&mut client);

    client.batch_execute("BEGIN; DROP VIEW seen_films").expect("dropped");
    for (object, _, remedy) in risks(&mut client) {
        if remedy.ends_with(';') {
            client
                .batch_execute(&remedy)
                .unwrap_or_else(|error| panic!("{object}: {remedy} {error:?}"));
        }
    }
    client
        .batch_execute("CREATE VIEW seen_films AS SELECT film_id FROM views_of_film")
        .expect("created");
    client.batch_execute(BY_HAND).unwrap_or_else(|error| panic!("by hand: {error:?}"));

    let convert = format!("{CONVERT}, dry_run => false, acknowledged => {ACKNOWLEDGED})");
    let done = rows(&mut client, &convert);
    let (before_step, after_step) = AFTERWARDS.split_once("\\functions").expect("a place");
    client.batch_execute(before_step).expect("dropped");
    let functions = done.iter().filter(|(step, _)| step == "functions");
    for (_, statement) in functions {
        client.batch_execute(statement).unwrap_or_else(|error| panic!("{statement}: {error:?}"));
    }
    client.batch_execute(after_step).unwrap_or_else(|error| panic!("afterwards: {error:?}"));
    client.batch_execute("COMMIT").expect("committed");
    assert_eq!(failures(&mut client), [""; 0], "after the conversion");
    assert_eq!(failures(&mut client), [""; 0], "on the next day");
    assert_eq!(properties(&mut client), before);
    let types = rows(
        &mut client,
        "SELECT proname::text, format('%s: %s', pg_get_function_arguments(oid), pg_get_function_result(oid)) FROM pg_proc
         WHERE proname IN ('film_in_stock', 'scores', 'inc_ref_count', 'count_post') ORDER BY 1",
    );
    let types: Vec<&str> = types.iter().map(|(_, types)| types.as_str()).collect();
    assert_eq!(
        types,
        [
            "IN bigint: ",
            "p_film_id bigint, p_store_id bigint DEFAULT 1, OUT p_film_count bigint: SETOF bigint",
            "tbl text, row_id bigint, val integer: void",
            "bigint[], \"lastCommentId\" bigint, n integer: TABLE(post_id bigint, score integer)",
        ]
    );
}

/// Without the advice, much of the application fails: the advice is needed.
#[test]
fn an_application_fails_without_the_advice() {
    let (_cluster, mut client) = forum();
    assert_eq!(failures(&mut client), [""; 0], "before the conversion");
    client
        .batch_execute("DROP VIEW labels, largest_post, first_stock, seen_films")
        .expect("dropped");
    let every = "(SELECT array_agg(oid::regprocedure) FROM pg_proc WHERE pronamespace = 'forum'::regnamespace)";
    rows(&mut client, &format!("{CONVERT}, dry_run => false, acknowledged => {every})"));
    let failed = failures(&mut client);
    assert!(failed.len() > 20, "{failed:#?}");
}

#[test]
fn what_triggers_call_has_to_be_acknowledged() {
    let (_cluster, mut client) = forum();
    client.batch_execute("DROP VIEW labels, largest_post").expect("dropped");
    let called = "forum.count_post(integer), forum.inc_ref_count(text,integer,integer), \
                  forum.note_post(integer), forum.notify_author()";
    for (acknowledged, missing) in [
        ("'{}'", called),
        ("NULL", called),
        ("ARRAY[NULL]::regprocedure[]", called),
        ("ARRAY['film_in_stock(integer,integer)']::regprocedure[]", called),
        (ACKNOWLEDGED, "forum.notify_author()"),
    ] {
        let convert = format!("{CONVERT}, dry_run => false, acknowledged => {acknowledged})");
        let error = error_of(client.query(&convert, &[]));
        assert_eq!(error.code(), &SqlState::OBJECT_NOT_IN_PREREQUISITE_STATE, "{error:?}");
        assert_eq!(
            error.message(),
            "functions that triggers of converted tables call were not acknowledged"
        );
        let detail = error.detail().unwrap_or_default();
        assert!(detail.ends_with(&format!("might fail: {missing}.")), "{acknowledged}: {detail}");
    }
    let changed = "SELECT count(*) FROM pg_attribute
        WHERE attrelid = 'posts'::regclass AND attname = 'id' AND atttypid = 'bigint'::regtype";
    assert_eq!(bigint(&mut client, changed), 0);
    // A look ahead needs nothing.
    rows(&mut client, &format!("{CONVERT})"));
    rows(&mut client, &format!("{CONVERT}, rehearse => true)"));
    assert_eq!(bigint(&mut client, changed), 0);
    // Neither does a table without such triggers.
    rows(&mut client, "SELECT step, statement FROM snowflake_convert('film', dry_run => false)");
}

/// A line break in a name or in a body would end a comment, and the rest of the line would be
/// executed.
#[test]
fn comments_of_statements_end_where_they_should() {
    let (_cluster, mut client) = forum();
    client
        .batch_execute(
            "CREATE FUNCTION sly(\"n\nDROP TABLE settings; --\" integer) RETURNS integer LANGUAGE plpgsql AS
                 E'DECLARE film_id integer := length(\\'\\r DROP TABLE settings; \\'); BEGIN RETURN film_id; END';
             CREATE VIEW \"v\rDROP TABLE settings; --\" AS SELECT sly(1);",
        )
        .expect("a function");
    let rows = rows(&mut client, &format!("{CONVERT})"));
    let drops: Vec<_> = rows
        .iter()
        .filter(|(step, statement)| step == "functions" && statement.contains("DROP ROUTINE"))
        .collect();
    assert!(drops.iter().any(|(_, statement)| statement.contains("forum.sly")), "{drops:#?}");
    for (_, statement) in drops {
        let lines = statement.split(['\n', '\r']);
        let outside: Vec<&str> = lines.filter(|line| !line.starts_with("-- ")).collect();
        assert_eq!(outside.len(), 1, "{statement:?}");
        assert!(outside[0].starts_with("DROP ROUTINE "), "{statement:?}");
    }
}

/// The statements change nothing that others own, and no aggregates, functions in C or members of
/// extensions.
#[test]
fn only_functions_of_the_owner_are_created_again() {
    let (_cluster, mut client) = forum();
    client
        .batch_execute(
            "CREATE ROLE other; ALTER FUNCTION film_in_stock(integer, integer) OWNER TO other;
             ALTER EXTENSION snowflake ADD FUNCTION scores(integer[], integer, integer)",
        )
        .expect("altered");
    let rows = rows(&mut client, &format!("{CONVERT})"));
    let functions = rows.iter().filter(|(step, _)| step == "functions");
    let all: String = functions.map(|(_, statement)| statement.as_str()).collect();
    for other in ["film_in_stock", "scores", "largest", "hash_post", "in_days", "titles"] {
        assert!(!all.contains(&format!("DROP ROUTINE forum.{other}(")), "{other}: {all}");
    }
    assert!(all.contains("note_post"), "{all}");
}

/// The views of the schema call a function and an aggregate that do not take the new keys.
#[test]
fn a_view_that_cannot_be_created_again_is_named() {
    let (_cluster, mut client) = forum();
    for (view, function) in [("largest_post", "largest"), ("labels", "label")] {
        let error = error_of(client.query(&format!("{CONVERT}, rehearse => true)"), &[]));
        assert_eq!(error.code(), &SqlState::UNDEFINED_FUNCTION, "{error:?}");
        assert_eq!(
            error.message(),
            "an object that depends on a converted column cannot be created again"
        );
        let detail = error.detail().unwrap_or_default();
        let missing = format!("function forum.{function}(bigint) does not exist");
        assert!(
            detail.contains(&missing) && detail.contains(&format!("VIEW forum.{view}")),
            "{error:?}"
        );
        client.batch_execute(&format!("DROP VIEW {view}")).expect("dropped");
    }
    rows(&mut client, &format!("{CONVERT}, rehearse => true)"));
}
