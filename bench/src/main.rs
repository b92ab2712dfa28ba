//! What an ID costs: side by side with other keys, on one server, in interleaved rounds, as
//! medians.
//!
//! An absolute time means little on a shared machine. What counts are the ratios within one run,
//! and the limits at the end apply to these. Every measured function is checked first, and every
//! table that was filled afterwards: a wrong or a duplicate value ends the run with an error.
//!
//! - `costs`: functions, one call for each of many rows.
//! - `inserts`: rows with a primary key, in bulk and in small statements of many sessions.
//!   `copies`: rows in bulk with COPY.
//! - `observation`: rows that replication applies, with and without the trigger that observes them.
//! - `adoption`: statements with and without the event trigger of `snowflake_adopt`.
//! - `names`: how long it takes to find out whose the name of a public ID is, call by call.
//! - `sustained`: sessions that only generate.
//! - `latency`: what single inserts wait for, and what a session waits for beside greedy ones. It
//!   runs alone.
//! - `instructions`: those of a call, which do not depend on how busy the machine is. They are
//!   counted alone, too.
//! - `machine`: what all of this is measured on.
//! - `report`: tables and limits.
//! - `chart`: the same as a picture; `picture`: what all pictures of the documents have in common.

use std::path::PathBuf;
use std::process::ExitCode;

use postgres::Client;
use snowflake_e2e::{Cluster, ClusterBuilder};

use machine::Machine;
use report::Report;

mod adoption;
mod chart;
mod copies;
mod costs;
mod inserts;
mod instructions;
mod latency;
mod machine;
mod names;
mod observation;
mod picture;
mod report;
mod sustained;

/// How much is measured.
struct Effort {
    /// Rounds of everything, each of which measures every candidate once. What has to be warm gets
    /// one more, which does not count.
    rounds: usize,
    /// Rounds of functions, which are shorter.
    call_rounds: usize,
    /// Calls of a function in a round.
    calls: u32,
    /// Rows of a bulk insert.
    rows: u32,
    /// Rounds of small inserts, which have the most candidates.
    small_rounds: usize,
    /// Seconds of small inserts, for each kind of key, number of sessions and number of rows, in a
    /// round.
    insert_seconds: u32,
    /// Seconds of sustained generation, for each number of sessions.
    sustained_seconds: f64,
}

const FULL: Effort = Effort {
    rounds: 7,
    call_rounds: 61,
    calls: 200_000,
    rows: 1_000_000,
    small_rounds: 3,
    insert_seconds: 2,
    sustained_seconds: 30.0,
};

/// Enough to see that everything works.
const QUICK: Effort = Effort {
    rounds: 1,
    call_rounds: 3,
    calls: 100_000,
    rows: 50_000,
    small_rounds: 1,
    insert_seconds: 1,
    sustained_seconds: 1.0,
};

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
        (Some("instructions"), None) => {
            println!("{}", Machine::here());
            return instructions::count();
        }
        _ => {
            eprintln!("usage: bench full CHART.svg | quick CHART.svg | latency | instructions");
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
    names::measure(&effort);
    let sustained = sustained::measure(&effort, &mut report);
    let chart = PathBuf::from(chart);
    chart::draw(&chart, &machine, &costs, &inserts, &sustained);
    let are_kept = report.conclude();
    println!("\nChart: {}", chart.display());
    // A short run shows only that everything works.
    ExitCode::from(u8::from(!are_kept && !is_quick))
}

/// A cluster that does nothing but what is measured.
fn cluster() -> ClusterBuilder {
    Cluster::builder()
        .set("autovacuum", "off")
        .set("checkpoint_timeout", "1h")
        .set("max_wal_size", "32GB")
        .set("shared_buffers", "1GB")
        .set("max_parallel_workers_per_gather", "0")
        .set("max_connections", "100")
}

/// The widths of a server's layout, as `5, 5, 12`.
fn widths(client: &mut Client) -> String {
    let widths = "SELECT concat_ws(', ', current_setting('snowflake.datacenter_bits'), \
                  current_setting('snowflake.worker_bits'), \
                  current_setting('snowflake.sequence_bits'))";
    client.query_one(widths, &[]).expect("settings").get(0)
}

/// The value in the middle.
fn median(values: Vec<f64>) -> f64 {
    quantiles(values)(0.5)
}

/// The value that this share of all does not exceed.
fn quantiles(mut values: Vec<f64>) -> impl Fn(f64) -> f64 {
    assert!(!values.is_empty());
    values.sort_unstable_by(f64::total_cmp);
    move |share| values[((values.len() - 1) as f64 * share).round() as usize]
}
