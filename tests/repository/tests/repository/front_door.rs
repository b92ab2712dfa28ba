//! A reader who comes for the first time finds what README.md is for, and the words of an error.

use std::fs;
use std::path::Path;

use snowflake_repository::{page, tree};

/// The commands that a reader needs before a change of the project.
const COMMANDS: [&str; 3] = ["make run", "make test", "make release"];

#[test]
fn the_readme_shows_the_thing_itself_and_is_short() {
    let readme = page("README.md").text;
    let lines: Vec<&str> = readme.lines().collect();
    assert!(lines.len() <= 150, "README.md has {} lines", lines.len());
    for shown in ["CREATE TABLE", "INSERT INTO", "snowflake_parse(", "2124103026594680832 | "] {
        assert!(lines[..15].iter().any(|line| line.contains(shown)), "{shown} comes late");
    }
    let (before, _) = readme.split_once("\n## Contribute\n").expect("a section for contributors");
    for (at, _) in before.match_indices("make ") {
        let is_command = before[..at].ends_with(['`', '\n']) || before[..at].ends_with("$ ");
        let is_known = COMMANDS.iter().any(|command| before[at..].starts_with(command));
        assert!(!is_command || is_known, "{}", before[at..].lines().next().unwrap_or_default());
    }
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

#[test]
fn the_headings_of_troubleshooting_are_messages_that_there_are() {
    let sources = sources(&tree().join("src"));
    let troubleshooting = page("docs/troubleshooting.md");
    let mut messages = 0;
    for section in ["Error messages", "Lines in the log"] {
        let section = troubleshooting.section(section);
        let headings = section.text.lines().filter_map(|line| line.strip_prefix("### "));
        for heading in headings.filter(|heading| *heading != "The server does not start") {
            for part in heading.to_lowercase().split("...") {
                assert!(sources.contains(part.trim()), "no message has: {part}");
            }
            messages += 1;
        }
    }
    assert!(messages >= 12, "{messages} messages");
}

#[test]
fn troubleshooting_has_every_row_of_the_check() {
    let checks = page("src/check/mod.rs").text;
    let (_, rows) = checks.split_once("const ROWS").expect("the rows of the check");
    let (rows, _) = rows.split_once("];\n").expect("the end of the rows");
    let rows = rows.lines().filter_map(|line| line.trim().strip_prefix("(\"")?.split('"').next());
    let table = page("docs/troubleshooting.md").section("Rows of the check").text;
    let missing: Vec<&str> = rows.filter(|row| !table.contains(&format!("`{row}`"))).collect();
    assert!(missing.is_empty(), "{missing:?}");
}
