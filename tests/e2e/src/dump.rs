//! A dump of a database, and what it restores.

use postgres::Client;
use tempfile::TempDir;

use crate::cluster::Cluster;
use crate::programs::output;
use crate::query::Run;

/// Returns the output of pg_dump, but for the random word with which some versions bracket a dump.
#[track_caller]
pub fn dump_text(cluster: &Cluster, arguments: &[&str]) -> String {
    let text = output(cluster.client_program("pg_dump").args(arguments));
    let lines = text
        .lines()
        .filter(|line| !line.starts_with("\\restrict") && !line.starts_with("\\unrestrict"));
    lines.map(|line| format!("{line}\n")).collect()
}

/// Dumps a database, restores it as a new one, and asserts that a dump of that says the same.
#[track_caller]
pub fn dump_and_restore(cluster: &Cluster, database: &str, restored: &str) {
    cluster.create_database("postgres", restored);
    let dump = Dump::of(cluster, "postgres", database, "custom", &[]);
    dump.restore(cluster, "postgres", restored, &["--exit-on-error"]).expect("restored");
    let dump = |database| dump_text(cluster, &["--dbname", database]);
    let (original, copy) = (dump(database), dump(restored));
    let first = original.lines().zip(copy.lines()).find(|(one, other)| one != other);
    assert!(original == copy, "the dumps differ: {first:?}");
}

/// A file, or a directory, that pg_dump has written.
pub struct Dump {
    directory: TempDir,
    is_plain: bool,
}

impl Dump {
    /// Dumps a database as this user. The format is what `--format` names.
    #[track_caller]
    pub fn of(
        cluster: &Cluster,
        user: &str,
        database: &str,
        format: &str,
        options: &[&str],
    ) -> Dump {
        let directory = tempfile::tempdir().expect("a directory for temporary files");
        let dump = Dump { directory, is_plain: format == "plain" };
        let mut command = cluster.client_program("pg_dump");
        let arguments = ["--format", format, "--dbname", database, "--file", &dump.path()];
        output(command.env("PGUSER", user).args(arguments).args(options));
        dump
    }

    /// Where it is.
    pub fn path(&self) -> String {
        self.directory.path().join("dump").display().to_string()
    }

    /// Restores it as this user, with psql if it is plain. What the program says of errors, and
    /// warnings, and whether it failed.
    pub fn restore(
        &self,
        cluster: &Cluster,
        user: &str,
        database: &str,
        options: &[&str],
    ) -> Result<String, String> {
        let (program, file) = match self.is_plain {
            true => ("psql", &["-Xq", "-f"][..]),
            false => ("pg_restore", &[][..]),
        };
        let path = self.path();
        let arguments = [options, file, &[&path]].concat();
        let output = cluster.run_client(user, program, database, &arguments);
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        if output.status.success() { Ok(said) } else { Err(said) }
    }
}

impl Cluster {
    /// A session of this user with a new database of theirs.
    #[track_caller]
    pub fn create_database(&self, user: &str, name: &str) -> Client {
        self.connect_as(user, "postgres").run(&format!("CREATE DATABASE {name}"));
        self.connect_as(user, name)
    }
}
