//! What README.md and the pages of docs/ show is true.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use snowflake_e2e::Cluster;

/// A document of the project, or a part of one.
pub struct Page {
    /// Its path below the tree.
    pub name: String,
    pub text: String,
}

/// A fenced block of a page.
pub struct Block {
    pub language: String,
    pub text: String,
}

pub fn tree() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

pub fn page(name: &str) -> Page {
    let text =
        fs::read_to_string(tree().join(name)).unwrap_or_else(|error| panic!("{name}: {error}"));
    Page { name: name.into(), text }
}

/// README.md, and every page of docs/: all whose blocks are run.
fn pages() -> Vec<Page> {
    let mut names = vec!["README.md".to_owned()];
    for entry in fs::read_dir(tree().join("docs")).expect("docs/") {
        let name = entry.expect("a file").file_name().into_string().expect("UTF-8");
        if name.ends_with(".md") {
            names.push(format!("docs/{name}"));
        }
    }
    names.sort();
    names.iter().map(|name| page(name)).collect()
}

/// The pages whose blocks run on a server with the extension. `migrations` follows the other one,
/// part by part.
fn pages_for_one_server() -> impl Iterator<Item = Page> {
    pages().into_iter().filter(|page| page.name != super::migrations::PAGE)
}

/// All pages, and the other documents.
pub fn documents() -> Vec<Page> {
    let mut documents = pages();
    let others = ["CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md", "monitoring/README.md"];
    documents.extend(others.map(page));
    documents
}

impl Page {
    pub fn blocks(&self) -> Vec<Block> {
        let mut blocks = Vec::new();
        let mut lines = self.text.lines();
        while let Some(line) = lines.next() {
            if let Some(language) = line.strip_prefix("```") {
                let text = lines
                    .by_ref()
                    .take_while(|line| *line != "```")
                    .map(|line| format!("{line}\n"))
                    .collect();
                blocks.push(Block { language: language.into(), text });
            }
        }
        blocks
    }

    /// What stands as `expression` → `result` in the text.
    fn examples(&self) -> Vec<(String, String)> {
        let mut examples = Vec::new();
        for (index, _) in self.text.match_indices("` → `") {
            let expression = self.text[..index].rsplit('`').next().expect("an opening mark");
            let rest = &self.text[index + "` → `".len()..];
            let result = rest.split('`').next().expect("a closing mark");
            examples.push((expression.to_owned(), result.to_owned()));
        }
        examples
    }

    /// Where a link to a heading of this page leads: the name that a web page gives to the heading.
    fn anchors(&self) -> Vec<String> {
        let headings = self.text.lines().filter(|line| line.starts_with('#'));
        headings
            .map(|line| {
                let heading = line.trim_start_matches('#').trim().to_lowercase();
                let kept =
                    heading.chars().filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'));
                kept.map(|c| if c == ' ' { '-' } else { c }).collect()
            })
            .collect()
    }
}

/// What psql prints for the command. psql starts in `directory`.
fn psql(cluster: &Cluster, directory: &Path, options: &[&str], command: &str) -> String {
    let mut psql = cluster.client_program("psql");
    psql.args(["--no-psqlrc", "--quiet", "--set=ON_ERROR_STOP=1"])
        .args(options)
        .current_dir(directory)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped());
    let mut psql = psql.spawn().expect("psql runs");
    psql.stdin.take().expect("a pipe").write_all(command.as_bytes()).expect("psql reads");
    let output = psql.wait_with_output().expect("psql ends");
    assert!(output.status.success(), "{command}");
    String::from_utf8(output.stdout).expect("UTF-8")
}

/// Runs the SQL blocks of a page in order, each in a session of its own, and returns how many
/// results were compared.
fn run_blocks(page: &Page, cluster: &Cluster, directory: &Path) -> usize {
    let blocks = page.blocks();
    let sql = blocks.iter().enumerate().filter(|(_, block)| block.language == "sql");
    sql.filter(|(index, block)| run_block(page, block, blocks.get(index + 1), cluster, directory))
        .count()
}

