//! The programs of a PostgreSQL server, run as a user that it accepts.

use std::env;
use std::fs::{self, Permissions};
use std::iter;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};

use crate::wait::eventually;

/// The programs and files of an installed PostgreSQL server with the extension.
#[derive(Clone, Debug)]
pub struct Programs {
    bin: PathBuf,
    lib: PathBuf,
    modules: PathBuf,
    share: PathBuf,
    pgxs: PathBuf,
    template: PathBuf,
}

impl Programs {
    /// The server that `SNOWFLAKE_PG_CONFIG` names.
    pub fn from_env() -> Programs {
        let pg_config = env::var("SNOWFLAKE_PG_CONFIG");
        Programs::of(&pg_config.expect("SNOWFLAKE_PG_CONFIG is set: run the tests with make test"))
    }

    /// An older server to upgrade from: the one that `SNOWFLAKE_OLD_PG_CONFIG` names, or else the
    /// same one.
    pub fn old_from_env() -> Programs {
        env::var("SNOWFLAKE_OLD_PG_CONFIG")
            .map_or_else(|_| Programs::from_env(), |old| Programs::of(&old))
    }

    /// The same server with the former release: the one that `SNOWFLAKE_FORMER_RELEASE` names.
    pub fn former_release_from_env() -> Programs {
        let former = env::var("SNOWFLAKE_FORMER_RELEASE");
        let set = "SNOWFLAKE_FORMER_RELEASE is set: run the tests with make test-upgrade";
        Programs::of(&former.expect(set))
    }

    fn of(pg_config: &str) -> Programs {
        let ask = |option| ask(Path::new(pg_config), option);
        let bin = ask("--bindir");
        let mut templates = bin.ancestors().map(|directory| directory.join("template"));
        let template = templates.find(|template| template.exists());
        let template = template.expect("tools/setup test made a template cluster");
        let (lib, modules, pgxs) = (ask("--libdir"), ask("--pkglibdir"), ask("--pgxs"));
        Programs { bin, lib, modules, share: ask("--sharedir"), pgxs, template }
    }

    /// A copy of the server in a directory, which is empty, without the files of the extension.
    pub fn without_the_extension(&self, directory: &Path) -> Programs {
        let copy = self.copy(directory);
        for directory in [copy.modules.clone(), copy.extensions()] {
            for file in fs::read_dir(directory).expect("a directory").flatten() {
                if file.file_name().to_string_lossy().starts_with("snowflake") {
                    fs::remove_file(file.path()).expect("a file of the copy");
                }
            }
        }
        copy
    }

    /// A copy of the server in a directory, which is empty.
    pub fn copy(&self, directory: &Path) -> Programs {
        let root = self.template.parent().expect("the template is beside the server");
        let moved = |path: &Path| match path.strip_prefix(root) {
            Ok(rest) => directory.join(rest),
            Err(_) => path.to_owned(),
        };
        let copy = Programs {
            bin: moved(&self.bin),
            lib: moved(&self.lib),
            modules: moved(&self.modules),
            share: moved(&self.share),
            pgxs: self.pgxs.clone(),
            template: self.template.clone(),
        };
        for (from, to) in [
            (&self.bin, &copy.bin),
            (&self.lib, &copy.lib),
            (&self.modules, &copy.modules),
            (&self.share, &copy.share),
        ] {
            if from != to && from.exists() && !to.exists() {
                fs::create_dir_all(to.parent().expect("below the directory")).expect("created");
                let mut copy = Command::new("cp");
                let status = copy.args(["-a", "--reflink=auto"]).arg(from).arg(to).status();
                assert!(status.expect("cp runs").success(), "cannot copy {}", from.display());
            }
        }
        copy
    }

    /// Where the libraries of extensions are.
    pub fn modules(&self) -> &Path {
        &self.modules
    }

    /// Where the SQL of extensions is.
    pub fn extensions(&self) -> PathBuf {
        self.share.join("extension")
    }

