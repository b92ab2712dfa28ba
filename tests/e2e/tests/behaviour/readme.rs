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

fn readme() -> String {
    fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../README.md")).expect("README.md")
}

fn blocks() -> Vec<Block> {
    let readme = readme();
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

fn psql(cluster: &Cluster, options: &[&str], command: &str) -> String {
    let mut psql = cluster.client_program("psql");
    psql.args(["--no-psqlrc", "--quiet", "--set=ON_ERROR_STOP=1"])
        .args(options)
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
        let printed = psql(&cluster, &[], &block.text);
        if let Some(Block { language, text }) = blocks.get(index + 1)
            && language == "text"
            && text.lines().last().is_some_and(|line| line.starts_with('(') && line.contains(" row"))
        {
            assert_eq!(printed.trim_end(), text.trim_end(), "{}", block.text);
            shown += 1;
        }
    }
    assert!(shown >= 10, "the README shows {shown} results");

    // Examples within the text: `expression` → `result`.
    let mut examples = String::new();
    let mut results = Vec::new();
    for (expression, result) in examples_in(&readme()) {
        examples += &format!("SELECT {expression};\n");
        results.push(result);
    }
    assert!(results.len() >= 25, "the README shows {} examples", results.len());
    let printed = psql(&cluster, &["--tuples-only", "--no-align"], &examples);
    for ((example, result), printed) in examples.lines().zip(&results).zip(printed.lines()) {
        assert_eq!(printed, result, "{example}");
    }
    assert_eq!(printed.lines().count(), results.len());
}

/// What stands as `one` → `other` in a text.
fn examples_in(text: &str) -> Vec<(String, String)> {
    let mut examples = Vec::new();
    for (index, _) in text.match_indices("` → `") {
        let expression = text[..index].rsplit('`').next().expect("an opening mark");
        let rest = &text[index + "` → `".len()..];
        let result = rest.split('`').next().expect("a closing mark");
        examples.push((expression.to_owned(), result.to_owned()));
    }
    examples
}

/// Each function, view and domain of the extension is in the reference, with an example.
#[test]
fn its_reference_is_complete() {
    let cluster = Cluster::start();
    let members = "SELECT p.proname::text, true FROM pg_depend d JOIN pg_proc p ON d.classid = 'pg_proc'::regclass AND d.objid = p.oid
         WHERE d.deptype = 'e' AND p.proname LIKE 'snowflake%'
             AND p.proname NOT IN ('snowflake_within_min', 'snowflake_within_max', 'snowflake_stat', 'snowflake_status')
         UNION SELECT viewname, false FROM pg_views WHERE viewname LIKE '%snowflake%'
         UNION SELECT column_name, false FROM information_schema.columns WHERE table_name IN ('pg_stat_snowflake', 'snowflake_status')";
    let readme = readme();
    let reference = &readme[readme.find("## Reference").expect("a reference")..];
    let mut functions = 0;
    for row in cluster.connect().query(members, &[]).expect("members") {
        let (name, is_function): (String, bool) = (row.get(0), row.get(1));
        if is_function {
            functions += 1;
            let line = reference.lines().find(|line| line.starts_with(&format!("`{name}(")));
            let line = line.unwrap_or_else(|| panic!("{name} is not in the reference"));
            assert!(line.contains("` → `"), "{name} has no example");
        } else {
            assert!(reference.contains(&format!("`{name}`")), "{name} is not in the reference");
        }
    }
    assert!(functions > 15);
}

/// The examples of settings, taken together, configure a server, and all of its settings are there.
#[test]
fn its_settings_are_real() {
    let readme = readme();
    let reference = &readme[readme.find("### Settings").expect("a reference of settings")..];
    let mut builder = Cluster::builder();
    let mut examples = Vec::new();
    for line in reference.lines().filter(|line| line.starts_with("`snowflake.")) {
        let cells: Vec<&str> = line.split(" | ").map(|cell| cell.trim_matches('`')).collect();
        let (name, value) = cells.last().and_then(|cell| cell.split_once(" = ")).expect("an example");
        assert_eq!(name, cells[0]);
        builder = builder.set(name, value);
        examples.push((
            name.to_owned(),
            value.to_owned(),
            cells[1].split(' ').next().expect("a default").to_owned(),
        ));
    }
    let (configured, fresh) = (builder.start(), Cluster::start());
    let show = |cluster: &Cluster, name: &str| -> String {
        cluster.connect().query_one(&format!("SHOW {name}"), &[]).expect("a setting").get(0)
    };
    for (name, value, default) in &examples {
        assert_eq!(&show(&configured, name), value, "{name}");
        if !name.ends_with("er_id") {
            assert_eq!(&show(&fresh, name), default.trim_matches('`'), "the default of {name}");
        }
    }
    let settings = "SELECT count(*) FROM pg_settings WHERE name LIKE 'snowflake.%'";
    assert_eq!(snowflake_e2e::bigint(&mut fresh.connect(), settings), examples.len() as i64);
}

#[test]
fn its_configurations_start_a_server() {
    let configurations: Vec<Block> = blocks().into_iter().filter(|block| block.language == "ini").collect();
    assert_eq!(configurations.len(), 3);
    for configuration in configurations {
        let mut builder = Cluster::builder();
        if configuration.text.contains("datacenter_bits = 0") {
            builder = builder.unset("snowflake.datacenter_id");
        }
        for line in configuration.text.lines() {
            let (name, value) = line.split_once(" = ").expect("name = value");
            builder = builder.set(name, value.trim_matches('\''));
        }
        let cluster = builder.start();
        psql(&cluster, &[], "SELECT snowflake_nextval()");
        if configuration.text.contains("sequence_bits = 7") {
            let safe = "SELECT snowflake_max('2094-09-07 15:47:35.551+00') <= 9007199254740991, snowflake_max('2094-09-07 15:47:35.552+00') > 9007199254740991";
            assert_eq!(psql(&cluster, &["--tuples-only", "--no-align"], safe), "t|t\n");
        }
    }
}

#[test]
fn its_shell_commands_are_run_by_a_test() {
    // make install: installation.rs. make bench: .ci/run has less patience, and runs it with QUICK=1. The others: .ci/run.
    let ci =
        fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../.ci/run")).expect(".ci/run");
    for block in blocks().into_iter().filter(|block| block.language == "sh") {
        for line in block.text.lines().filter(|line| *line != "make install") {
            let line = if line == "make bench" { "make bench QUICK=1" } else { line };
            assert!(ci.lines().any(|other| other == line), ".ci/run does not run {line}");
        }
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
