//! SQL can be read: lines fit into a window, and files have one topic.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;

use snowflake_repository::tree;

/// Columns of a line, which a window beside another one shows without breaking it.
const COLUMNS: usize = 110;
/// Lines of a file.
const LINES: usize = 250;

#[test]
fn lines_of_sql_are_short() {
    let mut long = Vec::new();
    for path in files(&["sql", "rs"]) {
        let text = fs::read_to_string(&path).expect("a file in UTF-8");
        for (number, line) in text.lines().enumerate() {
            let columns = line.chars().count();
            if columns > COLUMNS {
                long.push(format!("{}:{} has {columns} columns", path.display(), number + 1));
            }
        }
        if path.extension().is_some_and(|extension| extension == "sql") {
            let lines = text.lines().count();
            if lines > LINES {
                long.push(format!("{} has {lines} lines", path.display()));
            }
        }
    }
    assert!(long.is_empty(), "too long:\n{}", long.join("\n"));
}

/// Where two blocks of SQL name nothing but the same block before them, pgrx writes either of them
/// first, and two builds are not the same.
#[test]
fn blocks_of_sql_have_one_order() {
    let mut followers = BTreeMap::<String, Vec<String>>::new();
    for path in files(&["rs"]) {
        let text = fs::read_to_string(&path).expect("a file in UTF-8");
        for block in text.split("\nextension_sql").skip(1) {
            let block = block.split("#[pg_extern").next().unwrap_or_default();
            let Some((_, rest)) = block.split_once("requires = [") else { continue };
            let required = rest.split(']').next().expect("a list");
            // A function of Rust, which has a place of its own, is named by its path.
            if required.split(',').all(|name| name.trim().starts_with('"')) {
                let required = required.trim().to_owned();
                followers.entry(required).or_default().push(path.display().to_string());
            }
        }
    }
    assert!(followers.len() > 4, "only these were found: {followers:?}");
    followers.retain(|_, followers| followers.len() > 1);
    assert!(followers.is_empty(), "which comes first? {followers:?}");
}

/// The files of the library and of its SQL with one of these extensions. An upgrade script, which
/// has `--` in its name, repeats what pgrx wrote.
fn files(extensions: &[&str]) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut left = ["src", "sql"].map(|name| tree().join(name)).to_vec();
    while let Some(directory) = left.pop() {
        for entry in fs::read_dir(directory).expect("a directory") {
            let path = entry.expect("an entry").path();
            let name = path.file_name().expect("a name").to_string_lossy();
            if path.is_dir() {
                left.push(path);
            } else if name.contains("--") {
                continue;
            } else if extensions.iter().any(|wanted| path.extension().is_some_and(|e| e == *wanted))
            {
                found.push(path);
            }
        }
    }
    found.sort();
    assert!(found.len() > 20, "{found:?}");
    found
}