    /// The major version, such as 15.
    pub fn major(&self) -> u32 {
        let version = output(Command::new(self.bin.join("postgres")).arg("--version"));
        // A release candidate is "19rc1".
        let mut numbers = version.split(|letter: char| !letter.is_ascii_digit());
        let major = numbers.find_map(|number| number.parse().ok());
        major.expect("a version number")
    }

    /// A program of the server that touches its files, such as `pg_basebackup`, as the user that
    /// servers run as.
    pub fn program(&self, name: &str) -> Command {
        self.program_with(&[], name)
    }

    /// The same, with an environment that only the program itself gets.
    pub fn program_with(&self, environment: &[String], name: &str) -> Command {
        let mut command = as_server_user(Path::new("env"));
        command.args(environment).arg(self.bin.join(name));
        self.use_own_libpq(&mut command);
        command
    }

    /// A client program, such as `psql`, as the user who runs this.
    pub fn client(&self, name: &str) -> Command {
        let mut command = Command::new(self.bin.join(name));
        forget_other_servers(&mut command);
        self.use_own_libpq(&mut command);
        command
    }

    /// Commands for a shell, which finds the programs of the server first, as the user who runs
    /// this.
    pub fn shell(&self, commands: &str) -> Command {
        let mut shell = Command::new("sh");
        forget_other_servers(&mut shell);
        let path = env::var("PATH").expect("a path");
        shell.env("PATH", format!("{}:{path}", self.bin.display())).env("PSQLRC", "/dev/null");
        self.use_own_libpq(&mut shell);
        shell.args(["-e", "-c", commands]);
        shell
    }

    fn use_own_libpq(&self, command: &mut Command) {
        if let Some(libraries) = self.own_libraries() {
            command.env("LD_LIBRARY_PATH", libraries);
        }
    }

    /// Returns whether a library that the server can load, such as `citus`, is installed.
    pub fn has_library(&self, name: &str) -> bool {
        self.modules.join(name).with_extension("so").exists()
    }

    /// Returns whether an extension, such as `pg_partman`, is installed.
    pub fn has_extension(&self, name: &str) -> bool {
        self.extensions().join(name).with_extension("control").exists()
    }

    /// Where the server's own libpq is, if it is not that of the system.
    pub fn own_libraries(&self) -> Option<&Path> {
        Some(&*self.lib).filter(|lib| lib.join("libpq.so.5").exists())
    }

    /// The directory of the server's programs.
    pub fn bin(&self) -> &Path {
        &self.bin
    }

    /// The driver of PostgreSQL's regression tests.
    pub fn pg_regress(&self) -> PathBuf {
        let pgxs = self.pgxs.parent().and_then(Path::parent).expect("pgxs.mk is in src/makefiles");
        pgxs.join("test/regress/pg_regress")
    }

    /// A data directory to copy, fresh from initdb.
    pub fn template(&self) -> &Path {
        &self.template
    }
}

/// Asks `pg_config` for a path.
fn ask(pg_config: &Path, option: &str) -> PathBuf {
    output(Command::new(pg_config).arg(option)).trim().into()
}

/// A command as the user that servers run as: `postgres` for root, whom PostgreSQL refuses. The
/// program goes down, without a shutdown checkpoint, when the thread that starts it ends.
pub fn as_server_user(program: &Path) -> Command {
    let mut command = Command::new("setpriv");
    if is_root() {
        command.args(["--reuid=postgres", "--regid=postgres", "--init-groups"]);
    }
    command.arg("--pdeathsig=QUIT").arg("--").arg(program);
    forget_other_servers(&mut command);
    // Not the current directory: the user might not be allowed to enter it.
    command.current_dir("/");
    command
}

/// Returns the output of a program that has to succeed.
#[track_caller]
pub fn output(command: &mut Command) -> String {
    let output = command.output().expect("the program runs");
    let said = String::from_utf8(output.stdout).expect("UTF-8");
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command:?}: {said}{errors}");
    said
}