/// Runs an SQL block in a session of its own, and compares what it prints with the next block if
/// that shows rows. Whether it does.
pub fn run_block(
    page: &Page,
    block: &Block,
    next: Option<&Block>,
    cluster: &Cluster,
    directory: &Path,
) -> bool {
    let printed = psql(cluster, directory, &[], &block.text);
    let result = next.filter(|next| {
        let last = next.text.lines().last().unwrap_or_default();
        next.language == "text" && last.starts_with('(') && last.contains(" row")
    });
    if let Some(result) = result {
        let (name, text) = (&page.name, &block.text);
        assert_eq!(printed.trim_end(), result.text.trim_end(), "{name}: {text}");
    }
    result.is_some()
}

/// Runs the examples within the text of a page, in one session, and returns how many there are.
fn run_examples(page: &Page, cluster: &Cluster, directory: &Path) -> usize {
    let examples = page.examples();
    let queries: String =
        examples.iter().map(|(expression, _)| format!("SELECT {expression};\n")).collect();
    let printed = psql(cluster, directory, &["--tuples-only", "--no-align"], &queries);
    assert_eq!(printed.lines().count(), examples.len(), "{}", page.name);
    for ((expression, result), printed) in examples.iter().zip(printed.lines()) {
        assert_eq!(printed, result, "{}: {expression}", page.name);
    }
    examples.len()
}

/// The time at which the pages are run: half an hour before that of a server that died in one of
/// them, Unix time in s.
const TIME_OF_PAGES: u64 = 1_795_260_600;

/// What to set a clock forward or back by, so that it shows a time, which is Unix time in s.
pub fn offset_to(time: u64) -> String {
    let then = UNIX_EPOCH + Duration::from_secs(time);
    match SystemTime::now().duration_since(then) {
        Ok(since) => format!("-{}s", since.as_secs()),
        Err(error) => format!("+{}s", error.duration().as_secs()),
    }
}

/// A server that is set up as the pages say.
fn cluster_for_pages() -> Cluster {
    let builder = Cluster::builder().fake_clock();
    let mut cluster =
        builder.unset("snowflake.datacenter_id").unset("snowflake.worker_id").create();
    cluster.set_identity_outside(9);
    cluster.start_again();
    cluster.connect().batch_execute("CREATE EXTENSION snowflake").expect("the extension");
    cluster
}

#[test]
fn the_sql_of_every_page_runs_and_prints_what_the_page_says() {
    let (mut shown, mut examples) = (0, 0);
    for page in pages_for_one_server() {
        if page.examples().is_empty() && page.blocks().iter().all(|block| block.language != "sql") {
            continue;
        }
        let cluster = cluster_for_pages();
        cluster.set_clock(&offset_to(TIME_OF_PAGES));
        let directory = tempfile::tempdir().expect("a directory for temporary files");
        shown += run_blocks(&page, &cluster, directory.path());
        examples += run_examples(&page, &cluster, directory.path());
    }
    assert!(shown >= 10, "the pages show {shown} results");
    assert!(examples >= 25, "the pages show {examples} examples");
}

/// The items of lists that begin with a name in code.
fn items(text: &str) -> Vec<String> {
    let mut items: Vec<String> = Vec::new();
    let mut within = false;
    for line in text.lines() {
        if line.starts_with("- `") {
            items.push(String::new());
            within = true;
        } else {
            within &= line.starts_with("  ");
        }
        if let (true, Some(item)) = (within, items.last_mut()) {
            *item += line.trim_start_matches("- ").trim_start();
            item.push('\n');
        }
    }
    items
}

/// Each function, view and column of the extension is in the reference, functions with an example.
#[test]
fn the_reference_is_complete() {
    let cluster = Cluster::start();
    let members = "
        SELECT p.proname::text, true
        FROM pg_depend d JOIN pg_proc p ON d.classid = 'pg_proc'::regclass AND d.objid = p.oid
        WHERE d.deptype = 'e' AND p.proname LIKE 'snowflake%'
            AND p.proname NOT IN
                ('snowflake_within_min', 'snowflake_within_max', 'snowflake_stat', 'snowflake_status',
                 'snowflake_guard_claims', 'snowflake_guard_layout')
        UNION
        SELECT viewname, false FROM pg_views WHERE viewname LIKE '%snowflake%'
        UNION
        SELECT column_name, false FROM information_schema.columns
        WHERE table_name IN ('pg_stat_snowflake', 'snowflake_status', 'snowflake_nodes', 'snowflake_layout')";
    let reference = page("docs/reference.md").text;
    let items = items(&reference);
    let mut functions = 0;
    for row in cluster.connect().query(members, &[]).expect("members") {
        let (name, is_function): (String, bool) = (row.get(0), row.get(1));
        if is_function {
            functions += 1;
            let item = items.iter().find(|item| item.starts_with(&format!("`{name}(")));
            let item = item.unwrap_or_else(|| panic!("{name} is not in the reference"));
            assert!(item.contains("` → `"), "{name} has no example");
        } else {
            let (column, view) = (format!("`{name}`"), format!("### {name}\n"));
            let is_there = reference.contains(&column) || reference.contains(&view);
            assert!(is_there, "{name} is not in the reference");
        }
    }
    assert!(functions > 15);
}

