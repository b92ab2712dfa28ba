//! Cargo.toml defines the address of the repository, and the place to which vulnerabilities are
//! reported. Other files name the same ones, or none.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use snowflake_repository::{page, tree};

const ADDRESS: &str = "https://example.com/snowflake_pg";

/// Files that `tools/dist check` reads.
const FILES: [&str; 6] =
    ["Cargo.toml", "META.json", "README.md", "SECURITY.md", "tools/dist", "tools/environment"];

/// A copy of these files, in which no file names a repository.
fn copy() -> tempfile::TempDir {
    let copy = tempfile::tempdir().expect("a directory for temporary files");
    fs::create_dir(copy.path().join("tools")).expect("a directory");
    for file in FILES {
        fs::copy(tree().join(file), copy.path().join(file)).expect("a file");
    }
    copy
}

fn replace(copy: &Path, file: &str, what: &str, with: &str) {
    let path = copy.join(file);
    let text = fs::read_to_string(&path).expect("a file");
    assert_eq!(text.matches(what).count(), 1, "{file}: {what}");
    fs::write(path, text.replace(what, with)).expect("a file to write to");
}

fn check(copy: &Path) -> Output {
    // A copy that is executed itself is "busy" if another test starts a process while it is
    // written.
    let mut check = Command::new("bash");
    check
        .arg(copy.join("tools/dist"))
        .arg("check")
        .env_remove("CARGO_TARGET_DIR")
        .output()
        .expect("bash is there")
}

#[track_caller]
fn assert_refused(copy: &Path, reason: &str) {
    let output = check(copy);
    assert!(!output.status.success());
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(said.contains(reason), "{said}");
}

#[test]
fn every_file_has_to_name_the_repository_of_cargo() {
    if page("Cargo.toml").text.contains("\nrepository = ") {
        // The real files are then the example, which make lint checks.
        return;
    }
    let copy = copy();
    let copy = copy.path();
    assert!(check(copy).status.success(), "{:?}", check(copy));
    let field = format!("publish = false\nrepository = \"{ADDRESS}\"\n\n[lib]");
    replace(copy, "Cargo.toml", "publish = false\n\n[lib]", &field);
    assert_refused(copy, "META.json does not name the repository");
    let resources = format!("\"resources\": {{ \"repository\": {{ \"web\": \"{ADDRESS}\" }} }},\n");
    replace(copy, "META.json", "\"generated_by\"", &format!("{resources}  \"generated_by\""));
    assert_refused(copy, "README.md does not name the repository");
    replace(copy, "README.md", "# snowflake_pg\n", &format!("# snowflake_pg\n\n{ADDRESS}\n"));
    assert_refused(copy, "SECURITY.md does not name the repository");
    replace(copy, "SECURITY.md", "# Security\n", &format!("# Security\n\n{ADDRESS}\n"));
    assert!(check(copy).status.success(), "{:?}", check(copy));
}

#[test]
fn no_file_names_one_that_cargo_does_not() {
    let copy = copy();
    let copy = copy.path();
    let text = page("Cargo.toml").text;
    if let Some(line) = text.lines().find(|line| line.starts_with("repository = ")) {
        replace(copy, "Cargo.toml", &format!("{line}\n"), "");
    } else {
        let resources = format!("\"resources\": {{ \"homepage\": \"{ADDRESS}\" }},\n");
        replace(copy, "META.json", "\"generated_by\"", &format!("{resources}  \"generated_by\""));
    }
    assert_refused(copy, "Cargo.toml has no repository");
}

#[test]
fn the_page_on_security_names_the_contact_of_cargo() {
    if page("Cargo.toml").text.contains("\n[package.metadata]") {
        return;
    }
    let copy = copy();
    let copy = copy.path();
    replace(copy, "SECURITY.md", "\nContact: not set\n", "\nContact: security@example.com\n");
    assert_refused(copy, "SECURITY.md does not name the contact of Cargo.toml: not set");
    let metadata = "\n[package.metadata]\nsecurity = \"security@example.com\"\n\n[lib]\n";
    replace(copy, "Cargo.toml", "\n[lib]\n", metadata);
    assert!(check(copy).status.success(), "{:?}", check(copy));
}
