//! docs/compare.md.

use snowflake_repository::page;

/// The tables of a page, each as rows of cells with the headings first.
fn tables(text: &str) -> Vec<Vec<Vec<&str>>> {
    let parts = text.split("\n\n").filter(|part| part.contains("\n--- | "));
    parts.map(|part| part.lines().map(|line| line.split(" | ").collect()).collect()).collect()
}

/// The tables have no figures but those of the page of performance, which are measured, and none is in
/// a column that says something else. What the text says is on that page, too.
#[test]
fn the_figures_of_the_comparison_are_measured() {
    /// A heading of the comparison, and the one of the same figure on the other page.
    const HEADINGS: [(&str, &str); 3] =
        [("One call, ns", "ns"), ("INSERT, seconds", "seconds"), ("Index, MB", "index, MB")];
    let (comparison, performance) =
        (page("docs/compare.md").text, page("docs/performance.md").text);
    let measured = tables(&performance);
    let is_measured = |key: &str, heading: &str, figure: &str| {
        measured.iter().any(|table| {
            let column = table[0].iter().position(|other| *other == heading);
            let mut rows = table.iter().filter(|row| row[0] == key);
            column.is_some_and(|column| rows.any(|row| row[column] == figure))
        })
    };
    let comparison = tables(&comparison);
    let figures = comparison.iter().find(|table| table[0][0] == "Key").expect("a table of figures");
    let headings: Vec<&str> = figures[0][1..].to_vec();
    assert_eq!(headings, HEADINGS.map(|(heading, _)| heading));
    let mut count = 0;
    for row in &figures[2..] {
        assert_eq!(row.len(), figures[0].len(), "{row:?}");
        for (figure, (_, heading)) in row[1..].iter().zip(HEADINGS) {
            if *figure != "–" {
                assert!(is_measured(row[0], heading, figure), "{}, {heading}: {figure}", row[0]);
                count += 1;
            }
        }
    }
    assert!(count >= 11, "the comparison has {count} figures");
    for page in ["docs/compare.md", "docs/performance.md"].map(page) {
        assert!(page.text.contains("244 ns"));
    }
}
