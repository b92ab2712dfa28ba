//! A client, with its program and a server.

use std::env;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use snowflake_e2e::{Cluster, bigints};
use tempfile::TempDir;

/// The keys of public IDs of the server.
pub const KEYS: &str = "000102030405060708090a0b0c0d0e0f\n2b7e151628aed2a6abf7158809cf4f3c\n";

/// A client, such as `psycopg`, and a server for it, which logs the statements that it gets.
pub struct Program {
    pub cluster: Cluster,
    /// A copy of the program, because some clients write beside their programs.
    pub directory: TempDir,
    /// The directory that `tools/test-clients` installed for all clients.
    clients: PathBuf,
    client: String,
}

impl Program {
    /// The client, with the program `tests/clients/<client>`.
    pub fn of(client: &str) -> Program {
        Program::with(client, client)
    }

    /// The client, with another program of `tests/clients`.
    pub fn with(client: &str, program: &str) -> Program {
        let cluster = Cluster::builder().set("log_statement", "all").public_keys(KEYS).start();
        Program::on(cluster, client, program)
    }

    /// The same, on this server.
    pub fn on(cluster: Cluster, client: &str, program: &str) -> Program {
        let clients = env::var("SNOWFLAKE_CLIENTS");
        let clients = PathBuf::from(clients.expect("SNOWFLAKE_CLIENTS: run make test-clients"));
        let directory = tempfile::tempdir().expect("a directory for temporary files");
        copy(&source(program), directory.path());
        for name in ["node_modules", "package.json"] {
            let (link, target) = (directory.path().join(name), clients.join(client).join(name));
            if target.exists() && !link.exists() {
                symlink(target, link).expect("a directory to write to");
            }
        }
        Program { cluster, directory, clients, client: client.to_owned() }
    }

    /// Returns the output of a command, such as `python orders.py`.
    #[track_caller]
    pub fn run(&self, line: &str) -> String {
        stdout(self.output(line, None))
    }

    /// Returns the output of a command with another argument, such as statements after `python -c`.
    #[track_caller]
    pub fn eval(&self, line: &str, code: &str) -> String {
        stdout(self.output(line, Some(code)))
    }

    /// Returns the message of a command that fails.
    #[track_caller]
    pub fn error(&self, line: &str) -> String {
        error(self.output(line, None))
    }

    /// Returns the message of a command that fails with another argument.
    #[track_caller]
    pub fn error_of(&self, line: &str, code: &str) -> String {
        error(self.output(line, Some(code)))
    }

    /// Runs a command.
    pub fn output(&self, line: &str, code: Option<&str>) -> Output {
        let output = self.command(line).args(code).output();
        output.unwrap_or_else(|error| panic!("{line}: {error}"))
    }

    /// A command beside the program. It is one of the client, of the server, or of the machine.
    pub fn command(&self, line: &str) -> Command {
        let installed = self.clients.join(&self.client);
        let own = [
            self.directory.path().join("node_modules/.bin"),
            installed.join("bin"),
            self.clients.join("cargo/debug"),
            self.cluster.programs().bin().to_owned(),
        ];
        let of_machine = env::var_os("PATH").expect("a PATH");
        let path = own.into_iter().chain(env::split_paths(&of_machine));
        let path = env::join_paths(path).expect("paths without colons");
        // A shell finds the command in this path.
        let mut command = Command::new("env");
        self.cluster.set_connection(&mut command);
        let host = self.cluster.directory().display();
        command
            .args(line.split_whitespace())
            .env("PATH", path)
            .env("DATABASE_URL", format!("postgresql:///postgres?host={host}&user=postgres"))
            .env("DJANGO_SETTINGS_MODULE", "settings")
            .env("RUBYLIB", installed.join("lib"))
            .env("PHP_CLASSES", installed.join("usr/share/php"))
            .env("CLASSPATH", format!(".:{}/*", installed.join("usr/share/java").display()))
            .current_dir(self.directory.path());
        command
    }

    /// Executes SQL.
    #[track_caller]
    pub fn sql(&self, statements: &str) {
        self.cluster.run(statements);
    }

    /// Creates the table `orders`.
    pub fn create_orders(&self) {
        self.sql(include_str!("../../../clients/sqlc/schema.sql"));
    }

