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

/// A client, such as `psycopg`, and a server for it.
pub struct Program {
    pub cluster: Cluster,
    /// A copy of `tests/clients/<name>`, because some clients write beside their programs.
    directory: TempDir,
    /// What `tools/test-clients` installed for it.
    installed: PathBuf,
}

impl Program {
    /// The client, and a server that logs the statements that it gets.
    pub fn of(client: &str) -> Program {
        Program::with(client, &source(client))
    }

    /// The client with the program of another one, of which it is another version.
    pub fn of_version(client: &str, of: &str) -> Program {
        Program::with(client, &source(of))
    }

    /// The client with the program of this directory.
    pub fn with(client: &str, source: &Path) -> Program {
        let installed = env::var("SNOWFLAKE_CLIENTS");
        let installed = installed.expect("SNOWFLAKE_CLIENTS is set: run make test-clients");
        let installed = Path::new(&installed).join(client);
        let directory = tempfile::tempdir().expect("a directory for temporary files");
        let mut copy = Command::new("cp");
        copy.args(["-r", "--no-target-directory"]).arg(source).arg(directory.path());
        assert!(copy.status().expect("cp runs").success(), "cannot copy {client}");
        for name in ["node_modules", "package.json"] {
            let (link, target) = (directory.path().join(name), installed.join(name));
            if target.exists() && !link.exists() {
                symlink(target, link).expect("a directory to write to");
            }
        }
        let cluster = Cluster::builder().set("log_statement", "all").public_keys(KEYS).start();
        Program { cluster, directory, installed }
    }

    /// What Python prints with these arguments, in the client's environment.
    #[track_caller]
    pub fn python(&self, arguments: &[&str]) -> String {
        stdout(self.output(&self.installed("bin/python"), arguments))
    }

    /// What a program of a package in Python does.
    pub fn tool(&self, name: &str, arguments: &[&str]) -> Output {
        self.output(&self.installed.join("bin").join(name), arguments)
    }

    /// What a program in JavaScript prints.
    #[track_caller]
    pub fn node(&self, file: &str) -> String {
        stdout(self.output(Path::new("node"), &[file]))
    }

    /// What a program of a package in `node_modules` does.
    pub fn package(&self, name: &str, arguments: &[&str]) -> Output {
        let program = self.directory.path().join("node_modules/.bin").join(name);
        self.output(&program, arguments)
    }

    /// What PHP does with these arguments, with the client's classes.
    pub fn php(&self, arguments: &[&str]) -> Output {
        let classes = format!("include_path=.:{}", self.installed("usr/share/php").display());
        // E_ALL without E_DEPRECATED, of which Doctrine has some.
        let options = ["-d", &classes, "-d", "error_reporting=8191"];
        self.output(Path::new("php"), &[&options, arguments].concat())
    }

    /// What another program does, which the machine has.
    pub fn run(&self, program: &str, arguments: &[&str]) -> Output {
        self.output(Path::new(program), arguments)
    }

    /// What Ruby does with these arguments, with the client's libraries.
    pub fn ruby(&self, arguments: &[&str]) -> Output {
        let libraries = self.installed.join("lib");
        let libraries = ["-I", libraries.to_str().expect("a path of UTF-8")];
        self.output(Path::new("ruby"), &[&libraries, arguments].concat())
    }

    /// What the client's program in Rust prints.
    #[track_caller]
    pub fn rust(&self, name: &str) -> String {
        stdout(self.output(&self.built(name), &[]))
    }

    /// A file that `tools/test-clients` installed.
    pub fn installed(&self, file: &str) -> PathBuf {
        self.installed.join(file)
    }

    /// A program in Rust that it built.
    pub fn built(&self, name: &str) -> PathBuf {
        self.installed.parent().expect("the clients").join("cargo/debug").join(name)
    }

    fn output(&self, program: &Path, arguments: &[&str]) -> Output {
        let output = self.command(program, arguments).output();
        output.unwrap_or_else(|error| panic!("{}: {error}", program.display()))
    }

    /// A program with these arguments, beside the client's programs.
    pub fn command(&self, program: &Path, arguments: &[&str]) -> Command {
        let mut command = Command::new(program);
        self.cluster.set_connection(&mut command);
        let host = self.cluster.directory().display();
        command
            .env("DATABASE_URL", format!("postgresql:///postgres?host={host}&user=postgres"))
            .env("DJANGO_SETTINGS_MODULE", "settings")
            .current_dir(self.directory.path());
        command.args(arguments);
        command
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
    pub fn read(&self, file: &str) -> String {
        fs::read_to_string(self.directory.path().join(file)).expect("a file of the program")
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
        let query = "SELECT item, id, snowflake_datacenter_id(id) = 5
                 AND snowflake_worker_id(id) = 9
                 AND snowflake_timestamp(id) BETWEEN pg_postmaster_start_time() AND snowflake_floor()
             FROM orders ORDER BY id";
        let rows = self.cluster.connect().query(query, &[]).expect("the table orders");
        assert!(rows.iter().all(|row| row.get(2)), "the server did not issue these: {printed:?}");
        let rows: Vec<(String, i64)> = rows.iter().map(|row| (row.get(0), row.get(1))).collect();
        assert_eq!(printed, rows);
        rows.len()
    }

    /// How many statements that insert into the table the server has got.
    pub fn inserts(&self, table: &str) -> usize {
        let log = self.cluster.log();
        let statement = format!(": INSERT INTO {table} ");
        log.lines().filter(|line| line.contains(" LOG: ") && line.contains(&statement)).count()
    }
}

/// Creates the extension anew in a schema of its own. The table goes with the former default.
pub fn use_own_schema(cluster: &Cluster) {
    let statements = "DROP TABLE IF EXISTS orders; DROP EXTENSION snowflake;
         CREATE SCHEMA tools; CREATE EXTENSION snowflake SCHEMA tools;
         ALTER DATABASE postgres SET search_path = public, tools";
    cluster.connect().batch_execute(statements).expect("the extension is created there");
}

/// The directory of a client's program.
pub fn source(client: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../clients").join(client)
}

/// A line of the form `item ID`.
pub fn row(line: &str) -> Option<(String, i64)> {
    let (item, id) = line.split_once(' ')?;
    Some((item.to_owned(), id.parse().ok()?))
}

/// What a program prints that succeeds.
#[track_caller]
pub fn stdout(output: Output) -> String {
    let [stdout, stderr] =
        [output.stdout, output.stderr].map(|said| String::from_utf8(said).expect("UTF-8"));
    assert!(output.status.success(), "{stdout}\n{stderr}");
    stdout
}

/// What a program says that fails.
#[track_caller]
pub fn error(output: Output) -> String {
    let [stdout, stderr] =
        [output.stdout, output.stderr].map(|said| String::from_utf8(said).expect("UTF-8"));
    assert!(!output.status.success(), "{stdout}\n{stderr}");
    stderr
}
