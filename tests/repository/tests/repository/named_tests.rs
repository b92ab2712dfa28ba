//! The tests that documents and lists name exist where these say.

use std::fs;
use std::path::Path;

use snowflake_repository::{Page, documents, page, tree};

/// A test, or another function of a file of tests.
struct Function {
    /// The program it is in, such as `behaviour`, or `generator` in the core.
    program: String,
    /// The file, or the directory if there are several, below the program.
    module: String,
    name: String,
    /// Whether it is a test.
    is_test: bool,
    needs: Option<&'static str>,
}

/// What the page says beside a test that `make test` does not run, or not on a server.
const FLEET: &str = "`make test-fleet`";
const UPGRADE: &str = "`make test-upgrade`";
const CLIENTS: &str = "`make test-clients`";
const PROPERTY: &str = "property test";

/// The functions of a file.
fn in_file(path: &Path, program: &str, module: &str) -> Vec<Function> {
    let text = fs::read_to_string(path).expect("a file");
    let (mut is_property, mut is_test, mut is_ignored) = (false, false, false);
    let mut tests = Vec::new();
    for line in text.lines() {
        match line {
            "proptest! {" => is_property = true,
            "}" => is_property = false,
            _ => (),
        }
        let attribute = line.trim_start();
        is_test |= attribute.starts_with("#[test]") || attribute.starts_with("#[pg_test");
        is_ignored |= attribute.starts_with("#[ignore");
        let function = line.trim_start().trim_start_matches("pub ").strip_prefix("fn ");
        let Some((name, _)) = function.and_then(|rest| rest.split_once('(')) else { continue };
        let needs = match program {
            _ if is_ignored => Some(FLEET),
            _ if is_property => Some(PROPERTY),
            "clients" => Some(CLIENTS),
            "upgrade" => Some(UPGRADE),
            _ => None,
        };
        let (program, module, name) = (program.into(), module.into(), name.into());
        tests.push(Function { program, module, name, is_test, needs });
        (is_test, is_ignored) = (false, false);
    }
    tests
}

/// The functions of all files below a directory. Those of `main.rs` have the module `top`.
fn in_directory(directory: &Path, program: &str, top: &str) -> Vec<Function> {
    let mut tests = Vec::new();
    for entry in fs::read_dir(directory).expect("a directory") {
        let path = entry.expect("a file").path();
        let name = path.file_stem().expect("a name").to_str().expect("UTF-8");
        let module = if name == "main" { top } else { name };
        if path.extension().is_some_and(|extension| extension == "rs") {
            tests.extend(in_file(&path, program, module));
        } else if path.is_dir() {
            tests.extend(in_directory(&path, program, module));
        }
    }
    tests
}

fn all() -> Vec<Function> {
    let mut tests = in_file(&tree().join("src/tests.rs"), "pgrx", "tests");
    // Each file or directory is a program there.
    for directory in ["crates/snowflake-core/tests", "tests/simulation/tests"] {
        for entry in fs::read_dir(tree().join(directory)).expect("a directory") {
            let path = entry.expect("a file").path();
            let program = path.file_stem().expect("a name").to_str().expect("UTF-8");
            if path.is_dir() {
                let files = in_directory(&path, program, program).into_iter();
                tests.extend(files.map(|test| Function { module: program.into(), ..test }));
            } else {
                tests.extend(in_file(&path, program, program));
            }
        }
    }
    let files = tree().join("tests/repository/tests/repository");
    tests.extend(in_directory(&files, "repository", "repository"));
    for program in ["behaviour", "clients", "faults", "fleet", "upgrade"] {
        let directory = tree().join("tests/e2e/tests").join(program);
        tests.extend(in_directory(&directory, program, program));
    }
    scenarios(&tree().join("tests/scenarios"), &mut tests);
    tests
}

/// The files of SQL that are tests, which have no modules.
fn scenarios(directory: &Path, tests: &mut Vec<Function>) {
    for entry in fs::read_dir(directory).expect("a directory") {
        let path = entry.expect("a file").path();
        if path.is_dir() {
            scenarios(&path, tests);
            continue;
        }
        let name = path.strip_prefix(tree().join("tests/scenarios")).expect("a file there");
        let name = name.to_str().expect("UTF-8").to_owned();
        let (program, module) = ("scenarios".into(), String::new());
        tests.push(Function { program, module, name, is_test: true, needs: None });
    }
}