/// Sends a signal, such as `STOP`, to a process of a server.
#[track_caller]
pub fn signal(pid: i64, name: &str) {
    assert!(kill(name, &[pid]).success(), "no process {pid}");
}

/// A process of a server that stands still. It goes on when this is dropped, also when an assertion
/// fails: nothing else ends before, not even the server.
pub struct Stopped(i64);

impl Stopped {
    /// Stops a process.
    pub fn new(pid: i64) -> Stopped {
        signal(pid, "STOP");
        Stopped(pid)
    }
}

impl Drop for Stopped {
    fn drop(&mut self) {
        signal(self.0, "CONT");
    }
}

/// Kills a postmaster and all of its processes at once, with no chance to clean up. It stands still
/// first: a process that it forks after the others are listed would live on.
pub fn kill_server(postmaster: u32) {
    kill("STOP", &[postmaster]);
    eventually("the postmaster stands still", || {
        matches!(state(postmaster), None | Some('T' | 'Z'))
    });
    let victims: Vec<u32> = iter::once(postmaster).chain(children(postmaster)).collect();
    // The postmaster first, so that it does not clean up after the others.
    kill("KILL", &victims);
    for pid in victims {
        // A zombie has let go of everything.
        eventually("a process is gone", || matches!(state(pid), None | Some('Z')));
    }
}

/// The children of a process.
pub fn children(pid: u32) -> Vec<u32> {
    let children = fs::read_to_string(format!("/proc/{pid}/task/{pid}/children"));
    let children = children.expect("a process");
    children.split_whitespace().map(|pid| pid.parse().expect("a number")).collect()
}

/// The letter of a process's state; `None` if it is gone.
fn state(pid: u32) -> Option<char> {
    // "pid (name) state ..."
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    stat.rsplit(')').next()?.trim_start().chars().next()
}

/// Sends a signal to processes. The shell has a `kill` of its own; the program is in a package that
/// not every system has.
fn kill(name: &str, pids: &[impl ToString]) -> ExitStatus {
    let mut kill = Command::new("sh");
    kill.args(["-c", "kill \"$@\"", "sh"]).arg(format!("-{name}"));
    kill.args(pids.iter().map(ToString::to_string)).stderr(Stdio::null());
    kill.status().expect("sh runs")
}

/// The command on a machine of this name, as it looks to the command. It is the same process.
pub fn under_host_name(name: &str, program: &Command) -> Command {
    let mut command = Command::new("unshare");
    if !is_root() {
        command.args(["--map-current-user", "--keep-caps"]);
    }
    command.args(["--uts", "sh", "-c", "hostname \"$0\" && exec \"$@\"", name]);
    command.arg(program.get_program()).args(program.get_args());
    for (name, value) in program.get_envs() {
        match value {
            Some(value) => command.env(name, value),
            None => command.env_remove(name),
        };
    }
    if let Some(directory) = program.get_current_dir() {
        command.current_dir(directory);
    }
    command
}

/// Takes the settings of libpq out of the environment of a command.
pub fn forget_other_servers(command: &mut Command) {
    for (name, _) in env::vars().filter(|(name, _)| name.starts_with("PG")) {
        command.env_remove(name);
    }
}

/// Returns whether root runs this, so that servers run as another user.
pub fn is_root() -> bool {
    use std::os::unix::fs::MetadataExt;
    std::fs::metadata("/proc/self").is_ok_and(|process| process.uid() == 0)
}

/// Lets a command find programs of these texts before all others. A directory gets them.
pub fn put_first(command: &mut Command, directory: &Path, programs: &[(&str, &str)]) {
    fs::create_dir_all(directory).expect("a directory");
    for (name, text) in programs {
        let program = directory.join(name);
        fs::write(&program, format!("#!/bin/sh\n{text}\n")).expect("a file");
        fs::set_permissions(&program, Permissions::from_mode(0o755)).expect("our own");
    }
    let path = env::var("PATH").expect("a PATH");
    command.env("PATH", format!("{}:{path}", directory.display()));
}