/// The examples of settings, taken together, configure a server, and all of its settings are there.
#[test]
fn the_settings_of_the_reference_are_real() {
    let reference = page("docs/reference.md").text;
    let settings = &reference[reference.find("## Settings\n").expect("a reference of settings")..];
    let mut builder = Cluster::builder();
    let mut examples = Vec::new();
    for item in items(settings) {
        let (name, rest) = item[1..].split_once("` (default ").expect("a name and a default");
        let default = rest.split([',', ')']).next().expect("a default").trim_matches('`');
        let example = rest.rsplit('`').nth(1).expect("an example");
        let (also_name, value) = example.split_once(" = ").expect("name = value");
        assert_eq!(also_name, name);
        builder = builder.set(name, value);
        examples.push((name.to_owned(), value.to_owned(), default.to_owned()));
    }
    let (configured, fresh) = (builder.start(), Cluster::start());
    let show = |cluster: &Cluster, name: &str| -> String {
        cluster.connect().query_one(&format!("SHOW {name}"), &[]).expect("a setting").get(0)
    };
    for (name, value, default) in &examples {
        assert_eq!(&show(&configured, name), value, "{name}");
        if !name.ends_with("er_id") {
            let default = if default == "empty" { "" } else { default };
            assert_eq!(show(&fresh, name), default, "the default of {name}");
        }
    }
    let settings = "SELECT count(*) FROM pg_settings WHERE name LIKE 'snowflake.%'";
    assert_eq!(snowflake_e2e::bigint(&mut fresh.connect(), settings), examples.len() as i64);
}

#[test]
fn the_configurations_of_every_page_start_a_server() {
    let blocks = pages_for_one_server().flat_map(|page| page.blocks());
    let configurations: Vec<Block> = blocks.filter(|block| block.language == "ini").collect();
    assert!(configurations.len() >= 3);
    for configuration in configurations {
        let mut builder = Cluster::builder();
        if configuration.text.contains("datacenter_bits = 0") {
            builder = builder.unset("snowflake.datacenter_id");
        }
        for line in configuration.text.lines() {
            // The file with the identity, which stands in a block of its own.
            if line.starts_with("include ") {
                continue;
            }
            let (name, value) = line.split_once(" = ").expect("name = value");
            builder = builder.set(name, value.trim_matches('\''));
        }
        let cluster = builder.start();
        psql(&cluster, &tree(), &[], "SELECT snowflake_nextval()");
        if configuration.text.contains("sequence_bits = 7") {
            let safe = "SELECT snowflake_max('2094-09-07 15:47:35.551+00') <= 9007199254740991,
                snowflake_max('2094-09-07 15:47:35.552+00') > 9007199254740991";
            assert_eq!(psql(&cluster, &tree(), &["--tuples-only", "--no-align"], safe), "t|t\n");
        }
    }
}

#[test]
fn the_shell_commands_of_every_document_are_run_by_a_test() {
    // installation.rs runs make install. .ci/run runs the others, and make bench with QUICK=1.
    let ci = fs::read_to_string(tree().join(".ci/run")).expect(".ci/run");
    for document in documents() {
        for block in document.blocks().into_iter().filter(|block| block.language == "sh") {
            for line in block.text.lines().filter(|line| *line != "make install") {
                let line = if line == "make bench" { "make bench QUICK=1" } else { line };
                assert!(
                    ci.lines().any(|other| other.trim() == line),
                    "{}: .ci/run does not run {line}",
                    document.name
                );
            }
        }
    }
}

