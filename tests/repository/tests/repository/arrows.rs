//! Arrows between the files of a crate run one way, so that one can be read after the other.
//!
//! An arrow leads from a file to each file that it uses. A directory is a room: seen from outside,
//! all of its files are one. So in each directory, whatever its files and directories use of each
//! other must not lead back.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use snowflake_repository::{page, tree};

/// The directory of each crate, and of each test that has more than one file.
const CRATES: [&str; 19] = [
    "src",
    "crates/snowflake-core/src",
    "crates/snowflake-core/tests/effects",
    "crates/snowflake-core/tests/generator",
    "crates/snowflake-core/tests/horizon",
    "crates/snowflake-core/tests/model",
    "crates/snowflake-core/tests/register",
    "bench/src",
    "tests/e2e/src",
    "tests/e2e/src/soak",
    "tests/e2e/tests/behaviour",
    "tests/e2e/tests/clients",
    "tests/e2e/tests/faults",
    "tests/e2e/tests/fleet",
    "tests/e2e/tests/hosted",
    "tests/e2e/tests/upgrade",
    "tests/repository/src",
    "tests/repository/tests/repository",
    "tests/simulation/src",
];

/// The files of a crate, by the path of their module: that of the root is empty.
type Files = BTreeMap<Vec<String>, PathBuf>;

#[test]
fn no_circle_between_files() {
    let tree = tree();
    let mut circles = BTreeSet::new();
    for directory in CRATES {
        let mut files = Files::new();
        collect(&tree.join(directory), &[], &mut files);
        let root = files.get(&vec![]).expect("a root").clone();
        collect_elsewhere(&root, &mut files);
        let mut rooms: BTreeMap<PathBuf, BTreeSet<(PathBuf, PathBuf)>> = BTreeMap::new();
        for (module, file) in &files {
            for used in used_by(module, file, &files) {
                let (room, arrow) = between(file, used);
                rooms.entry(room).or_default().insert(arrow);
            }
        }
        circles.extend(rooms.into_values().flat_map(in_circles));
    }
    let circles: Vec<String> = circles
        .iter()
        .map(|(from, to)| [from, to].map(|path| path.display().to_string()).join(" uses "))
        .collect();
    assert!(circles.is_empty(), "these arrows lead back:\n{}", circles.join("\n"));
}

/// docs/design.md lists the rooms of the library in the order in which src/lib.rs has them.
#[test]
fn the_map_of_the_design_is_that_of_the_library() {
    let names = |text: &str, start: &str| -> Vec<String> {
        let items = text.lines().filter_map(|line| line.strip_prefix(start)?.split('`').next());
        items.map(str::to_owned).collect()
    };
    let map = page("docs/design.md").section("Where it is").text;
    let modules = names(&page("src/lib.rs").text, "//! - `");
    assert!(modules.len() > 8, "{modules:?}");
    assert_eq!(names(map.split_once("--- | ---").expect("a table").1, "`"), modules);
}

fn collect(directory: &Path, module: &[String], files: &mut Files) {
    for entry in fs::read_dir(directory).expect("a directory") {
        let path = entry.expect("an entry").path().canonicalize().expect("a path");
        let name = path.file_stem().expect("a name").to_str().expect("UTF-8");
        let mut inner = module.to_vec();
        if !["lib", "main", "mod"].contains(&name) {
            inner.push(name.to_owned());
        }
        if path.join("main.rs").exists() {
            // A program in a directory of its own is a crate of its own.
        } else if path.is_dir() {
            collect(&path, &inner, files);
        } else if name == "main" && directory.join("lib.rs").exists() {
            // So is a program beside a library, which it uses.
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            files.insert(inner, path);
        }
    }
}

/// The modules that the root takes from another directory.
fn collect_elsewhere(root: &Path, files: &mut Files) {
    let text = fs::read_to_string(root).expect("a source file");
    for (attribute, module) in text.lines().zip(text.lines().skip(1)) {
        let path = attribute.strip_prefix("#[path = \"").and_then(|path| path.strip_suffix("\"]"));
        let name = module.strip_prefix("mod ").and_then(|name| name.strip_suffix(';'));
        if let (Some(path), Some(name)) = (path, name) {
            let path = root.with_file_name(path).canonicalize().expect("a path");
            files.insert(vec![name.to_owned()], path);
        }
    }
}

/// The other files that a file names: by `crate::`, by `super::`, or as a module of its own.
fn used_by<'a>(module: &[String], file: &Path, files: &'a Files) -> BTreeSet<&'a PathBuf> {
    let text = fs::read_to_string(file).expect("a source file");
    let code: Vec<&str> =
        text.lines().map(|line| line.split("//").next().unwrap_or_default()).collect();
    let code = code.join("\n");
    let mut used = BTreeSet::new();
    let is_of_name = |letter: char| letter.is_alphanumeric() || letter == '_';
    let mut from = 0;
    while let Some(length) = code[from..].find("::") {
        let at = from + length;
        let start = code[..at].rfind(|letter| !is_of_name(letter)).map_or(0, |before| before + 1);
        let mut end = at;
        while code[end..].starts_with("::") {
            end += 2;
            let rest = &code[end..];
            end += rest.find(|letter| !is_of_name(letter)).unwrap_or(rest.len());
        }
        from = end;
        let path = &code[start..end];
        let group = code[end..].strip_prefix('{').filter(|_| path.ends_with("::"));
        let group = group.map_or("", |group| &group[..group.find('}').expect("its end")]);
        assert!(!group.contains('{'), "{}: a `use` for each module, please", file.display());
        for member in group.split(',') {
            used.extend(resolve(module, &format!("{path}{}", member.trim()), files));
        }
    }
    used.retain(|used| *used != file);
    used
}

/// The file of the innermost module in a path, if the path is of this crate.
fn resolve<'a>(module: &[String], path: &str, files: &'a Files) -> Option<&'a PathBuf> {
    let mut names = path.split("::").map(str::to_owned).peekable();
    let mut whole = module.to_vec();
    if names.next_if(|name| name == "crate").is_some() {
        whole.clear();
    } else if names.peek().is_some_and(|name| name == "super") {
        while names.next_if(|name| name == "super").is_some() {
            whole.pop();
        }
    } else {
        let child = [module, &[names.peek()?.clone()]].concat();
        files.get(&child)?;
    }
    whole.extend(names);
    while !files.contains_key(&whole) {
        whole.pop();
    }
    files.get(&whole)
}

/// The directory that both files are below, and what each is seen as from there.
fn between(from: &Path, to: &Path) -> (PathBuf, (PathBuf, PathBuf)) {
    let room = from.ancestors().find(|room| to.starts_with(room)).expect("the root");
    let entry = |file: &Path| {
        let within = file.strip_prefix(room).expect("below it");
        room.join(within.components().next().expect("not the room itself"))
    };
    (room.to_owned(), (entry(from), entry(to)))
}

/// The arrows of circles, and between them: none of the others is behind one, or before one.
fn in_circles(mut arrows: BTreeSet<(PathBuf, PathBuf)>) -> BTreeSet<(PathBuf, PathBuf)> {
    loop {
        let goes_on = |(from, to): &&(PathBuf, PathBuf)| {
            arrows.iter().any(|next| next.0 == *to) && arrows.iter().any(|last| last.1 == *from)
        };
        let left: BTreeSet<_> = arrows.iter().filter(goes_on).cloned().collect();
        if left.len() == arrows.len() {
            return left;
        }
        arrows = left;
    }
}
