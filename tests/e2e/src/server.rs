//! The programs of a PostgreSQL server, run as a user that it accepts.

use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;

/// An installed PostgreSQL server with the extension.
#[derive(Clone, Debug)]
pub struct Server {
    bin: PathBuf,
    lib: PathBuf,
    pgxs: PathBuf,
    template: PathBuf,
}

impl Server {
    /// The server that `SNOWFLAKE_PG_CONFIG` names.
    pub fn from_env() -> Server {
        let pg_config = env::var("SNOWFLAKE_PG_CONFIG");
        Server::of(&pg_config.expect("SNOWFLAKE_PG_CONFIG is set: run the tests with make test"))
    }

    /// An older server to upgrade from: the one that `SNOWFLAKE_OLD_PG_CONFIG` names, or else the
    /// same one.
    pub fn old_from_env() -> Server {
        env::var("SNOWFLAKE_OLD_PG_CONFIG")
            .map_or_else(|_| Server::from_env(), |old| Server::of(&old))
    }

    fn of(pg_config: &str) -> Server {
        let ask = |option: &str| {
            let output = Command::new(pg_config).arg(option).output().expect("pg_config runs");
            PathBuf::from(String::from_utf8(output.stdout).expect("UTF-8").trim())
        };
        let bin = ask("--bindir");
        let template = bin
            .ancestors()
            .map(|directory| directory.join("template"))
            .find(|template| template.exists())
            .expect("tools/setup test made a template cluster");
        Server { lib: ask("--libdir"), pgxs: ask("--pgxs"), bin, template }
    }

    /// The major version, such as 15.
    pub fn major(&self) -> u32 {
        let output = Command::new(self.bin.join("postgres"))
            .arg("--version")
            .output()
            .expect("postgres runs");
        let version = String::from_utf8(output.stdout).expect("UTF-8");
        let major = version.split([' ', '.']).find_map(|word| word.parse().ok());
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

    fn use_own_libpq(&self, command: &mut Command) {
        if self.lib.join("libpq.so.5").exists() {
            command.env("LD_LIBRARY_PATH", &self.lib);
        }
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

/// A command as the user that servers run as: `postgres` for root, whom PostgreSQL refuses. The
/// program goes down, without a shutdown checkpoint, when the thread that starts it ends.
pub fn as_server_user(program: &Path) -> Command {
    let mut command = Command::new("setpriv");
    if is_root() {
        command.args(["--reuid=postgres", "--regid=postgres", "--init-groups"]);
    }
    command.arg("--pdeathsig=QUIT").arg("--").arg(program);
    forget_other_servers(&mut command);
    // Not the current directory: the user may not be allowed to enter it.
    command.current_dir("/");
    command
}

fn forget_other_servers(command: &mut Command) {
    for (name, _) in env::vars().filter(|(name, _)| name.starts_with("PG")) {
        command.env_remove(name);
    }
}

fn is_root() -> bool {
    use std::os::unix::fs::MetadataExt;
    std::fs::metadata("/proc/self").is_ok_and(|process| process.uid() == 0)
}
