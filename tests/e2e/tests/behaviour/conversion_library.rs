//! Conversion is an extension with a library of its own: what needs it creates it, and a mend needs
//! no restart.

use std::fs;

use postgres::Client;
use postgres::error::SqlState;
use snowflake_e2e::{Cluster, Programs, bigint, error_of, new_directory};

const CONVERT: &str = "SELECT snowflake_convert('orders', 'id', dry_run => false)";

/// What an argument that makes no sense is answered with.
const MESSAGE: &str = "exactly one of relation and schema must be given";

fn message(client: &mut Client) -> String {
    error_of(client.batch_execute("SELECT snowflake_convert()")).message().to_owned()
}

/// A new file is loaded by new sessions of a server that runs on, and the old one stays with those
/// that have it.
#[test]
fn a_mended_conversion_is_a_new_file_and_a_new_session() {
    const STARTED: &str = "SELECT (extract(epoch FROM pg_postmaster_start_time()) * 1e6)::bigint";
    let mended = MESSAGE.replace("must be given", "can be given!");
    assert_eq!(mended.len(), MESSAGE.len());
    // Other tests use the files of the server meanwhile.
    let directory = new_directory();
    let programs = Programs::from_env().copy(&directory.path().join("server"));
    let cluster = Cluster::builder().programs(programs.clone()).with_conversion().start();
    let mut before = cluster.connect();
    let started = bigint(&mut before, STARTED);
    assert_eq!(message(&mut before), MESSAGE);

    let file = programs.modules().join("snowflake_convert.so");
    let mut library = fs::read(&file).expect("the library");
    let is_message = |part: &[u8]| part == MESSAGE.as_bytes();
    let at = library.windows(MESSAGE.len()).position(is_message).expect("the message is in it");
    library[at..at + mended.len()].copy_from_slice(mended.as_bytes());
    let new = file.with_extension("new");
    fs::write(&new, library).expect("a directory of ours");
    fs::set_permissions(&new, fs::metadata(&file).expect("a file").permissions()).expect("ours");
    fs::rename(&new, &file).expect("a directory of ours");

    assert_eq!(message(&mut before), MESSAGE);
    let mut after = cluster.connect();
    assert_eq!(message(&mut after), mended);
    assert_eq!(bigint(&mut after, STARTED), started);
}

/// Who has converted needs the extension no longer.
#[test]
fn converted_keys_stay_without_the_extension() {
    let cluster = Cluster::start_with_conversion();
    let mut client = cluster.connect();
    client.batch_execute("CREATE TABLE orders (id serial PRIMARY KEY)").expect("a table");
    client.batch_execute(CONVERT).expect("converted");
    client.batch_execute("DROP EXTENSION snowflake_convert").expect("dropped");
    let id = bigint(&mut client, "INSERT INTO orders DEFAULT VALUES RETURNING id");
    assert_eq!(bigint(&mut client, "SELECT snowflake_currval()"), id);
    let error = error_of(client.batch_execute("DROP EXTENSION snowflake"));
    assert_eq!(error.code(), &SqlState::DEPENDENT_OBJECTS_STILL_EXIST);
    client.batch_execute("CREATE EXTENSION snowflake_convert").expect("created again");
    client.batch_execute(CONVERT).expect("there is nothing to do");
}

/// The two extensions can be in schemas of their own, which need not be in `search_path`.
#[test]
fn the_extension_finds_the_other_one_in_any_schema() {
    let mut cluster = Cluster::builder().create();
    cluster.start_again();
    let mut client = cluster.connect();
    client
        .batch_execute(
            r#"CREATE SCHEMA "My IDs"; CREATE SCHEMA tools;
               CREATE EXTENSION snowflake SCHEMA "My IDs";
               CREATE EXTENSION snowflake_convert SCHEMA tools;
               CREATE TABLE orders (id serial PRIMARY KEY);
               SELECT tools.snowflake_convert('orders', 'id', dry_run => false);
               ALTER SCHEMA "My IDs" RENAME TO "Your IDs";
               CREATE TABLE visits (id serial PRIMARY KEY);
               SELECT tools.snowflake_convert('visits', 'id', dry_run => false)"#,
        )
        .expect("converted");
    let defaults = r#"SELECT count(*) FROM pg_attrdef
        WHERE pg_get_expr(adbin, adrelid) = '"Your IDs".snowflake_nextval()'"#;
    assert_eq!(bigint(&mut client, defaults), 2);
}

/// An ID that a conversion takes, to compare keys with, is not the session's last one.
#[test]
fn a_conversion_does_not_change_currval() {
    let cluster = Cluster::start_with_conversion();
    let mut client = cluster.connect();
    let last = bigint(&mut client, "SELECT snowflake_nextval()");
    client.batch_execute("CREATE TABLE orders (id serial PRIMARY KEY)").expect("a table");
    client.batch_execute(CONVERT).expect("converted");
    assert_eq!(bigint(&mut client, "SELECT snowflake_currval()"), last);
    assert!(bigint(&mut client, "SELECT snowflake_nextval()") > last + 1);
}

/// The list of functions of a database that only takes IDs is read at a glance.
#[test]
fn the_functions_of_the_generator_fit_a_screen() {
    const LINES: usize = 48;
    let cluster = Cluster::start();
    let mut psql = cluster.client_program("psql");
    let output = psql.args(["-X", "-c", r"\df snowflake_*"]).output().expect("psql runs");
    let list = String::from_utf8(output.stdout).expect("UTF-8");
    assert!(list.contains("snowflake_nextval"), "{list}");
    assert!(!list.contains("snowflake_convert"), "{list}");
    assert!(list.lines().count() <= LINES, "{list}");
}
