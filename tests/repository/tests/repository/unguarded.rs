//! Functions of PostgreSQL that are called without the guard of pgrx are declared in one file, each
//! with the reason.

use std::fs;

use snowflake_repository::tree;

use crate::sql_files::files;

const LIST: &str = "src/pg/unguarded.rs";

#[test]
fn functions_of_the_server_are_declared_in_one_file() {
    let list = fs::read_to_string(tree().join(LIST)).expect("the list");
    for path in files(&["rs"]) {
        let name = path.strip_prefix(tree()).expect("in the tree").display().to_string();
        let text = fs::read_to_string(&path).expect("a file in UTF-8");
        let declares = text.contains("extern \"C-unwind\" {") || text.contains("extern \"C\" {");
        assert_eq!(declares, name == LIST, "{name}");
        // Hooks of other libraries are called with the guard, or named in the list.
        let module =
            name.trim_start_matches("src/").trim_end_matches(".rs").trim_end_matches("/mod");
        let module = module.replace('/', "::");
        assert!(
            !text.contains("NEXT_HOOK")
                || text.contains("pg_guard_ffi_boundary")
                || list.contains(&format!("`{module}::")),
            "{name} calls a hook, and {LIST} does not say why that is right"
        );
    }
}

#[test]
fn each_of_them_says_why_it_needs_no_guard() {
    let list = fs::read_to_string(tree().join(LIST)).expect("the list");
    let block =
        list.split("extern \"C-unwind\" {").nth(1).and_then(|rest| rest.split("\n}").next());
    let functions: Vec<_> =
        block.expect("a block").split(';').filter(|text| text.contains("fn ")).collect();
    assert!(functions.len() > 5, "{functions:?}");
    for function in functions {
        // The other half of a sentence that has a semicolon comes with the next function.
        assert!(function.contains("raise") || function.contains("/// As `"), "{function}");
    }
}

/// A destructor is registered when a thread-local is used first. Where there is no memory for that,
/// the C library ends the process: `src/pg/memory.rs` has what takes the place.
#[test]
fn no_thread_local_has_a_destructor() {
    for path in files(&["rs"]) {
        let text = fs::read_to_string(&path).expect("a file in UTF-8");
        for block in text.split("thread_local! {").skip(1) {
            let variables = block.split("\n}").next().expect("a block");
            for variable in variables.split("static ").skip(1) {
                let is_cell = variable.contains(": Cell<");
                assert!(is_cell && !variable.contains("Vec"), "{}: {variable}", path.display());
            }
        }
    }
}