/// The test of that name, which begins with its module, or also with the modules that this is in.
fn find<'a>(tests: &'a [Function], name: &str) -> Option<&'a Function> {
    let (modules, function) = name.rsplit_once("::").unwrap_or(("", name));
    let module = modules.rsplit("::").next().expect("a module");
    tests.iter().find(|test| test.is_test && test.name == function && test.module == module)
}

/// Asserts that there are tests of these names, which begin with their modules.
#[track_caller]
fn assert_there_are<'a>(names: impl IntoIterator<Item = &'a str>) {
    let tests = all();
    for name in names {
        assert!(find(&tests, name).is_some(), "no test {name}");
    }
}

/// The introduction of a page, and each section with its heading.
fn sections(page: &Page) -> Vec<&str> {
    let headings = page.text.match_indices("\n##").map(|(index, _)| index);
    let mut starts: Vec<usize> = headings.collect();
    starts.insert(0, 0);
    let ends = starts.iter().skip(1).copied().chain([page.text.len()]);
    starts.iter().zip(ends).map(|(start, end)| &page.text[*start..end]).collect()
}

/// What stands in code, and has only the characters of names.
fn names(text: &str) -> impl Iterator<Item = &str> {
    let is_name = |word: &&str| {
        word.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b"_:".contains(&b))
    };
    text.split('`').skip(1).step_by(2).filter(|word| !word.is_empty()).filter(is_name)
}

/// Names of tests have the module before them, as in `crash::no_id_comes_back`. Types and casts of SQL
/// look alike.
fn looks_like_a_test(name: &str) -> bool {
    name.contains("::") && !name.starts_with("id::")
}

/// Whether the name looks like that of a test without its module.
fn lacks_module(name: &str, tests: &[Function]) -> bool {
    name.contains('_') && tests.iter().any(|test| test.is_test && test.name == name)
}

/// The pages that name tests in their sentences: those for whoever changes the code, and those that
/// are as long as a reader needs anyway. On the others, the names are in comments.
const NAME_TESTS: [&str; 4] =
    ["CONTRIBUTING.md", "docs/adoption.md", "docs/conversion.md", "docs/design.md"];

