//! Diesel and sqlx.

use std::process::Output;

use snowflake_e2e::bigint;

use super::{FIRST, SECOND, assert_adopted, assert_rows};
use crate::program::{Program, stdout};

/// What a program of a blog in Rust does with this argument.
fn run(program: &Program, name: &str, argument: &str) -> Output {
    program.command(&program.built(name), &[argument]).output().expect("the program runs")
}

/// What it prints if it succeeds.
#[track_caller]
fn printed(program: &Program, name: &str, argument: &str) -> String {
    stdout(run(program, name, argument))
}

/// What it says if it fails.
#[track_caller]
fn error(output: Output) -> String {
    assert!(!output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
    String::from_utf8(output.stderr).expect("UTF-8")
}

/// The statement that the hint of a warning tells to execute.
pub fn hinted(said: &str) -> &str {
    let (_, hint) =
        said.split_once("Convert it with ").unwrap_or_else(|| panic!("no hint: {said}"));
    hint.lines().next().and_then(|line| line.strip_suffix('.')).expect("a sentence")
}

/// Asserts that the server has warned of the integer reference to the editor of a post, and that
/// the program has not told its user.
#[track_caller]
fn assert_warned_silently(program: &Program, migrated: Output) {
    assert_eq!(String::from_utf8_lossy(&migrated.stderr), "");
    stdout(migrated);
    let warning = "WARNING:  column editor_id of table public.posts cannot hold the snowflake IDs";
    let log = program.cluster.log();
    assert_eq!(log.matches(warning).count(), 1, "{log}");
}

/// Follows the hint of the warning.
fn follow_the_hint(program: &Program) {
    let mut client = program.cluster.connect();
    client.batch_execute(hinted(&program.cluster.log())).expect("a conversion");
    let is_valid = "SELECT count(*) FROM pg_constraint
                    WHERE conname = 'posts_editor_id_fkey' AND convalidated";
    assert_eq!(bigint(&mut client, is_valid), 1);
}

/// What a program prints of a post that it has read, without IDs.
const READ: &str = "Tea: drinks\nTea: kitchen\nTea: How long? (Bob)\n";

/// Diesel's migrations declare keys as `SERIAL` and references as `INTEGER`, and its models use
/// `i64`. Migrations that were run are not run again.
#[test]
fn diesel() {
    let program = Program::of_blog("diesel");
    assert_eq!(printed(&program, "blog-diesel", "first"), "20260105090000\n");
    assert_adopted(&program.cluster, FIRST);
    let second = printed(&program, "blog-diesel", "migrate");
    assert_eq!(second, "20260202090000\npending: false\n");
    assert_adopted(&program.cluster, SECOND);
    assert_eq!(printed(&program, "blog-diesel", "migrate"), "pending: false\n");

    let written = printed(&program, "blog-diesel", "write");
    assert!(written.ends_with(READ), "{written}");
    let liked = printed(&program, "blog-diesel", "like");
    assert!(liked.ends_with("Tea: A start, edited by Bob\n"), "{liked}");
    assert_rows(&program.cluster, SECOND, &(written + &liked));
    let joined = "SELECT count(*) FROM posts_tags";
    assert_eq!(bigint(&mut program.cluster.connect(), joined), 2);
    assert!(!program.cluster.log().contains("WARNING"), "{}", program.cluster.log());
}

/// If a table has rows, an `INTEGER` reference that Diesel adds to it stays one. Diesel does not
/// print the warning, which is in the log of the server. Until its hint is followed, the reference
/// takes no new key.
#[test]
fn diesel_does_not_print_the_warning_of_a_reference_that_stays_an_integer() {
    let program = Program::of_blog("diesel");
    printed(&program, "blog-diesel", "first");
    let written = printed(&program, "blog-diesel", "write");
    assert_warned_silently(&program, run(&program, "blog-diesel", "migrate"));

    let refused = run(&program, "blog-diesel", "like");
    let liked = String::from_utf8(refused.stdout.clone()).expect("UTF-8");
    let said = error(refused);
    assert!(said.contains("integer out of range"), "{said}");

    follow_the_hint(&program);
    assert_adopted(&program.cluster, SECOND);
    let edited = printed(&program, "blog-diesel", "like");
    assert!(edited.ends_with("Tea: A start, edited by Bob\n"), "{edited}");
    assert_rows(&program.cluster, SECOND, &(written + &liked + &edited));
}

/// A schema without the spaces that depend on whether Diesel finds rustfmt.
fn without_spaces(schema: &str) -> String {
    schema.split_whitespace().collect()
}

/// `diesel print-schema` prints `Int8` for keys and references, and without adoption it prints
/// `Int4`. `--locked-schema`, which checks the file, refuses the latter. The migration that
/// `--diff-schema` makes of the difference would drop the keys.
#[test]
fn diesel_prints_a_schema_of_int8() {
    let program = Program::of_blog("diesel");
    let host = program.cluster.directory().display();
    let plain = format!("postgresql:///plain?host={host}&user=postgres");
    program.cluster.connect().batch_execute("CREATE DATABASE plain").expect("a database");
    let diesel = |arguments: &[&str]| {
        let output = program.command(&program.installed("bin/diesel"), arguments).output();
        output.expect("diesel_cli is installed")
    };
    let [schema, of_integers] =
        ["src/schema.rs", "src/schema_of_integers.rs"].map(|file| program.read(file));

    // With a schema that is right, this changes nothing.
    stdout(diesel(&["migration", "run", "--locked-schema"]));
    let in_adopted = stdout(diesel(&["print-schema"]));
    assert_eq!(without_spaces(&in_adopted), without_spaces(&schema));

    program.write("src/schema.rs", &of_integers);
    stdout(diesel(&["migration", "run", "--locked-schema", "--database-url", &plain]));
    let in_plain = stdout(diesel(&["print-schema", "--database-url", &plain]));
    assert_eq!(without_spaces(&in_plain), without_spaces(&of_integers));
    assert_eq!(of_integers.replace("Int4", "Int8"), schema);

    let refused = error(diesel(&["migration", "run", "--locked-schema"]));
    assert!(refused.contains("Command would result in changes"), "{refused}");
    let generated = ["migration", "generate", "--diff-schema", "--version", "3", "differ"];
    stdout(diesel(&generated));
    let up = program.read("migrations/3_differ/up.sql");
    assert!(up.contains("ALTER TABLE \"users\" DROP COLUMN \"id\";"), "{up}");
}

/// With a schema that was printed without adoption, the row is inserted, and its ID cannot be read.
#[test]
fn diesel_does_not_read_an_id_as_int4() {
    let program = Program::of_blog("diesel");
    printed(&program, "blog-diesel", "migrate");
    let said = error(run(&program, "blog-diesel", "stale"));
    assert!(said.contains("Received more than 4 bytes while decoding an i32"), "{said}");
    assert_eq!(program.ids("users").len(), 1);
}

/// sqlx's migrations declare keys as `BIGSERIAL`, `SERIAL` and identity columns. sqlx compares the
/// checksums of migrations that were run, and not what they have become, so it is content.
#[test]
fn sqlx() {
    let program = Program::of_blog("sqlx");
    printed(&program, "blog-sqlx", "first");
    assert_adopted(&program.cluster, FIRST);
    printed(&program, "blog-sqlx", "migrate");
    assert_adopted(&program.cluster, SECOND);

    let written = printed(&program, "blog-sqlx", "write");
    assert!(written.ends_with(READ), "{written}");
    let liked = printed(&program, "blog-sqlx", "like");
    assert!(liked.ends_with("Tea: A start, edited by Bob\n"), "{liked}");
    assert_rows(&program.cluster, SECOND, &(written + &liked));
    let joined = "SELECT count(*) FROM posts_tags";
    assert_eq!(bigint(&mut program.cluster.connect(), joined), 2);

    printed(&program, "blog-sqlx", "migrate");
    printed(&program, "blog-sqlx", "migrate-from-files");
    let first = "migrations/20260105090000_create_blog.sql";
    program.write(first, &program.read(first).replace("BIGSERIAL", "BIGINT"));
    let said = error(run(&program, "blog-sqlx", "migrate-from-files"));
    assert!(said.contains("VersionMismatch(20260105090000)"), "{said}");
}

/// References that are declared as `BIGINT` need no conversion, so they can be added to a table
/// that has rows.
#[test]
fn sqlx_adds_a_bigint_reference_to_a_table_with_rows() {
    let program = Program::of_blog("sqlx");
    printed(&program, "blog-sqlx", "first");
    let written = printed(&program, "blog-sqlx", "write");
    printed(&program, "blog-sqlx", "migrate");
    assert_adopted(&program.cluster, SECOND);
    let liked = printed(&program, "blog-sqlx", "like");
    assert!(liked.ends_with("Tea: A start, edited by Bob\n"), "{liked}");
    assert_rows(&program.cluster, SECOND, &(written + &liked));
    assert!(!program.cluster.log().contains("WARNING"), "{}", program.cluster.log());
}

/// An `INTEGER` reference stays one then. Without a logger, sqlx does not print the warning, which
/// is in the log of the server. Until its hint is followed, the reference takes no new key.
#[test]
fn sqlx_does_not_print_the_warning_of_a_reference_that_stays_an_integer() {
    let program = Program::of_blog("sqlx");
    let second = "migrations/20260202090000_add_likes.sql";
    let integer = program.read(second).replace("editor_id BIGINT", "editor_id INTEGER");
    program.write(second, &integer);
    printed(&program, "blog-sqlx", "first");
    let written = printed(&program, "blog-sqlx", "write");
    assert_warned_silently(&program, run(&program, "blog-sqlx", "migrate-from-files"));

    let refused = run(&program, "blog-sqlx", "like");
    let liked = String::from_utf8(refused.stdout.clone()).expect("UTF-8");
    let said = error(refused);
    assert!(said.contains("integer out of range"), "{said}");

    follow_the_hint(&program);
    assert_adopted(&program.cluster, SECOND);
    let edited = printed(&program, "blog-sqlx", "like");
    assert!(edited.ends_with("Tea: A start, edited by Bob\n"), "{edited}");
    assert_rows(&program.cluster, SECOND, &(written + &liked + &edited));
}

/// A key that is declared as `SERIAL` was an `i32`, and has to be an `i64`. Otherwise the row is
/// inserted, and its ID cannot be read. In a database that is not adopted, an `i32` is right.
#[test]
fn sqlx_does_not_read_an_id_as_i32() {
    let program = Program::of_blog("sqlx");
    printed(&program, "blog-sqlx", "migrate");
    let said = error(run(&program, "blog-sqlx", "stale"));
    let mismatch = "Rust type `i32` (as SQL type `INT4`) is not compatible with SQL type `INT8`";
    assert!(said.contains(mismatch), "{said}");
    assert_eq!(program.ids("tags").len(), 1);

    program.cluster.connect().batch_execute("CREATE DATABASE plain").expect("a database");
    let host = program.cluster.directory().display();
    for argument in ["migrate", "stale"] {
        let mut command = program.command(&program.built("blog-sqlx"), &[argument]);
        command.env("DATABASE_URL", format!("postgresql:///plain?host={host}&user=postgres"));
        stdout(command.output().expect("the program runs"));
    }
    let mut plain = program.cluster.connect_to("plain");
    assert_eq!(bigint(&mut plain, "SELECT max(id)::bigint FROM tags"), 1);
}
