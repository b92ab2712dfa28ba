//! A fleet of 1,024 servers in simulated time; see the library of this crate.
//!
//! `snowflake-simulation [IDS] [--seed N] [--ignore-record] [--plot FILE]`
//!
//! The second picture is answers.svg, beside the file.

use std::env;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Instant;

use snowflake_simulation::answers;
use snowflake_simulation::fleet;
use snowflake_simulation::options::Options;
use snowflake_simulation::{chart, inversions};

const USAGE: &str = "usage: snowflake-simulation [IDS] [--seed N] [--ignore-record] [--plot FILE]";

/// IDs of a run.
const IDS: u64 = 1_000_000_000;

fn main() -> ExitCode {
    let mut options = Options { progress: true, ..Options::new(IDS, fastrand::u64(..)) };
    let mut plot: Option<PathBuf> = None;
    let mut arguments = env::args().skip(1);
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            "--seed" => {
                let seed = arguments.next().and_then(|seed| seed.parse().ok());
                options.seed = seed.expect(USAGE);
            }
            "--ignore-record" => options.ignore_record = true,
            "--plot" => plot = Some(arguments.next().expect(USAGE).into()),
            ids => options.ids = ids.replace(['_', ','], "").parse().expect(USAGE),
        }
    }
    println!("seed {}", options.seed);
    let started = Instant::now();
    let report = fleet::run(&options, |_| {});
    println!("\n{report}{:<30} {:>15.1}\n", "seconds taken", started.elapsed().as_secs_f64());
    let orders = inversions::measure(options.seed);
    println!("{}", inversions::table(&orders));
    let answers = answers::measure(options.seed);
    println!("{}", answers::table(&answers));
    if let Some(path) = plot {
        chart::draw(&path, &orders);
        chart::draw_answers(&path.with_file_name("answers.svg"), &answers);
    }
    if report.counts.is_sound() {
        println!("test result: ok. No ID came twice.");
        ExitCode::SUCCESS
    } else {
        println!("test result: FAILED; seed {}", options.seed);
        ExitCode::FAILURE
    }
}
