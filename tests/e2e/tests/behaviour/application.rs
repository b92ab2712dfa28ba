//! The schema of a whole application is converted and reverted, with everything that hangs on its
//! keys: views, policies, triggers, rules, functions, and what is granted on them.

mod dump;
mod report;
mod shop;

use postgres::Client;
use postgres::error::SqlState;
use snowflake_e2e::{Cluster, assert_increasing, bigint, dump_and_restore, error_of};

use dump::{assert_same, beside_the_dump, dump, expected_after, files};
use shop::{fail, prepared_application};

const DAY: &str = include_str!("application/a_day.sql");

/// What converts the schema; more arguments can follow. What triggers call was changed before, and
/// still has a parameter that is an integer.
const CONVERT: &str =
    "SELECT step, statement FROM snowflake_convert(schema => '\"Film Shop\"', acknowledged =>
    ARRAY['\"Film Shop\".inc_ref_count(text,bigint,integer)']::regprocedure[]";

/// The keys that take snowflake IDs, and how tables are named in dumps.
const KEYS: [(&str, &str); 13] = [
    ("artist", "id"),
    ("category", "id"),
    ("customer", "customer_id"),
    ("edit_log", "id"),
    ("film", "film_id"),
    ("inventory", "inventory_id"),
    ("loan", "loan_id"),
    ("note", "id"),
    ("payment", "payment_id"),
    ("rental", "rental_id"),
    ("review", "id"),
    ("staff", "staff_id"),
    ("store", "store_id"),
];
const QUOTED_KEY: (&str, &str) = ("\"Sound \"\"Track\"\"\"", "\"Track Id\"");

/// What PostgreSQL does not change with the type of a key, as it names that.
const DEPENDENTS: [&str; 34] = [
    "view film_list",
    "function list_films()",
    "function listed(text)",
    "view \"Long \"\"List\"\"\"",
    "view longest",
    "view stock",
    "view first_stock",
    "view film_entry",
    "view review_entry",
    "view sequel",
    "view by_ada",
    "view open_rental",
    "view best_seller",
    "view news",
    "materialized view film_revenue",
    "materialized view shelf",
    "trigger enter_film on view film_entry",
    "trigger keep_film on view film_entry",
    "rule review_entered on view review_entry",
    "rule review_kept on view review_entry",
    "function films_of(text)",
    "function \"Film's label\"(film)",
    "function give_back(bigint)",
    "trigger film_moved on table film",
    "trigger film_follows_itself on table film",
    "trigger inventory_off on table inventory",
    "trigger inventory_always on table inventory",
    "trigger rental_seen on table rental",
    "trigger Track \"it\" on table \"Sound \"\"Track\"\"\"",
    "rule film_gone on table film",
    "rule loan_gone on table loan",
    "policy reads on table review",
    "policy writes on table review",
    "policy changes on table review",
];

type Rows = Vec<(String, String)>;

fn session(cluster: &Cluster, user: &str) -> Client {
    cluster.config().user(user).connect(postgres::NoTls).expect("a session")
}

/// Steps and statements that a conversion returns.
#[track_caller]
fn rows(client: &mut Client, query: &str) -> Rows {
    let rows = client.query(query, &[]).unwrap_or_else(|error| fail(query, error));
    rows.iter().map(|row| (row.get(0), row.get(1))).collect()
}

fn statements_of<'a>(rows: &'a Rows, step: &str) -> Vec<&'a str> {
    rows.iter().filter(|row| row.0 == step).map(|row| &*row.1).collect()
}

/// Executes the statements of a step: one by one in a session of their owner, and by the function in
/// another one.
#[track_caller]
fn execute_as_owner(client: &mut Client, rows: &Rows, step: &str) {
    let statements = statements_of(rows, step);
    assert!(statements.len() > 1, "there is no statement to {step}");
    if bigint(client, "SELECT (session_user = 'Shop Owner')::int::bigint") == 1 {
        client.batch_execute("BEGIN").expect("begun");
        for statement in statements {
            client.batch_execute(statement).unwrap_or_else(|error| fail(statement, error));
        }
        client.batch_execute("COMMIT").expect("committed");
    } else {
        let error = error_of(client.batch_execute(statements[0]));
        assert_eq!(error.code(), &SqlState::INSUFFICIENT_PRIVILEGE, "{error}");
        let execute = "SELECT snowflake_convert_execute($1, '\"Shop Owner\"')";
        client.execute(execute, &[&statements]).unwrap_or_else(|error| fail(step, error));
    }
}

#[track_caller]
fn live_a_day(client: &mut Client, when: &str) {
    client.batch_execute(DAY).unwrap_or_else(|error| fail(when, error));
}

/// The largest value of each key.
fn largest_keys(client: &mut Client) -> Vec<i64> {
    let keys = KEYS.iter().chain([&QUOTED_KEY]);
    keys.map(|(table, column)| {
        bigint(client, &format!("SELECT max({column})::bigint FROM {table}"))
    })
    .collect()
}

