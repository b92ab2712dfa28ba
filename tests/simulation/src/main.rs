//! A fleet of 1,024 servers in simulated time; see the library of this crate.
//!
//! `snowflake-simulation [IDS] [--seed N] [--plot DIRECTORY]`
//!
//! With a directory, only draws the pictures of docs/order.md into it.

use std::env;
use std::path::Path;
use std::process::ExitCode;

use snowflake_simulation::options::Options;
use snowflake_simulation::{chart, fleet};

const USAGE: &str = "usage: snowflake-simulation [IDS] [--seed N] [--plot DIRECTORY]";

/// IDs of a run.
const IDS: u64 = 1_000_000_000;

fn main() -> ExitCode {
    let mut options = Options::new(IDS, fastrand::u64(..));
    let mut plot = None;
    let mut arguments = env::args().skip(1);
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            "--seed" => {
                let seed = arguments.next().and_then(|seed| seed.parse().ok());
                options.seed = seed.expect(USAGE);
            }
            "--plot" => plot = Some(arguments.next().expect(USAGE)),
            ids => options.ids = ids.parse().expect(USAGE),
        }
    }
    println!("seed {}", options.seed);
    if let Some(directory) = plot {
        chart::draw(Path::new(&directory), options.seed);
        return ExitCode::SUCCESS;
    }
    let counts = fleet::run(&options, |_, _| {});
    println!("{counts:#?}");
    if counts.is_sound() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
