//! The server and machine that are measured, whether others use it, and what of the project.

use std::fmt;
use std::fs;
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use crate::server::cluster;

/// A machine is quiet if its load average of the last minute is below this.
const QUIET: f64 = 0.3;

/// The time that a machine may take until it is quiet: the extension has just been built.
const PATIENCE: Duration = Duration::from_secs(300);

/// The server and its processors, and when they were measured.
pub struct Machine {
    /// The server's version.
    pub postgresql: String,
    /// Processors that this process may use.
    pub processors: usize,
    /// The name of the first of them.
    pub processor: String,
    /// The day.
    pub date: String,
    /// The last commit, and whether something was changed since.
    pub commit: String,
    /// The load average of the last minute.
    pub load: f64,
}

impl Machine {
    /// The machine that this runs on, once it is quiet if that is worth a wait.
    pub fn here(waits: bool) -> Machine {
        let begun = Instant::now();
        while waits && load() >= QUIET && begun.elapsed() < PATIENCE {
            thread::sleep(Duration::from_secs(5));
        }
        let load = load();
        let cluster = cluster().start();
        let mut client = cluster.connect();
        // Distributions append their package version, which is left out.
        let facts = "SELECT split_part(current_setting('server_version'), ' ', 1), \
                     to_char(now(), 'YYYY-MM-DD')";
        let row = client.query_one(facts, &[]).expect("a version");
        Machine {
            postgresql: row.get(0),
            processors: thread::available_parallelism().expect("processors").get(),
            processor: processor(),
            date: row.get(1),
            commit: commit(),
            load,
        }
    }
}

impl fmt::Display for Machine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Machine { postgresql, processors, processor, date, commit, load } = self;
        let quiet = if *load < QUIET { "quiet" } else { "NOT quiet" };
        writeln!(f, "PostgreSQL {postgresql}, {processors} processors ({processor})")?;
        write!(f, "{date}, {commit}; load average before: {load}, which is {quiet}")
    }
}

fn load() -> f64 {
    let averages = fs::read_to_string("/proc/loadavg").expect("/proc");
    averages.split(' ').next().and_then(|load| load.parse().ok()).expect("a load average")
}

/// Returns the kernel's name of the processor. On ARM, there is none.
fn processor() -> String {
    let processors = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    processors
        .lines()
        .filter_map(|line| line.split_once(':'))
        .find(|(field, _)| field.trim() == "model name")
        .map_or(std::env::consts::ARCH, |(_, name)| name.trim())
        .to_owned()
}

/// A distribution without history has no commit.
fn commit() -> String {
    let mut git = Command::new("git");
    git.args(["-C", env!("CARGO_MANIFEST_DIR"), "describe", "--always", "--dirty"]);
    let output = git.args(["--exclude=*", "--abbrev=7"]).output();
    let commit = output.ok().filter(|output| output.status.success());
    commit.map_or("no commit".into(), |output| {
        format!("commit {}", String::from_utf8_lossy(&output.stdout).trim())
    })
}