/// The programs and the versions on the page of clients are those of the files that it names, and
/// the page has every client.
#[test]
fn the_programs_of_clients_are_files() {
    let text = page("docs/clients.md").text;
    let mut programs = Vec::new();
    for (index, _) in text.match_indices("](../tests/clients/") {
        let (path, rest) = text[index + 5..].split_once(')').expect("a closing parenthesis");
        let file = page(path).text;
        if let Some(block) = rest.strip_prefix(":\n\n```") {
            let (_, block) = block.split_once('\n').expect("a block");
            let block = block.split_inclusive('\n').take_while(|line| *line != "```\n");
            assert_eq!(block.collect::<String>(), file, "{path}");
            programs.push(path.to_owned());
        } else {
            let version = text[..index].rsplit('[').next().expect("an opening bracket");
            assert!(file.contains(version), "{path} has no {version}");
        }
    }
    for client in fs::read_dir(tree().join("tests/clients")).expect("clients").flatten() {
        let directory = format!("tests/clients/{}/", client.file_name().display());
        assert!(programs.iter().any(|path| path.starts_with(&directory)), "{directory}");
    }
}

/// Links within the project lead to files and headings that exist.
#[test]
fn every_link_leads_to_a_file_and_a_heading() {
    let mut links = 0;
    for document in documents() {
        for (index, _) in document.text.match_indices("](") {
            let link = document.text[index + 2..].split(')').next().expect("a closing parenthesis");
            if link.contains("://") {
                continue;
            }
            let (path, heading) = link.split_once('#').unwrap_or((link, ""));
            let target = match path {
                "" => PathBuf::from(&document.name),
                path => Path::new(&document.name).parent().expect("a directory").join(path),
            };
            assert!(tree().join(&target).exists(), "{}: {link}", document.name);
            if !heading.is_empty() {
                let anchors = page(&target.to_string_lossy()).anchors();
                assert!(
                    anchors.iter().any(|anchor| anchor == heading),
                    "{}: {link}",
                    document.name
                );
            }
            links += 1;
        }
    }
    assert!(links >= 20, "the documents have {links} links");
}

/// Where figures stand that were measured, the day and the commit stand, too.
#[test]
fn figures_are_of_a_commit_and_a_day() {
    let git = |arguments: &[&str]| {
        Command::new("git").arg("-C").arg(tree()).args(arguments).output().expect("git runs")
    };
    // A shallow clone does not have it, and neither does an unpacked distribution.
    let has_history = git(&["rev-parse", "--is-shallow-repository"]).stdout == b"false\n";
    for name in [
        "README.md",
        "SECURITY.md",
        "docs/compare.md",
        "docs/operations.md",
        "docs/performance.md",
        "docs/several-servers.md",
    ] {
        let text = page(name).text;
        let mut commits = 0;
        for paragraph in text.split("\n\n") {
            for rest in paragraph.split("commit ").skip(1) {
                let commit = rest.split(|c: char| !c.is_ascii_hexdigit()).next().unwrap_or("");
                if commit.len() != 7 {
                    continue;
                }
                assert!(paragraph.contains("2026-"), "{name}: {paragraph}");
                assert!(
                    !has_history || git(&["cat-file", "-e", commit]).status.success(),
                    "{name}: {commit}"
                );
                commits += 1;
            }
        }
        assert!(commits > 0, "{name} names no commit");
    }
}

/// The alerts lead to headings that exist.
#[test]
fn the_runbook_of_every_alert_exists() {
    let alerts = page("monitoring/alerts.yaml").text;
    let runbooks: Vec<_> =
        alerts.lines().filter_map(|line| line.trim().strip_prefix("runbook: ")).collect();
    assert_eq!(runbooks.len(), alerts.matches("- alert: ").count());
    for runbook in runbooks {
        let (name, heading) = runbook.split_once('#').unwrap_or((runbook, "monitoring"));
        let anchors = page(name).anchors();
        assert!(anchors.iter().any(|anchor| anchor == heading), "{runbook}");
    }
}

#[test]
fn make_psql_opens_psql() {
    let mut make = Command::new("make");
    make.arg("-C").arg(tree()).arg("psql");
    let mut make = make.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("make runs");
    let mut stdin = make.stdin.take().expect("a pipe");
    stdin
        .write_all(b"SELECT 'worker', snowflake_worker_id(snowflake_nextval());\n")
        .expect("psql reads");
    drop(stdin);
    let output = make.wait_with_output().expect("make ends");
    assert!(output.status.success());
    let printed = String::from_utf8_lossy(&output.stdout);
    assert!(
        printed.lines().any(|line| line.trim() == "worker   |                   9"),
        "{printed}"
    );
}
