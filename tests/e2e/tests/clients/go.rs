//! Clients of Go programs.

use snowflake_e2e::bigint;

use crate::program::{Program, stdout};

/// pgx: an ID is an int64, its time a `time.Time`, and rows with IDs that were taken first are
/// copied.
#[test]
fn pgx() {
    let program = Program::of("pgx");
    let printed = stdout(program.tool("orders", &[]));
    assert_eq!(program.assert_orders(&printed), 3);
    let issued_at = printed.lines().find_map(|line| line.strip_prefix("issued at "));
    let query = "SELECT (snowflake_json(id) ->> 'unix_ms')::bigint FROM orders WHERE item = 'tea'";
    let expected = bigint(&mut program.cluster.connect(), query);
    assert_eq!(issued_at, Some(&*expected.to_string()));
}
