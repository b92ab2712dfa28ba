//! Figures of speed on the pages.

use snowflake_repository::page;

/// The figure of README.md for an INSERT is in the table, and docs/performance.md gives it before
/// the figures of calls and of the loop that a reader would try.
#[test]
fn what_an_insert_gains_comes_first() {
    let performance = page("docs/performance.md").text;
    let row = performance.lines().find(|line| line.starts_with("`nextval()` | ")).expect("a row");
    let insert: f64 = row.split(" | ").nth(2).and_then(|cell| cell.parse().ok()).expect("a figure");
    assert_eq!((4.0 / insert).round(), 3.0, "three quarters");
    let readme = page("README.md").text;
    assert!(readme.contains("`INSERT` takes three quarters of the time"));
    let parts =
        ["insert takes three quarters of the time", "a call is", "generate_series(1, 1000000)"];
    assert!(parts.map(|part| performance.find(part).expect(part)).is_sorted());
}
