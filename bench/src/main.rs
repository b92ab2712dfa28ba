//! The cost of an ID: side by side with other keys, on one server, in interleaved rounds, as
//! medians.
//!
//! An absolute time means little on a shared machine. What counts are the ratios within one run,
//! and the limits at the end apply to these. Every measured function is checked first, and every
//! table that was filled afterwards: a wrong or a duplicate value ends the run with an error.
//!
//! - `functions` (`costs`): one call for each of many rows.
//! - `inserts`: rows with a primary key, in bulk, with INSERT and with COPY.
//! - `sessions`: up to 64 that take keys and insert rows, and the wait of one beside them.
//! - `observation`: rows that replication applies, with and without the trigger that observes them.
//! - `adoption`: statements with and without `snowflake.adopted_schemas`.
//! - `horizon`: a call of `snowflake_horizon()`, and the lag of those who go by it.
//! - `names`: the time to find out whose the name of a public ID is, call by call.
//! - `latency`: the waits of single inserts, and of a session beside others. It runs only alone.
//! - `instructions`: those of a call, which do not depend on how busy the machine is. They are
//!   counted alone, too.
//!
//! These use:
//!
//! - `keys`: kinds of keys, and servers that have them.
//! - `crew`: sessions that do one thing at the same time.
//! - `effort`: the amount of measuring; `server`: the server, its WAL and its tables; `machine`:
//!   the machine.
//! - `report`: tables and limits; `quantiles`: medians and the like.
//! - `chart`: the same as pictures; `picture`: the common part of all pictures of the documents.

use std::path::Path;
use std::process::ExitCode;

use effort::{FULL, QUICK};
use machine::Machine;
use report::Report;

mod adoption;
mod chart;
mod costs;
mod crew;
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
mod sessions;

/// Parts that can be measured alone. All but the last two are measured together.
const PARTS: &str =
    "functions|inserts|sessions|observation|adoption|horizon|names|latency|instructions";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(|argument| &**argument).collect();
    let (part, effort, pictures) = match arguments[..] {
        [part, "full", pictures] => (part, FULL, pictures),
        [part, "quick", pictures] => (part, QUICK, pictures),
        _ => ("", QUICK, ""),
    };
    if part != "all" && !PARTS.split('|').any(|known| known == part) {
        eprintln!("usage: bench all|{PARTS} full|quick DIRECTORY_OF_PICTURES");
        return ExitCode::FAILURE;
    }
    // A short run shows only that everything works.
    let is_full = arguments[1] == "full";
    // Instructions are the same on a busy machine.
    let machine = Machine::here(is_full && part != "instructions");
    println!("{machine}");
    if part == "instructions" {
        return instructions::count();
    }
    let is_wanted = |one: &str| part == one || part == "all";
    let picture = |name: &str| Path::new(pictures).join(name);
    let mut report = Report::new();
    if part == "latency" {
        latency::measure(&effort, &mut report);
    }
    let costs = is_wanted("functions").then(|| costs::measure(&effort, &mut report));
    let inserts = is_wanted("inserts").then(|| inserts::measure(&effort, &mut report));
    if let (Some(costs), Some(inserts)) = (costs, inserts) {
        chart::keys(&picture("performance.svg"), &machine, &costs, &inserts);
    }
    if is_wanted("sessions") {
        let works = sessions::measure(&effort, &mut report);
        latency::beside(&[64], &effort, &mut report);
        chart::sessions(&picture("sessions.svg"), &machine, &works);
    }
    if is_wanted("observation") {
        observation::measure(&effort, &mut report);
    }
    if is_wanted("adoption") {
        adoption::measure(&effort, &mut report);
    }
    if is_wanted("horizon") {
        horizon::measure(&effort, &mut report);
    }
    if is_wanted("names") {
        names::measure(&effort);
    }
    let are_kept = report.conclude();
    ExitCode::from(u8::from(!are_kept && is_full))
}