    /// Replaces a file of the program, or creates it.
    pub fn write(&self, file: &str, text: &str) {
        let path = self.directory.path().join(file);
        fs::create_dir_all(path.parent().expect("a directory")).expect("a directory to write to");
        fs::write(path, text).expect("a directory to write to");
    }

    /// Replaces a part of a file of the program.
    #[track_caller]
    pub fn replace(&self, file: &str, part: &str, by: &str) {
        let text = self.read(file);
        assert!(text.contains(part), "{part} is not in {file}: {text}");
        self.write(file, &text.replace(part, by));
    }

    /// A file beside the program.
    #[track_caller]
    pub fn read(&self, file: &str) -> String {
        let text = fs::read_to_string(self.directory.path().join(file));
        text.unwrap_or_else(|error| panic!("{file}: {error}"))
    }

    /// The IDs of a table, in order.
    pub fn ids(&self, table: &str) -> Vec<i64> {
        bigints(&mut self.cluster.connect(), &format!("SELECT id FROM {table} ORDER BY id"))
    }

    /// Asserts that the program printed all rows of `orders` as `item ID`, in the order in which
    /// it inserted them, and that the server issued these IDs. Returns how many there are.
    #[track_caller]
    pub fn assert_orders(&self, printed: &str) -> usize {
        let printed: Vec<(String, i64)> = printed.lines().filter_map(row).collect();
        let query = format!("SELECT item, id, {ISSUED} FROM orders ORDER BY id");
        let rows = self.cluster.connect().query(&query, &[]).expect("the table orders");
        assert!(rows.iter().all(|row| row.get(2)), "the server did not issue these: {printed:?}");
        let rows: Vec<(String, i64)> = rows.iter().map(|row| (row.get(0), row.get(1))).collect();
        assert_eq!(printed, rows);
        rows.len()
    }

    /// Returns the number of statements that insert into the table and that the server has got.
    pub fn inserts(&self, table: &str) -> usize {
        let log = self.cluster.log().replace('"', "").replace("INTO public.", "INTO ");
        let statement = format!(": INSERT INTO {table} ");
        log.lines().filter(|line| line.contains(" LOG: ") && line.contains(&statement)).count()
    }
}

/// True if the server issued the ID.
pub const ISSUED: &str = "snowflake_datacenter_id(id) = 5 AND snowflake_worker_id(id) = 9
    AND snowflake_timestamp(id) BETWEEN pg_postmaster_start_time() AND snowflake_floor()";

/// Creates the extension anew in a schema of its own. The table goes with the former default.
pub fn use_own_schema(cluster: &Cluster) {
    let statements = "DROP TABLE IF EXISTS orders; DROP EXTENSION snowflake;
         CREATE SCHEMA tools; CREATE EXTENSION snowflake SCHEMA tools;
         ALTER DATABASE postgres SET search_path = public, tools";
    cluster.run(statements);
}

/// The path of a program, or of a file.
pub fn source(program: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../clients").join(program)
}

/// Copies the files of a directory into another one.
pub fn copy(from: &Path, to: &Path) {
    let mut copy = Command::new("cp");
    copy.args(["-r", "--no-target-directory"]).arg(from).arg(to);
    assert!(copy.status().expect("cp runs").success(), "cannot copy {}", from.display());
}

/// A line of the form `item ID`.
pub fn row(line: &str) -> Option<(String, i64)> {
    let (item, id) = line.split_once(' ')?;
    Some((item.to_owned(), id.parse().ok()?))
}

/// Returns the output of a program that succeeds.
#[track_caller]
pub fn stdout(output: Output) -> String {
    let [stdout, stderr] = said(&output);
    assert!(output.status.success(), "{stdout}\n{stderr}");
    stdout
}

/// Returns the message of a program that fails.
#[track_caller]
fn error(output: Output) -> String {
    let [stdout, stderr] = said(&output);
    assert!(!output.status.success(), "{stdout}\n{stderr}");
    stderr
}

fn said(output: &Output) -> [String; 2] {
    [&output.stdout, &output.stderr].map(|said| String::from_utf8_lossy(said).into_owned())
}