/// Converts the schema as this user, lives on, and reverts it.
fn convert_and_revert(cluster: &Cluster, user: &str) {
    let mut superuser = cluster.connect();
    let mut client = session(cluster, user);
    live_a_day(&mut superuser, "before the conversion");
    let (expected, beside) = (expected_after(&dump(cluster)), beside_the_dump(&mut superuser));
    let untouched = "SELECT ('setting_list'::regclass::oid::bigint << 32)
        + 'price_list'::regclass::oid::bigint";
    let views = bigint(&mut superuser, untouched);
    let largest = largest_keys(&mut superuser);

    let done =
        rows(&mut client, &format!("{CONVERT}, dependents => 'recreate', dry_run => false)"));
    assert_eq!(
        bigint(&mut superuser, untouched),
        views,
        "views that need no key were created again"
    );
    assert_same("after the conversion", &beside_the_dump(&mut superuser), &beside);
    // Functions of PL/pgSQL keep the types of their first execution in a session.
    superuser.batch_execute("DISCARD PLANS").expect("discarded");
    let mut keys = vec![largest];
    for day in ["first", "second"] {
        live_a_day(&mut superuser, &format!("the {day} day after the conversion"));
        keys.push(largest_keys(&mut superuser));
    }
    for (number, (table, column)) in KEYS.iter().chain([&QUOTED_KEY]).enumerate() {
        let of_key: Vec<i64> = keys.iter().map(|largest| largest[number]).collect();
        assert_increasing(&of_key);
        assert!(of_key[1] > 1 << 40, "no snowflake ID in {column} of {table}: {of_key:?}");
    }
    execute_as_owner(&mut client, &done, "validate");
    let not_validated =
        "SELECT count(*) FROM pg_constraint WHERE NOT convalidated AND conparentid = 0";
    assert_eq!(bigint(&mut superuser, not_validated), 1, "one foreign key was not valid before");
    dump_and_restore(cluster, "postgres", "restored");
    live_a_day(&mut cluster.connect_to("restored"), "after dump and restore");
    superuser.batch_execute("DROP DATABASE restored").expect("dropped");

    execute_as_owner(&mut client, &done, "revert");
    assert_same("the dump after the reversion", &dump(cluster), &expected);
    assert_same("after the reversion", &beside_the_dump(&mut superuser), &beside);
    let largest = largest_keys(&mut superuser);
    live_a_day(&mut superuser, "after the reversion");
    for (before, after) in largest.iter().zip(largest_keys(&mut superuser)) {
        assert!(*before < after && after - before < 1000, "{before}, {after}: no sequence");
    }
}

#[test]
fn a_schema_is_converted_and_reverted() {
    convert_and_revert(&prepared_application(), "postgres");
}

/// What belongs to others stands in the way, whoever asks, and so do triggers that only a superuser
/// could disable again.
#[test]
fn an_owner_converts_and_reverts_a_schema() {
    let cluster = prepared_application();
    let mut superuser = cluster.connect();
    let mut owner = session(&cluster, "Shop Owner");
    let convert = format!("{CONVERT}, dependents => 'recreate')");
    superuser
        .batch_execute(
            "ALTER TABLE loan DISABLE TRIGGER ALL; ALTER VIEW news OWNER TO shop_reporting;
             ALTER FUNCTION listed(text) OWNER TO shop_reporting",
        )
        .expect("altered");
    for client in [&mut owner, &mut superuser] {
        let error = error_of(client.query(&convert, &[]));
        assert_eq!(error.code(), &SqlState::INSUFFICIENT_PRIVILEGE, "{error}");
        let message = "objects to be changed belong to \"Shop Owner\" and to shop_reporting";
        assert_eq!(error.message(), message);
        let detail =
            "Of shop_reporting: function \"Film Shop\".listed(text), view \"Film Shop\".news.";
        assert!(error.detail().is_some_and(|said| said.ends_with(detail)), "{error:?}");
    }
    superuser
        .batch_execute(
            "ALTER VIEW news OWNER TO \"Shop Owner\"; GRANT SELECT ON news TO shop_reporting;
             ALTER FUNCTION listed(text) OWNER TO \"Shop Owner\"",
        )
        .expect("altered");
    for client in [&mut owner, &mut superuser] {
        let error = error_of(client.query(&convert, &[]));
        assert_eq!(error.code(), &SqlState::OBJECT_NOT_IN_PREREQUISITE_STATE, "{error}");
        assert_eq!(
            error.message(),
            "triggers of foreign key loan_inventory_id_fkey of table \"Film Shop\".loan are disabled"
        );
    }
    superuser.batch_execute("ALTER TABLE loan ENABLE TRIGGER ALL").expect("altered");
    convert_and_revert(&cluster, "Shop Owner");
}

