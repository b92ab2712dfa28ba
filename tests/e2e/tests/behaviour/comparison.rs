//! docs/compare.md.

use super::documents::page;

/// The comparison has no figures but those of the page of performance, which are measured.
#[test]
fn the_figures_of_the_comparison_are_measured() {
    fn rows(text: &str) -> impl Iterator<Item = Vec<&str>> {
        let rows = text.lines().filter(|line| line.starts_with('`') && line.contains(" | "));
        rows.map(|line| line.split(" | ").collect())
    }
    let (comparison, performance) =
        (page("docs/compare.md").text, page("docs/performance.md").text);
    let mut figures = 0;
    for row in rows(&comparison) {
        for figure in row[1..].iter().filter(|figure| **figure != "–") {
            let is_measured = rows(&performance).any(|r| r[0] == row[0] && r.contains(figure));
            assert!(is_measured, "{}: {figure}", row[0]);
            figures += 1;
        }
    }
    assert!(figures >= 15, "the comparison has {figures} figures");
}
