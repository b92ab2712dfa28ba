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
pub fn files(extensions: &[&str]) -> Vec<PathBuf> {
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

/// A role that may create functions in the extension's schema can make a call by name and arguments
/// ambiguous, with a function of the same name that has a default or is variadic. So scripts call
/// only functions in `snowflake_internal`, where nobody else may create any; all other names come
/// with the types of the parameters alone, which only one function has.
#[test]
fn scripts_call_no_function_that_others_could_overload() {
    let mut calls = Vec::new();
    let mut seen = 0;
    let parts = files(&["sql", "rs"]).into_iter().filter(|path| {
        // The script for hosted services is none of the extension.
        path.extension().is_some_and(|e| e == "sql") && !path.ends_with("hosted.sql")
    });
    for path in parts.chain(scripts()) {
        let text = fs::read_to_string(&path).expect("a file in UTF-8");
        let lines = text.lines().map(|line| line.split("--").next().unwrap_or_default());
        let code = lines.collect::<Vec<_>>().join("\n");
        for statement in code.split(';') {
            let words: Vec<_> = statement.split_whitespace().take(3).collect();
            // These look for exactly these types. What a function is defined as comes after its
            // name.
            let named = match words[..] {
                ["COMMENT" | "DROP" | "ALTER" | "GRANT" | "REVOKE", ..] => usize::MAX,
                ["CREATE", "FUNCTION", _] => 1,
                _ => 0,
            };
            let found: Vec<_> = calls_of(statement).collect();
            seen += found.len();
            calls.extend(
                found.into_iter().skip(named).map(|name| format!("{}: {name}", path.display())),
            );
        }
    }
    assert!(seen > 50, "only {seen} names were found");
    assert!(calls.is_empty(), "qualify these with snowflake_internal:\n{}", calls.join("\n"));
}

/// The functions of the extension that a text names with parentheses, outside of
/// `snowflake_internal`.
fn calls_of(text: &str) -> impl Iterator<Item = String> {
    let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
    text.match_indices("snowflake_").filter_map(move |(at, _)| {
        let name: String = text[at..].chars().take_while(|c| is_name(*c)).collect();
        let rest = &text[at + name.len()..];
        let is_call = rest.starts_with('(') && !rest.starts_with("()'::regprocedure");
        let is_own = !text[..at].ends_with("snowflake_internal.") && !text[..at].ends_with(is_name);
        (is_call && is_own).then_some(name)
    })
}

/// The scripts that PostgreSQL runs, of which the other files are parts.
fn scripts() -> Vec<PathBuf> {
    let files = fs::read_dir(tree().join("sql"))
        .expect("a directory")
        .map(|file| file.expect("a file").path());
    files.filter(|path| path.to_string_lossy().contains("--")).collect()
}
