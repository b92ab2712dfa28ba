//! `make help` prints what CONTRIBUTING.md says of each target.

use std::collections::BTreeSet;
use std::process::Command;

use snowflake_repository::{page, tree};

/// The widest line that a terminal of 100 columns shows without breaking it.
const WIDTH: usize = 100;

#[test]
fn each_target_has_one_line() {
    let makefile = page("Makefile").text;
    // A target is what stands before a colon at the start of a line, or several of them. PGXN's
    // client runs `all`, which is for no person.
    let targets: BTreeSet<&str> = makefile
        .lines()
        .filter(|line| line.starts_with(|c: char| c.is_ascii_lowercase()))
        .filter_map(|line| line.split_once(':').filter(|(_, rest)| !rest.starts_with('=')))
        .map(|(target, _)| target)
        .filter(|target| !target.contains(' ') && !["all", "help"].contains(target))
        .collect();
    assert!(targets.len() > 20, "{targets:?}");

    let mut make = Command::new("make");
    make.arg("-C").arg(tree()).args(["--no-print-directory", "help"]);
    let output = make.output().expect("make runs");
    assert!(output.status.success());
    let help = String::from_utf8(output.stdout).expect("UTF-8");
    let mut listed = BTreeSet::new();
    for line in help.lines() {
        assert!(line.len() <= WIDTH, "{line}");
        assert!(!line.contains(['`', '[', '|']), "a line with marks of Markdown: {line}");
        let mut words = line.split_whitespace();
        assert_eq!(words.next(), Some("make"), "{line}");
        assert!(listed.insert(words.next().expect("a target")), "twice: {line}");
    }
    assert_eq!(listed, targets);
}
