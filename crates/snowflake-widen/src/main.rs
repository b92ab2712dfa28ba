//! `snowflake-widen` makes an integer key bigint, with the columns that refer to it, while the
//! application writes.
//!
//! The extension `snowflake_convert` knows the way: `snowflake_widen_next()` reads from the catalog
//! which statement comes next. The program executes that statement, with its locks and timeouts, and
//! asks again, so it keeps nothing that could be lost, and goes on from wherever it or the server was
//! stopped.
//!
//! - `arguments`: the command line; `address`: the server that it names; `passfile`: the file of
//!   passwords; `tls`: how a server proves who it is.
//! - `session`: the session that executes, and a second one that observes it; `pooler`: whether they
//!   are sessions of their own.
//! - `step`: what comes next; `execution`: one statement.
//! - `course`: one statement after the other, over lost connections.
//! - `progress`: what is shown meanwhile; `activity`: what a session of the server does, and who is in
//!   its way; `mark`: what
//!   it says of itself there.
//! - `report`, `status`: the commands that change nothing.
//! - `interrupt`: signals; `failure`: why the program ends.

mod activity;
mod address;
mod arguments;
mod course;
mod execution;
mod failure;
mod interrupt;
mod mark;
mod passfile;
mod pooler;
mod progress;
mod report;
mod session;
mod status;
mod step;
mod tls;

use std::process::ExitCode;

use arguments::{Arguments, Command};
use failure::Failure;

fn main() -> ExitCode {
    let arguments = match Arguments::read() {
        Ok(arguments) => arguments,
        Err(code) => return code,
    };
    match run(&arguments) {
        Ok(code) => code,
        Err(failure) => {
            eprintln!("{failure}");
            failure.code()
        }
    }
}

fn run(arguments: &Arguments) -> Result<ExitCode, Failure> {
    let address = address::Address::of(&arguments.connection)?;
    match &arguments.command {
        Command::Report(unit) => report::show(&address, unit),
        Command::Status { table, named } => status::show(&address, table.as_deref(), named),
        Command::Prepare(unit) => course::follow(&address, unit, "prepare"),
        Command::Swap(unit) => course::follow(&address, unit, "swap"),
        Command::Abandon(unit) => course::follow(&address, unit, "abandon"),
    }
}
