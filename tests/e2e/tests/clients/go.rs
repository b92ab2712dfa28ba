//! Clients of Go programs.

use snowflake_e2e::bigint;

use crate::program::{Program, stdout};

/// Asserts that the program printed the time of the ID of the tea, in milliseconds of Unix time.
#[track_caller]
fn assert_time(program: &Program, printed: &str) {
    let issued_at = printed.lines().find_map(|line| line.strip_prefix("issued at "));
    let query = "SELECT (snowflake_json(id) ->> 'unix_ms')::bigint FROM orders WHERE item = 'tea'";
    let expected = bigint(&mut program.cluster.connect(), query);
    assert_eq!(issued_at, Some(&*expected.to_string()));
}

/// pgx: an ID is an int64, its time a `time.Time`, and rows with IDs that were taken first are
/// copied.
#[test]
fn pgx() {
    let program = Program::of("pgx");
    let printed = stdout(program.tool("orders", &[]));
    assert_eq!(program.assert_orders(&printed), 3);
    assert_time(&program, &printed);
}

/// GORM, with a table that `AutoMigrate()` creates: one statement for many rows, or for each batch.
/// The second run finds nothing to change.
#[test]
fn gorm() {
    let program = Program::of("gorm");
    let printed: String = (0..2).map(|_| stdout(program.tool("orders", &[]))).collect();
    assert_eq!(program.assert_orders(&printed), 2 * 254);
    // One row, two rows, three batches, and the row whose ID was taken first.
    assert_eq!(program.inserts("\"orders\""), 2 * 6);
    let log = program.cluster.log();
    assert!(!log.contains("ALTER TABLE"), "{log}");
}

/// Code that sqlc makes of queries: the types of IDs and times are those of the casts.
#[test]
fn sqlc() {
    let program = Program::of("sqlc");
    let schema = program.read("schema.sql");
    program.cluster.connect().batch_execute(&schema).expect("the table orders");
    let printed = stdout(program.tool("orders", &[]));
    assert_eq!(program.assert_orders(&printed), 3);
    assert_time(&program, &printed);
}
