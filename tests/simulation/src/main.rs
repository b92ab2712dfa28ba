//! A fleet of 1,024 servers in simulated time; see the library of this crate.
//!
//! `snowflake-simulation [IDS] [--plot DIRECTORY]`
//!
//! With a directory, only draws the pictures of docs/order.md into it.

use std::env;
use std::path::Path;
use std::process::ExitCode;

use snowflake_simulation::options::Options;
use snowflake_simulation::{chart, fleet, seed};

const USAGE: &str = "usage: snowflake-simulation [IDS] [--plot DIRECTORY]";

/// IDs of a run.
const IDS: u64 = 1_000_000_000;

fn main() -> ExitCode {
    let mut options = Options::new(IDS, seed());
    let mut plot = None;
    let mut arguments = env::args().skip(1);
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            "--plot" => plot = Some(arguments.next().expect(USAGE)),
            ids => options.ids = ids.parse().expect(USAGE),
        }
    }
    if let Some(directory) = plot {
        chart::draw(Path::new(&directory), options.seed);
        return ExitCode::SUCCESS;
    }
    let counts = fleet::run(&options, |_, _| {});
    println!("{counts:#?}");
    if counts.is_sound() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