/// The tests that show what stands before them, or modules of such.
#[test]
fn every_test_in_a_comment_exists() {
    let tests = all();
    let (mut named, mut wrong) = (0, Vec::new());
    for page in documents() {
        for name in page.commented_tests() {
            let is_module = tests.iter().any(|test| test.module == name);
            let is_test = find(&tests, name).is_some();
            if !is_module && !is_test {
                wrong.push(format!("{}: no test {name}", page.name));
            }
            named += 1;
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
    assert!(named >= 150, "the comments name {named} tests");
}

#[test]
fn readers_meet_no_name_of_a_test() {
    let mut met = Vec::new();
    for page in documents().iter().filter(|page| page.name.starts_with("docs/")) {
        let seen = page.seen();
        if !NAME_TESTS.contains(&page.name.as_str()) {
            let tests = names(&seen.text).filter(|name| looks_like_a_test(name));
            met.extend(tests.map(|name| format!("{}: {name}", page.name)));
        }
    }
    assert!(met.is_empty(), "in comments, please: {met:#?}");
}

#[test]
fn every_test_that_is_named_is_in_its_module() {
    let tests = all();
    let (mut named, mut wrong) = (0, Vec::new());
    for page in documents().iter().filter(|page| page.name != "CHANGELOG.md") {
        let sections = sections(page);
        for section in &sections {
            for name in names(section) {
                if lacks_module(name, &tests) {
                    wrong.push(format!("{}: {name} without its module", page.name));
                }
                if !looks_like_a_test(name) {
                    continue;
                }
                let said = |what| section.contains(what);
                match find(&tests, name).map(|test| test.needs) {
                    None => wrong.push(format!("{}: no test {name}", page.name)),
                    Some(Some(needs)) if !said(needs) => {
                        wrong.push(format!("{}: {name} without {needs}", page.name));
                    }
                    Some(_) => named += 1,
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
    assert!(named >= 40, "the documents name {named} tests");
}

/// Commands that run one test find it: its program, and a part of its name.
#[test]
fn commands_for_one_test_run_it() {
    let tests = all();
    let mut commands = 0;
    for page in documents() {
        let lines = page.text.lines().filter(|line| line.starts_with("$ "));
        for line in lines.filter(|line| line.contains("cargo test") || line.contains("pgrx test")) {
            let words: Vec<&str> = line.split_whitespace().collect();
            let after = |word, count| words.iter().skip_while(|w| **w != word).nth(count);
            let (program, name) = match after("--test", 1) {
                Some(program) => (*program, words.last()),
                None => ("pgrx", after("test", 2)),
            };
            let name = *name.expect("the name of a test");
            let runs = tests.iter().any(|test| {
                test.is_test
                    && test.program == program
                    && format!("{}::{}", test.module, test.name).contains(name)
            });
            assert!(runs, "{}: {line}", page.name);
            commands += 1;
        }
    }
    assert!(commands >= 5, "the documents have {commands} commands");
}

/// The lists of what may be skipped, and of what notices a broken promise.
#[test]
fn lists_name_tests_that_there_are() {
    for list in ["tests/e2e/skips", "tests/mutants/promises", "tests/mutants/shell"] {
        let text = fs::read_to_string(tree().join(list)).expect("a list");
        let names = text.lines().filter_map(|line| line.split_once(" | ")).map(|(_, name)| name);
        assert_there_are(names.filter(|name| *name != "all pgrx tests"));
    }
}

/// The list of what notices a broken rule of the core, whose tests are known by their program.
#[test]
fn the_list_of_the_core_names_tests_that_there_are() {
    let (tests, mut named) = (all(), 0);
    let text = fs::read_to_string(tree().join("tests/mutants/core")).expect("a list");
    for (program, name) in text.lines().filter_map(|line| line.split_once(" | ")) {
        if !program.bytes().all(|b| b.is_ascii_lowercase()) {
            continue;
        }
        let function = name.rsplit("::").next().expect("a name");
        let is_there =
            |test: &Function| test.is_test && test.program == program && test.name == function;
        assert!(tests.iter().any(is_there), "no test {name} in {program}");
        named += 1;
    }
    assert!(named >= 90, "the list names {named} tests");
}

/// For each row of `snowflake_check()`, a test in which it is not well.
const FAILURES_OF_ROWS: [(&str, &str); 20] = [
    ("preloading", "check::a_standby_without_the_library_shows"),
    ("identity", "check::a_standby_without_a_worker_id_shows"),
    ("origin of the identity", "check::an_identity_inside_of_the_data_directory_shows"),
    ("restored copy", "forgotten_steps::a_clone_with_the_identity_of_its_original_shows"),
    ("claims", "forgotten_steps::claims_that_contradict_the_identity_show"),
    ("register", "check::a_damaged_register_shows"),
    ("layout", "check::a_standby_with_other_widths_shows"),
    ("layout of the database", "upgrade::another_layout_shows_after_pg_upgrade"),
    ("guards", "dumped_layout::data_that_is_restored_without_triggers_is_noticed"),
    ("lead", "check::the_lead_of_promotions_shows"),
    ("clock", "check::a_standby_whose_clock_is_ahead_shows_on_both_sides"),
    ("clocks of standbys", "check::a_standby_whose_clock_is_two_days_behind_shows"),
    ("synchronous standbys", "check::a_synchronous_standby_that_is_away_shows"),
    ("observation", "observation::what_is_too_far_ahead_is_refused_and_changes_nothing"),
    ("horizon", "holders::the_check_names_what_holds_it_back_for_more_than_a_minute"),
    ("timestamp field", "check::a_floor_at_the_end_of_the_timestamp_field_shows"),
    ("public IDs", "public_keys::a_file_in_the_data_directory_is_a_failing_row"),
    ("twins", "check::an_id_of_a_twin_and_a_trigger_that_is_idle_show"),
    ("subscriptions", "after_twins::a_restart_of_the_publisher_disables_a_subscription"),
    ("issues IDs", "check::a_damaged_register_shows"),
];

#[test]
fn every_row_of_the_check_has_a_test_in_which_it_is_not_well() {
    let text = page("src/check/mod.rs").text;
    let (_, rows) = text.split_once("const ROWS").expect("the rows of the check");
    let (rows, _) = rows.split_once("];\n").expect("the end of the rows");
    let rows = rows.lines().filter_map(|line| line.trim().strip_prefix("(\""));
    let mut rows: Vec<&str> = rows.filter_map(|row| row.split('"').next()).collect();
    rows.push("issues IDs");
    assert_eq!(rows, FAILURES_OF_ROWS.map(|(row, _)| row));
    assert_there_are(FAILURES_OF_ROWS.map(|(_, test)| test));
}
