//! Means that a test needs beside a server, and that not every machine and server has.

use std::env;
use std::fmt::{self, Display, Formatter};
use std::fs::OpenOptions;
use std::io::Write;
use std::process::{Command, Stdio};
use std::thread;

use crate::fleet::fleet_program_path;
use crate::programs::{Programs, is_root, under_host_name};

/// Something that a test needs.
#[derive(Clone, Copy)]
pub enum Means {
    /// A server of this major version or later.
    PostgreSQL(u32),
    /// An extension of the server.
    Extension(&'static str),
    /// A library of the server.
    Library(&'static str),
    /// A program that servers have around them: see [`crate::fleet_program`].
    Program(&'static str),
    /// A network in which nobody else is: see [`without_network`].
    OwnNetwork,
    /// A name of the machine that nobody else sees: see [`crate::under_host_name`].
    OwnHostName,
    /// A means that only the test itself can look for.
    Other(&'static str),
}

impl Display for Means {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Means::PostgreSQL(major) => write!(formatter, "PostgreSQL {major}"),
            Means::Extension(name) => write!(formatter, "extension {name}"),
            Means::Library(name) => write!(formatter, "library {name}"),
            Means::Program(name) => write!(formatter, "program {name}"),
            Means::OwnNetwork => write!(formatter, "own network"),
            Means::OwnHostName => write!(formatter, "own host name"),
            Means::Other(name) => write!(formatter, "{name}"),
        }
    }
}

/// Returns whether one of these is missing here. The test then has to end: it is counted as
/// skipped.
#[must_use]
pub fn lacks(needed: &[Means]) -> bool {
    let missing: Vec<Means> = needed.iter().copied().filter(|means| !is_here(means)).collect();
    missing.iter().copied().for_each(skip);
    !missing.is_empty()
}

/// Counts the test that calls it as skipped, for want of this; it has to end. Where
/// `SNOWFLAKE_SKIPPED` names a file, as `make test` does, it gets a line, which is compared with
/// the list of skips.
pub fn skip(missing: Means) {
    let thread = thread::current();
    skip_test(&missing.to_string(), thread.name().expect("the thread of a test"));
}

/// The same for the test of this name.
pub fn skip_test(missing: &str, name: &str) {
    let line = format!("{missing} | {name}\n");
    print!("skipped: {line}");
    if let Ok(path) = env::var("SNOWFLAKE_SKIPPED") {
        let file = OpenOptions::new().append(true).create(true).open(path);
        file.and_then(|mut file| file.write_all(line.as_bytes())).expect("a list of skips");
    }
}

fn is_here(means: &Means) -> bool {
    match means {
        Means::PostgreSQL(major) => Programs::from_env().major() >= *major,
        Means::Extension(name) => Programs::from_env().has_extension(name),
        Means::Library(name) => Programs::from_env().has_library(name),
        Means::Program(name) => runs(Command::new("which").arg(fleet_program_path(name))),
        Means::OwnNetwork => runs(without_network().arg("true")),
        Means::OwnHostName => runs(&mut under_host_name("db-1", &Command::new("true"))),
        Means::Other(_) => false,
    }
}

/// The start of a command that runs without a network. Users other than root need a namespace in
/// which they may make one; containers, for example, do not permit either.
pub fn without_network() -> Command {
    let mut command = Command::new("unshare");
    if !is_root() {
        command.arg("--map-current-user");
    }
    command.arg("--net");
    command
}

fn runs(command: &mut Command) -> bool {
    let status = command.stdout(Stdio::null()).stderr(Stdio::null()).status();
    status.is_ok_and(|status| status.success())
}
