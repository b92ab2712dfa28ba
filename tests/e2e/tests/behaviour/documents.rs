//! README.md and the pages of docs/ show what happens.

mod reference;

use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use snowflake_e2e::Cluster;
use snowflake_repository::{Block, Page, pages, tree};

/// The page that `migrations` follows, part by part.
pub const MIGRATIONS: &str = "docs/migrate.md";

/// The other pages, whose blocks run on a server with the extension.
fn pages_for_one_server() -> impl Iterator<Item = Page> {
    pages().into_iter().filter(|page| page.name != MIGRATIONS)
}

/// Returns the output of a program that reads this.
fn piped(command: &mut Command, input: &str) -> String {
    let mut child =
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("the program runs");
    child.stdin.take().expect("a pipe").write_all(input.as_bytes()).expect("it reads");
    let output = child.wait_with_output().expect("it ends");
    assert!(output.status.success(), "{input}");
    String::from_utf8(output.stdout).expect("UTF-8")
}

/// Returns the output of psql for the command. psql starts in `directory`.
fn psql(cluster: &Cluster, directory: &Path, options: &[&str], command: &str) -> String {
    let mut psql = cluster.client_program("psql");
    psql.args(["--no-psqlrc", "--quiet", "--set=ON_ERROR_STOP=1"]).args(options);
    piped(psql.current_dir(directory), command)
}

/// Runs the SQL blocks of a page in order, each in a session of its own, and returns how many
/// results were compared.
fn run_blocks(page: &Page, cluster: &Cluster, directory: &Path) -> usize {
    let blocks = page.blocks();
    for block in &blocks {
        // The reader puts this block into a file.
        if let Some(file) = block.language.strip_prefix("sql ") {
            fs::write(directory.join(file), &block.text).expect("a file");
        }
    }
    let sql = (0..blocks.len()).filter(|index| blocks[*index].language == "sql");
    sql.filter(|index| run_block(page, *index, cluster, directory)).count()
}

/// Runs the SQL block of this number in a session of its own, and compares what it prints with the
/// next block if that shows rows. Whether it does.
pub fn run_block(page: &Page, index: usize, cluster: &Cluster, directory: &Path) -> bool {
    let blocks = page.blocks();
    let (name, text) = (&page.name, &blocks[index].text);
    let printed = psql(cluster, directory, &[], text);
    let result = blocks.get(index + 1).filter(|next| {
        let last = next.text.lines().last().unwrap_or_default();
        next.language == "text" && last.starts_with('(') && last.contains(" row")
    });
    if let Some(result) = result {
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

/// Returns the offset of a clock that shows a time, which is Unix time in s.
pub fn offset_to(time: u64) -> String {
    let then = UNIX_EPOCH + Duration::from_secs(time);
    match SystemTime::now().duration_since(then) {
        Ok(since) => format!("-{}s", since.as_secs()),
        Err(error) => format!("+{}s", error.duration().as_secs()),
    }
}

/// The key of public IDs that the pages use.
const KEY_OF_PAGES: &str = "000102030405060708090a0b0c0d0e0f\n";

/// A server that is set up as the pages say.
fn cluster_for_pages() -> Cluster {
    let builder = Cluster::builder().fake_clock().public_keys(KEY_OF_PAGES);
    let mut cluster = builder.without_identity().create();
    cluster.set_identity_outside(9);
    cluster.start_again();
    cluster.run("CREATE EXTENSION snowflake");
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
            builder = match name {
                // This machine does not have the file.
                "snowflake.public_key_file" => builder.public_keys(KEY_OF_PAGES),
                // Nor has it the name.
                "snowflake.worker_id_from" => builder
                    .unset("snowflake.worker_id")
                    .environment("HOST=db-1".into())
                    .set(name, &value.trim_matches('\'').replace("hostname=", "HOST=")),
                _ => builder.set(name, value.trim_matches('\'')),
            };
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
fn make_psql_opens_psql() {
    let query = "SELECT 'worker', snowflake_worker_id(snowflake_nextval());\n";
    let printed = piped(Command::new("make").arg("-C").arg(tree()).arg("psql"), query);
    let worker = "worker   |                   9";
    assert!(printed.lines().any(|line| line.trim() == worker), "{printed}");
}
