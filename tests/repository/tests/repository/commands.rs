//! The commands that documents show are those that something runs.

use snowflake_repository::{documents, page};

#[test]
fn the_shell_commands_of_every_document_are_run_by_a_test() {
    // installation.rs runs make install. Continuous integration runs the others, and what measures
    // with QUICK=1.
    let ci = [".ci/run", ".ci/nightly"].map(|script| page(script).text).concat();
    for document in documents() {
        for block in document.blocks().into_iter().filter(|block| block.language == "sh") {
            for line in block.text.lines().filter(|line| *line != "make install") {
                let measures = ["make bench", "make latency"].contains(&line);
                let line = if measures { format!("{line} QUICK=1") } else { line.to_owned() };
                assert!(
                    ci.lines().any(|other| other.trim().trim_start_matches("exec ") == line),
                    "{}: neither .ci/run nor .ci/nightly runs {line}",
                    document.name
                );
            }
        }
    }
}

/// A command line is run by the programs and options that it begins with, in the test that builds
/// and installs the files of a release (`make test-release`).
#[test]
fn the_commands_for_packages_are_those_of_the_test_of_releases() {
    let story = page("packaging/story").text + &page("tools/test-release").text;
    let mut commands = 0;
    let (readme, packages) = (page("README.md"), page("docs/packages.md"));
    for block in
        [readme.section("Install"), packages.section("Tarballs")].iter().flat_map(|s| s.blocks())
    {
        for line in block.text.lines().filter(|_| block.language == "console") {
            let command = line.trim_start_matches("$ ").trim_start_matches("sudo ");
            let command = match command.split_once(' ') {
                Some((variable, rest)) if variable.starts_with("PG_CONFIG=") => rest,
                _ => command,
            };
            let words: Vec<&str> = command.split(' ').collect();
            let run = match (words[0], words[0].rsplit_once('/')) {
                ("make", _) => format!("tools/{}\"", words[1]),
                (_, Some((_, program))) => format!("/{program} "),
                (_, None) => words[..2].join(" "),
            };
            assert!(story.contains(&run), "nothing runs {run}");
            commands += 1;
        }
    }
    assert!(commands >= 4, "{commands} commands");
}

/// The names of packages, tarballs and other files of a release that the pages give are those of
/// the release that the tree becomes.
#[test]
fn file_names_have_the_version_of_the_tree() {
    let cargo = page("Cargo.toml").text;
    let version = cargo.lines().find_map(|line| line.strip_prefix("version = \""));
    let version = version.and_then(|rest| rest.strip_suffix('"')).expect("a version");
    let mut names = 0;
    for name in ["README.md", "docs/packages.md"] {
        let text = page(name).text;
        for start in ["snowflake_pg-", "snowflake-pg_", "target/release-"] {
            for (_, rest) in
                text.match_indices(start).map(|(at, _)| text.split_at(at + start.len()))
            {
                let end =
                    rest.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(rest.len());
                let named = rest[..end].trim_end_matches('.');
                if named.contains('.') {
                    assert_eq!(named, version, "{name}: {start}");
                    names += 1;
                }
            }
        }
    }
    assert!(names >= 10, "{names} names");
}
