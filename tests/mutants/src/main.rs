//! Breaks the rules of `crates/snowflake-core` one at a time, in copies of it, and shows that the
//! test that is named for the rule notices. Fails when a broken rule goes unnoticed, or when a rule
//! to break is no longer found in the source, which is all that it looks for with the argument
//! `check`. `tools/mutants` breaks what no rule names.

mod rules;

use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use std::sync::Mutex;
use std::{env, fs, thread};

use rules::Rule;

/// For a build. The first one takes minutes.
const FOR_A_BUILD: &str = "1800s";
/// For a test. A broken rule can keep it from ending: that is noticed, too.
const FOR_A_TEST: &str = "300s";

fn main() -> ExitCode {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let target = env::var_os("CARGO_TARGET_DIR").map_or_else(|| root.join("target"), PathBuf::from);
    let rules: Vec<Rule> = rules::all().collect();
    for rule in &rules {
        let source = read(&source(&root, rule));
        assert!(source.contains(rule.sound), "no such rule in {}.rs: {}", rule.file, rule.sound);
    }
    if env::args().nth(1).as_deref() == Some("check") {
        return ExitCode::SUCCESS;
    }
    let left = Mutex::new(rules.iter().copied());
    let missed = Mutex::new(0);
    let workers = thread::available_parallelism().map_or(1, |workers| workers.get().min(8));
    let copies = Copy::several(&root, &target.join("mutants"), workers);
    thread::scope(|scope| {
        for copy in &copies {
            let (left, missed) = (&left, &missed);
            scope.spawn(move || {
                loop {
                    let next = left.lock().expect("no panic").next();
                    let Some(rule) = next else { break };
                    let noticed = copy.notices(&rule);
                    println!(
                        "{}  {}: {}  ->  {}",
                        if noticed { "caught" } else { "MISSED" },
                        rule.test,
                        rule.sound,
                        rule.broken
                    );
                    *missed.lock().expect("no panic") += usize::from(!noticed);
                }
            });
        }
    });
    let missed = missed.into_inner().expect("no panic");
    println!("\n{} passed, {missed} failed", rules.len() - missed);
    if missed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// A workspace that holds the core alone, where rules can be broken.
struct Copy {
    directory: tempfile::TempDir,
    target: PathBuf,
}

impl Copy {
    /// One for each worker. What they depend on is built once.
    fn several(root: &Path, target: &Path, workers: usize) -> Vec<Copy> {
        let copies: Vec<Copy> =
            (0..workers).map(|worker| Copy::new(root, target.join(worker.to_string()))).collect();
        let (first, others) = copies.split_first().expect("a worker");
        run(first.cargo_test(FOR_A_BUILD).arg("--no-run"));
        for other in others.iter().filter(|other| !other.target.exists()) {
            run(Command::new("cp").arg("-r").arg(&first.target).arg(&other.target));
        }
        copies
    }

    fn new(root: &Path, target: PathBuf) -> Copy {
        let directory = tempfile::tempdir().expect("a directory for temporary files");
        let crates = directory.path().join("crates");
        fs::create_dir(&crates).expect("an empty directory");
        run(Command::new("cp").arg("-r").arg(root.join("crates/snowflake-core")).arg(&crates));
        fs::copy(root.join("Cargo.lock"), directory.path().join("Cargo.lock")).expect("a copy");
        let manifest = fs::read_to_string(root.join("Cargo.toml")).expect("the manifest");
        let workspace = manifest.find("[workspace]").expect("a workspace");
        let (head, members) = manifest[workspace..].split_once("members = [").expect("members");
        let (_, tail) = members.split_once(']').expect("their end");
        let alone = format!("{head}members = [\"crates/snowflake-core\"]{tail}");
        fs::write(directory.path().join("Cargo.toml"), alone).expect("a manifest");
        Copy { directory, target }
    }

    /// Whether the rule's test fails while the rule is broken.
    fn notices(&self, rule: &Rule) -> bool {
        let path = source(self.directory.path(), rule);
        let sound = read(&path);
        fs::write(&path, sound.replacen(rule.sound, rule.broken, 1)).expect("a source file");
        run(self.test(FOR_A_BUILD, rule).arg("--no-run"));
        let noticed = !self.passes(rule);
        fs::write(&path, sound).expect("a source file");
        noticed
    }

    fn passes(&self, rule: &Rule) -> bool {
        let mut test = self.test(FOR_A_TEST, rule);
        test.args(["--", "--exact", rule.test]).stdout(Stdio::null()).stderr(Stdio::null());
        test.status().expect("cargo runs").success()
    }

    /// `cargo test` of the rule's file.
    fn test(&self, patience: &str, rule: &Rule) -> Command {
        let mut test = self.cargo_test(patience);
        test.args(["--test", rule.tests]);
        test
    }

    /// `cargo test` of the core. `timeout` also ends what cargo starts.
    fn cargo_test(&self, patience: &str) -> Command {
        let mut test = Command::new("timeout");
        test.args([patience, "cargo", "test", "-q", "-p", "snowflake-core"]);
        test.current_dir(&self.directory).env("CARGO_TARGET_DIR", &self.target);
        test
    }
}

/// The file of the rule in this tree.
fn source(tree: &Path, rule: &Rule) -> PathBuf {
    tree.join(format!("crates/snowflake-core/src/{}.rs", rule.file))
}

fn read(path: &Path) -> String {
    fs::read_to_string(path).expect("a source file")
}

/// Runs a command that has to succeed.
#[track_caller]
fn run(command: &mut Command) {
    let output = command.output().expect("the program is there");
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command:?} failed: {errors}");
}
