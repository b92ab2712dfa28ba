//! The server and machine that are measured.

use std::fmt;
use std::fs;
use std::thread;

use crate::cluster;

/// The server and its processors, and when they were measured.
pub struct Machine {
    /// The server's version.
    pub postgresql: String,
    /// Processors that this process may use.
    pub processors: usize,
    /// The name of the first of them.
    pub processor: String,
    /// Year and month.
    pub month: String,
}

impl Machine {
    /// The machine that this runs on.
    pub fn here() -> Machine {
        let cluster = cluster().start();
        let mut client = cluster.connect();
        // Distributions append their package version, which is left out.
        let facts = "SELECT split_part(current_setting('server_version'), ' ', 1), \
                     to_char(now(), 'YYYY-MM')";
        let row = client.query_one(facts, &[]).expect("a version");
        Machine {
            postgresql: row.get(0),
            processors: thread::available_parallelism().expect("processors").get(),
            processor: processor(),
            month: row.get(1),
        }
    }
}

impl fmt::Display for Machine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Machine { postgresql, processors, processor, month } = self;
        write!(f, "PostgreSQL {postgresql}, {processors} processors ({processor}), {month}")
    }
}

/// What the kernel calls a processor. On ARM, it gives no name.
fn processor() -> String {
    let processors = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    processors
        .lines()
        .filter_map(|line| line.split_once(':'))
        .find(|(field, _)| field.trim() == "model name")
        .map_or(std::env::consts::ARCH, |(_, name)| name.trim())
        .to_owned()
}
