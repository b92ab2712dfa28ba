//! SQL can be read: lines fit into a window, files have one topic, and each part of a WITH clause says
//! what one of its rows is.

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

/// `-- a row: ...` stands in the comment right before each `name AS (`, as in
///
/// ```sql
/// -- a row: a key that is asked for, as one of the columns.
/// target AS (
/// ```
#[test]
fn parts_of_with_clauses_say_what_a_row_is() {
    let mut parts = 0;
    let mut silent = Vec::new();
    for path in files(&["sql"]) {
        let text = fs::read_to_string(&path).expect("a file in UTF-8");
        let lines: Vec<&str> = text.lines().collect();
        for (number, line) in lines.iter().enumerate() {
            if !begins_part(line) {
                continue;
            }
            parts += 1;
            // The names of its columns may take lines of their own.
            let is_whole = |first: usize| {
                let part = lines[first..=number].concat();
                let name = part.rsplit_once("AS").map_or("", |(name, _)| name);
                name.matches('(').count() == name.matches(')').count()
            };
            let first = (0..=number).rev().find(|first| is_whole(*first)).expect("a name");
            let mut comment =
                lines[..first].iter().rev().take_while(|line| line.trim().starts_with("--"));
            if !comment.any(|line| line.trim().starts_with("-- a row: ")) {
                silent.push(format!("{}:{}: {line}", path.display(), number + 1));
            }
        }
    }
    assert!(parts > 80, "only {parts} parts of WITH clauses were found");
    assert!(silent.is_empty(), "what is a row of these?\n{}", silent.join("\n"));
}

/// Whether a query follows `AS`, outside of literals and of `CREATE`: elsewhere, `AS` has the name
/// before the parenthesis.
fn begins_part(line: &str) -> bool {
    if line.starts_with("CREATE ") {
        return false;
    }
    let code: String = line.split('\'').step_by(2).collect::<Vec<_>>().join("''");
    let code = code.split("--").next().unwrap_or_default();
    code.contains(" AS (")
        || code.trim_start().starts_with("AS (")
        || code.trim_end().ends_with(" AS")
}

/// The files of the libraries and of their SQL with one of these extensions. An upgrade script, which
/// has `--` in its name, repeats what pgrx wrote.
fn files(extensions: &[&str]) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut left = ["src", "sql", "crates/snowflake-convert", "crates/snowflake-server"]
        .map(|name| tree().join(name))
        .to_vec();
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