/// The rows of a dry run, of a rehearsal and of the conversion are the same.
#[test]
fn what_a_dry_run_says_is_what_is_done() {
    let cluster = prepared_application();
    let mut client = cluster.connect();
    let query = format!("{CONVERT}, dependents => 'recreate'");
    let said = rows(&mut client, &format!("{query})"));
    let rehearsed = rows(&mut client, &format!("{query}, rehearse => true)"));
    let at_once = rows(&mut client, &format!("{query}, validate => true)"));
    let done = rows(&mut client, &format!("{query}, dry_run => false)"));
    assert_eq!(said, rehearsed, "a rehearsal returns the rows of a dry run");
    assert_eq!(said, done);
    for step in ["convert", "validate", "revert"] {
        assert!(said.iter().any(|row| row.0 == step), "no row is of step {step}");
    }
    // What is validated at once needs no validation later.
    let (without, with) = (statements_of(&said, "validate"), statements_of(&at_once, "convert"));
    assert_eq!(statements_of(&at_once, "validate"), [""; 0]);
    assert!(with.ends_with(&without[1..]), "{with:#?}");
    // Then there is nothing more to do.
    let again = error_of(client.query(&format!("{query})"), &[]));
    assert_eq!(again.code(), &SqlState::UNDEFINED_OBJECT, "{again}");
    let query = "SELECT step, statement FROM snowflake_convert('film', 'film_id')";
    assert_eq!(rows(&mut client, query), []);
}

#[test]
fn the_rehearsal_leaves_nothing() {
    let cluster = prepared_application();
    let mut client = cluster.connect();
    let (before, beside, old) = (dump(&cluster), beside_the_dump(&mut client), files(&mut client));
    let rehearse = format!("{CONVERT}, dependents => 'recreate', rehearse => true)");
    let held = "SELECT count(*) FROM pg_locks WHERE mode = 'AccessExclusiveLock'
        AND pid = pg_backend_pid()";
    client.batch_execute("BEGIN").expect("begun");
    rows(&mut client, &rehearse);
    assert_eq!(bigint(&mut client, held), 0, "a rehearsal keeps locks");
    client.batch_execute("COMMIT").expect("committed");
    assert_same("the dump", &dump(&cluster), &before);
    assert_same("beside the dump", &beside_the_dump(&mut client), &beside);
    assert_same("the files", &files(&mut client), &old);

    // The statement that fails is named: in the detail if its definition does not fit, else in the
    // context.
    for (view, sqlstate, failing) in [
        (
            "CREATE FUNCTION old(id integer) RETURNS text LANGUAGE sql AS 'SELECT id::text';
             CREATE VIEW olds AS SELECT old(film_id) FROM film;",
            SqlState::UNDEFINED_FUNCTION,
            "CREATE VIEW \"Film Shop\".olds AS",
        ),
        (
            "CREATE FUNCTION old(id anyelement) RETURNS text LANGUAGE plpgsql AS $$
             BEGIN
                 IF pg_typeof(id) <> 'integer'::regtype THEN RAISE 'not yet'; END IF;
                 RETURN id;
             END $$;
             CREATE MATERIALIZED VIEW olds AS SELECT old(film_id) FROM film;",
            SqlState::RAISE_EXCEPTION,
            "REFRESH MATERIALIZED VIEW \"Film Shop\".olds",
        ),
    ] {
        let view = format!("SET ROLE \"Shop Owner\"; {view} RESET ROLE;");
        client.batch_execute(&view).expect("a view");
        let old = files(&mut client);
        let error = error_of(client.query(&rehearse, &[]));
        assert_eq!(error.code(), &sqlstate, "{error}");
        let statement = error.detail().or(error.where_()).unwrap_or_default();
        assert!(statement.contains(failing), "{error:?}");
        assert_same("the files", &files(&mut client), &old);
        let object = if view.contains("MATERIALIZED") { "MATERIALIZED VIEW" } else { "VIEW" };
        client.batch_execute(&format!("DROP {object} olds")).expect("dropped");
    }
}

/// Without `recreate`, a conversion is refused, and says all that is in the way.
#[test]
fn all_dependents_are_named() {
    let cluster = prepared_application();
    let mut client = cluster.connect();
    for more in ["", ", dependents => 'refuse'", ", dry_run => false", ", rehearse => true"] {
        let error = error_of(client.query(&format!("{CONVERT}{more})"), &[]));
        assert_eq!(error.code(), &SqlState::DEPENDENT_OBJECTS_STILL_EXIST, "{error}");
        let detail = error.detail().unwrap_or_default().replace("\"Film Shop\".", "");
        let missing: Vec<_> = DEPENDENTS.iter().filter(|name| !detail.contains(**name)).collect();
        assert!(missing.is_empty(), "{missing:#?} are not named: {detail}");
        for other in ["setting_list", "price_list", "cheapest", "artist_renamed", "policy own"] {
            assert!(!detail.contains(other), "{other} is not in the way: {detail}");
        }
        assert!(error.hint().is_some_and(|hint| hint.contains("recreate")), "{:?}", error.hint());
    }
}
