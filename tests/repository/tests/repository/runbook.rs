//! docs/runbook.md has a heading for each alert, for each row of the check, and for messages that
//! there are, and says below each what to look at, what to do, and what not to do.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use snowflake_repository::{page, tree};

/// The most words below a heading that somebody reads at night.
const WORDS: usize = 60;

/// The headings of a section, each with what is below it.
fn headings(section: &str) -> Vec<(String, String)> {
    let section = page("docs/runbook.md").section(section).text;
    let parts = section.split("\n### ").skip(1);
    parts
        .map(|part| part.split_once('\n').expect("what is below a heading"))
        .map(|(heading, below)| (heading.to_owned(), below.trim().to_owned()))
        .collect()
}

fn names(section: &str) -> Vec<String> {
    headings(section).into_iter().map(|(heading, _)| heading).collect()
}

#[test]
fn each_alert_has_its_heading() {
    let alerts = page("monitoring/alerts.yaml").text;
    let mut named = BTreeSet::new();
    for alert in alerts.split("- alert: ").skip(1) {
        let name = alert.lines().next().expect("a name");
        let runbook = format!(
            "runbook: \"https://git.example.com/snowflake_pg/docs/runbook.md#{}\"\n",
            name.to_lowercase()
        );
        assert!(alert.contains(&runbook), "{name} has another runbook");
        named.insert(name.to_owned());
    }
    assert!(named.len() >= 10, "{named:?}");
    assert_eq!(named, names("Alerts").into_iter().collect());
}

#[test]
fn each_row_of_the_check_has_its_heading() {
    let text = page("src/operate/check/mod.rs").text;
    let (_, rows) = text.split_once("const ROWS").expect("the rows of the check");
    let (rows, _) = rows.split_once("];\n").expect("the end of the rows");
    let rows = rows.lines().filter_map(|line| line.trim().strip_prefix("(\"")?.split('"').next());
    let rows: Vec<&str> = rows.chain(["issues IDs"]).collect();
    assert_eq!(names("Rows of the check"), rows);
}

/// The text of all sources below a directory, in which a literal that goes on has one space.
fn sources(directory: &Path) -> String {
    let mut text = String::new();
    for entry in fs::read_dir(directory).expect("a directory") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            text += &sources(&path);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            let source = fs::read_to_string(path).expect("a source");
            let lines = source.split("\\\n").map(str::trim_start);
            text += &lines.collect::<Vec<_>>().concat().to_lowercase();
        }
    }
    text
}

/// One heading has the commands for the services that set clocks, and each heading that needs them
/// leads there.
#[test]
fn one_heading_says_whether_a_clock_is_right() {
    let text = page("docs/runbook.md").text;
    let clock = page("docs/runbook.md").section("Is this clock right?").text;
    for program in ["chronyc", "timedatectl", "ntpq"] {
        assert!(clock.contains(program), "{program}");
        assert_eq!(text.matches(program).count(), clock.matches(program).count(), "{program}");
    }
    assert!(text.matches("](#is-this-clock-right)").count() >= 5);
}

#[test]
fn each_message_is_one_that_there_is() {
    let sources = sources(&tree().join("src"));
    const OF_POSTGRESQL: [&str; 2] = ["The server does not start", "No space left on device"];
    for heading in names("Messages").iter().filter(|name| !OF_POSTGRESQL.contains(&&***name)) {
        for part in heading.to_lowercase().split("...") {
            assert!(sources.contains(part.trim()), "no message has: {part}");
        }
    }
}

#[test]
fn each_heading_says_look_do_and_do_not() {
    for section in ["Alerts", "Rows of the check", "Messages"] {
        for (heading, below) in headings(section) {
            let words = below.split_whitespace().count();
            assert!(words <= WORDS, "{heading}: {words} words");
            // A table belongs to the part before it.
            let parts = below.split("\n\n").filter(|part| !part.contains("\n--- | "));
            let marks: Vec<&str> =
                parts.map(|part| part.split('*').nth(1).unwrap_or_default()).collect();
            let is_link = marks == [""] && below.starts_with("See [");
            let is_known =
                [&["Look:", "Do:"][..], &["Look:", "Do:", "Do not:"]].contains(&&marks[..]);
            assert!(is_link || is_known, "{heading}: {below}");
        }
    }
}
