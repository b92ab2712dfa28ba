//! Clients of Rust programs.

use snowflake_e2e::bigint;

use crate::program::Program;

/// The crate `postgres`: an ID is an `i64`, and its time a `SystemTime`.
#[test]
fn postgres() {
    let program = Program::of("rust-postgres");
    let printed = program.rust("orders-postgres");
    assert_eq!(program.assert_orders(&printed), 3);
    let issued_at = printed.lines().find_map(|line| line.strip_prefix("issued at "));
    let query = "SELECT (snowflake_json(id) ->> 'unix_ms')::bigint FROM orders WHERE item = 'tea'";
    let expected = bigint(&mut program.cluster.connect(), query);
    assert_eq!(issued_at, Some(&*expected.to_string()));
}

/// sqlx, with statements that are checked when they run.
#[test]
fn sqlx() {
    let program = Program::of("sqlx");
    let printed = program.rust("orders-sqlx");
    assert_eq!(program.assert_orders(&printed), 3);
    let newest = bigint(&mut program.cluster.connect(), "SELECT max(id) FROM orders");
    assert!(printed.ends_with(&format!("newest: sugar, {newest}\n")), "{printed}");
}

/// Diesel, with a struct that has no ID to insert, and one that has.
#[test]
fn diesel() {
    let program = Program::of("diesel");
    assert_eq!(program.assert_orders(&program.rust("orders-diesel")), 3);
    assert_eq!(program.inserts("\"orders\""), 1);
}
