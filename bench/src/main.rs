//! What an ID costs: side by side with other keys, on one server, in interleaved rounds, as
//! medians.
//!
//! An absolute time means little on a shared machine. What counts are the ratios within one run,
//! and the limits at the end apply to these. Every measured function is checked first, and every
//! table that was filled afterwards: a wrong or a duplicate value ends the run with an error.
//!
//! - `costs`: functions, one call for each of many rows.
//! - `effort`: how much is measured; `server`: the server that it is measured on, its WAL
//!   and its tables.
//! - `keys`: kinds of keys of tables.
//! - `inserts`: rows with a primary key, in bulk and in small statements of many sessions.
//!   `copies`: rows in bulk with COPY.
//! - `observation`: rows that replication applies, with and without the trigger that observes them.
//! - `adoption`: statements with and without `snowflake.adopted_schemas`. It can run alone.
//! - `horizon`: a call of `snowflake_horizon()`, and how far those who go by it lag behind.
//! - `names`: how long it takes to find out whose the name of a public ID is, call by call.
//! - `sustained`: sessions that only generate.
//! - `latency`: what single inserts wait for, and what a session waits for beside greedy ones. It
//!   runs alone.
//! - `instructions`: those of a call, which do not depend on how busy the machine is. They are
//!   counted alone, too.
//! - `machine`: what all of this is measured on.
//! - `report`: tables and limits; `quantiles`: medians and the like.
//! - `chart`: the same as a picture; `picture`: what all pictures of the documents have in common.

use std::path::PathBuf;
use std::process::ExitCode;

use effort::{Effort, FULL, QUICK};
use machine::Machine;
use report::Report;

mod adoption;
mod chart;
mod copies;
mod costs;
mod effort;
mod horizon;
mod inserts;
mod instructions;
mod keys;
mod latency;
mod machine;
mod names;
mod observation;
mod picture;
mod quantiles;
mod report;
mod server;
mod sustained;

fn main() -> ExitCode {
    let mut arguments = std::env::args().skip(1);
    let (effort, is_quick, chart) = match (arguments.next().as_deref(), arguments.next()) {
        (Some("full"), Some(chart)) => (FULL, false, chart),
        (Some("quick"), Some(chart)) => (QUICK, true, chart),
        (Some("latency"), None) => {
            println!("{}", Machine::here());
            latency::measure();
            return ExitCode::SUCCESS;
        }
        (Some("adoption"), None) => return only(adoption::measure),
        (Some("instructions"), None) => {
            println!("{}", Machine::here());
            return instructions::count();
        }
        _ => {
            eprintln!(
                "usage: bench full CHART.svg | quick CHART.svg | latency | adoption | instructions"
            );
            return ExitCode::FAILURE;
        }
    };
    let machine = Machine::here();
    println!("{machine}");
    let mut report = Report::new();
    let costs = costs::measure(&effort, &mut report);
    let inserts = inserts::measure(&effort, &mut report);
    observation::measure(&effort, &mut report);
    adoption::measure(&effort, &mut report);
    horizon::measure(&effort, &mut report);
    names::measure(&effort);
    let sustained = sustained::measure(&effort, &mut report);
    let chart = PathBuf::from(chart);
    chart::draw(&chart, &machine, &costs, &inserts, &sustained);
    let are_kept = report.conclude();
    println!("\nChart: {}", chart.display());
    // A short run shows only that everything works.
    ExitCode::from(u8::from(!are_kept && !is_quick))
}

/// Measures one thing.
fn only(measure: fn(&Effort, &mut Report)) -> ExitCode {
    println!("{}", Machine::here());
    let mut report = Report::new();
    measure(&FULL, &mut report);
    ExitCode::from(u8::from(!report.conclude()))
}
