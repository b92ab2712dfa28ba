//! Diesel and sqlx.

use std::process::Output;

use snowflake_e2e::bigint;

use super::{FIRST, SECOND, assert_adopted, assert_no_warning, assert_story, blog, hinted};
use crate::program::{Program, error, stdout};

/// What a program of a blog in Rust does with this argument.
fn run(program: &Program, name: &str, argument: &str) -> Output {
    program.command(&program.built(name), &[argument]).output().expect("the program runs")
}

/// What it prints if it succeeds.
#[track_caller]
fn printed(program: &Program, name: &str, argument: &str) -> String {
    stdout(run(program, name, argument))
}

/// Diesel's migrations declare keys as `BIGSERIAL` and references as `BIGINT`. Migrations that were run are not run again.
#[test]
fn diesel() {
    let program = blog("diesel");
    assert_eq!(printed(&program, "blog-diesel", "first"), "20260105090000\n");
    assert_adopted(&program.cluster, FIRST);
    let second = printed(&program, "blog-diesel", "migrate");
    assert_eq!(second, "20260202090000\npending: false\n");
    assert_adopted(&program.cluster, SECOND);
    assert_eq!(printed(&program, "blog-diesel", "migrate"), "pending: false\n");

    let written = printed(&program, "blog-diesel", "write");
    let liked = printed(&program, "blog-diesel", "like");
    assert_story(&program, &written, &liked);
    let joined = "SELECT count(*) FROM posts_tags";
    assert_eq!(bigint(&mut program.cluster.connect(), joined), 2);
    assert_no_warning(&program);
}

/// A schema without the spaces that depend on whether Diesel finds rustfmt.
fn without_spaces(schema: &str) -> String {
    schema.split_whitespace().collect()
}

/// `diesel print-schema` prints the same `Int8` as without adoption, and `--locked-schema`, which checks
/// the file, accepts it.
#[test]
fn diesel_prints_the_same_schema() {
    let program = blog("diesel");
    let diesel = |arguments: &[&str]| {
        let output = program.command(&program.installed("bin/diesel"), arguments).output();
        output.expect("diesel_cli is installed")
    };
    let schema = program.read("src/schema.rs");
    stdout(diesel(&["migration", "run", "--locked-schema"]));
    let printed = stdout(diesel(&["print-schema"]));
    assert_eq!(without_spaces(&printed), without_spaces(&schema));
    assert_adopted(&program.cluster, SECOND);
}

/// sqlx's migrations declare keys as `BIGSERIAL` and identity columns. sqlx compares the
/// checksums of migrations that were run, and not what they have become, so it is content.
#[test]
fn sqlx() {
    let program = blog("sqlx");
    printed(&program, "blog-sqlx", "first");
    assert_adopted(&program.cluster, FIRST);
    printed(&program, "blog-sqlx", "migrate");
    assert_adopted(&program.cluster, SECOND);

    let written = printed(&program, "blog-sqlx", "write");
    let liked = printed(&program, "blog-sqlx", "like");
    assert_story(&program, &written, &liked);
    let joined = "SELECT count(*) FROM posts_tags";
    assert_eq!(bigint(&mut program.cluster.connect(), joined), 2);

    printed(&program, "blog-sqlx", "migrate");
    printed(&program, "blog-sqlx", "migrate-from-files");
    program.replace("migrations/20260105090000_create_blog.sql", "BIGSERIAL", "BIGINT");
    let said = error(run(&program, "blog-sqlx", "migrate-from-files"));
    assert!(said.contains("VersionMismatch(20260105090000)"), "{said}");
}

/// References that are declared as `BIGINT` need no conversion, so they can be added to a table
/// that has rows.
#[test]
fn sqlx_adds_a_bigint_reference_to_a_table_with_rows() {
    let program = blog("sqlx");
    printed(&program, "blog-sqlx", "first");
    let written = printed(&program, "blog-sqlx", "write");
    printed(&program, "blog-sqlx", "migrate");
    assert_adopted(&program.cluster, SECOND);
    let liked = printed(&program, "blog-sqlx", "like");
    assert_story(&program, &written, &liked);
    assert_no_warning(&program);
}

/// An `INTEGER` reference stays one then. Without a logger, sqlx does not print the warning, which
/// is in the log of the server. Until its hint is followed, the reference takes no new key.
#[test]
fn sqlx_does_not_print_the_warning_of_a_reference_that_stays_an_integer() {
    let program = blog("sqlx");
    let second = "migrations/20260202090000_add_likes.sql";
    program.replace(second, "editor_id BIGINT", "editor_id INTEGER");
    printed(&program, "blog-sqlx", "first");
    let written = printed(&program, "blog-sqlx", "write");
    let migrated = run(&program, "blog-sqlx", "migrate-from-files");
    assert_eq!(String::from_utf8_lossy(&migrated.stderr), "");
    stdout(migrated);
    let warning = "WARNING:  column editor_id of table public.posts cannot hold the snowflake IDs";
    let log = program.cluster.log();
    assert_eq!(log.matches(warning).count(), 1, "{log}");

    let refused = run(&program, "blog-sqlx", "like");
    let liked = String::from_utf8(refused.stdout.clone()).expect("UTF-8");
    let said = error(refused);
    assert!(said.contains("integer out of range"), "{said}");

    let mut client = program.cluster.connect();
    client.batch_execute(hinted(&log)).expect("mended");
    let is_valid = "SELECT count(*) FROM pg_constraint
                    WHERE conname = 'posts_editor_id_fkey' AND convalidated";
    assert_eq!(bigint(&mut client, is_valid), 1);
    assert_adopted(&program.cluster, SECOND);
    let edited = printed(&program, "blog-sqlx", "like");
    assert_story(&program, &written, &(liked + &edited));
}
