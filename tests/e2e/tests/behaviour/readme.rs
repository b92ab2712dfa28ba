//! What the README shows is true.

use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

use snowflake_e2e::Cluster;

/// A fenced block of the README.
struct Block {
    language: String,
    text: String,
}

fn blocks() -> Vec<Block> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../README.md");
    let readme = fs::read_to_string(path).expect("README.md");
    let mut blocks = Vec::new();
    let mut lines = readme.lines();
    while let Some(line) = lines.next() {
        if let Some(language) = line.strip_prefix("```") {
            let text =
                lines.by_ref().take_while(|line| *line != "```").map(|line| format!("{line}\n")).collect();
            blocks.push(Block { language: language.into(), text });
        }
    }
    blocks
}

fn psql(cluster: &Cluster, command: &str) -> String {
    let mut psql = cluster.client_program("psql");
    psql.args(["--no-psqlrc", "--quiet", "--set=ON_ERROR_STOP=1"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped());
    let mut psql = psql.spawn().expect("psql runs");
    psql.stdin.take().expect("a pipe").write_all(command.as_bytes()).expect("psql reads");
    let output = psql.wait_with_output().expect("psql ends");
    assert!(output.status.success(), "{command}");
    String::from_utf8(output.stdout).expect("UTF-8")
}

#[test]
fn its_sql_runs_and_prints_what_it_says() {
    let cluster = Cluster::start();
    let blocks = blocks();
    let mut shown = 0;
    for (index, block) in blocks.iter().enumerate().filter(|(_, block)| block.language == "sql") {
        let printed = psql(&cluster, &block.text);
        if let Some(Block { language, text }) = blocks.get(index + 1)
            && language == "text"
            && text.contains("\n(1 row)\n")
        {
            assert_eq!(printed.trim_end(), text.trim_end(), "{}", block.text);
            shown += 1;
        }
    }
    assert!(shown >= 3, "the README shows {shown} results");
}

#[test]
fn its_configuration_starts_a_server() {
    let configuration =
        blocks().into_iter().find(|block| block.language == "ini").expect("a block of settings");
    let mut builder = Cluster::builder();
    for line in configuration.text.lines() {
        let (name, value) = line.split_once(" = ").expect("name = value");
        builder = builder.set(name, value.trim_matches('\''));
    }
    let cluster = builder.start();
    psql(&cluster, "SELECT snowflake_nextval()");
}

#[test]
fn its_shell_commands_are_run_by_a_test() {
    // make install, uninstall and psql: installation.rs. The others: .ci/run.
    let known = ["make run", "make test", "make mutants", "make latency", "make lint", "make install"];
    for block in blocks().into_iter().filter(|block| block.language == "sh") {
        for line in block.text.lines() {
            assert!(known.contains(&line), "no test runs: {line}");
        }
    }
    let ci =
        fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../.ci/run")).expect(".ci/run");
    for command in ["make run", "make test", "make mutants", "make latency", "make lint"] {
        assert!(ci.lines().any(|line| line == command), ".ci/run does not run {command}");
    }
}

#[test]
fn make_psql_opens_psql() {
    let mut make = Command::new("make");
    make.args(["-C", concat!(env!("CARGO_MANIFEST_DIR"), "/../.."), "psql"]);
    let mut make = make.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("make runs");
    let mut stdin = make.stdin.take().expect("a pipe");
    stdin.write_all(b"SELECT 'worker', snowflake_worker_id(snowflake_nextval());\n").expect("psql reads");
    drop(stdin);
    let output = make.wait_with_output().expect("make ends");
    assert!(output.status.success());
    let printed = String::from_utf8_lossy(&output.stdout);
    assert!(printed.lines().any(|line| line.trim() == "worker   |                   9"), "{printed}");
}
