//! Runs the files of `tests/scenarios`: SQL, and behind each statement what is expected of it. Each
//! file is a test, has a database `scenario` of its own, in which the extension is, and shares a
//! cluster with files of the same settings.
//!
//! ```sql
//! -- What the file shows. Settings of the server and what it needs come before the first statement.
//! \set snowflake.max_burst = 5
//! \needs PostgreSQL 17
//! CREATE TABLE orders (id bigint PRIMARY KEY DEFAULT snowflake_nextval(), name text);
//! INSERT INTO orders (name) VALUES ('tea'), (NULL) RETURNING id > 0, name;
//! --> t | tea
//! --> t | NULL
//! SELECT id FROM orders WHERE id = 5; --> (0 rows)
//! \as app
//! DROP TABLE orders; --> ERROR 42501: must be owner of table ...
//! ```
//!
//! - A statement ends with the line that ends in `;`, outside of `$$`. What is on one line is sent
//!   at once, as one transaction.
//! - `...` stands for anything. An SQLSTATE is enough for an error. A line break is written `\n`.
//! - What the server says comes before rows: `NOTICE: ...`, `WARNING: ...`. All of it must be
//!   expected. `DETAIL: ...`, `HINT: ...` and `CONTEXT: ...` matter where they are expected, and
//!   rows if one is expected.
//! - `\as ROLE`, `\in DATABASE`, `\session NAME` and `\options -c NAME=VALUE` choose the session,
//!   which is connected at its first statement. The same choice is the same session.
//! - `errors_of(statements)` is a function of each database: it executes statements, one a line,
//!   and returns of each how it fails, `SQLSTATE: message | detail | hint`, or `nothing`.
//! - `run(script)` is another one: it executes the lines of a script that was printed.
//! - `\needs` knows `PostgreSQL VERSION`, `extension NAME` and `collation NAME`; without them, the
//!   file is skipped. Other databases and roles are dropped when it ends.
//! - `\set public_keys = KEY` gives the server a key of public IDs.
//! - Files of the same settings share the server's counters and its last ID: who reads counters
//!   resets them first, and who observes IDs ahead of the clock has settings of its own.
//! - With `SCENARIOS_ACCEPT=1`, what was got replaces what was wanted, in the file. To have an
//!   expectation written, start with an empty `-->`.

mod examples;
mod scenario;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, OnceLock, mpsc};
use std::time::Duration;
use std::{env, fs, thread};

use libtest_mimic::{Arguments, Failed, Trial};
use postgres::Client;
use snowflake_e2e::{Cluster, patience, skip_test};

use scenario::{Report, Scenario};

type Settings = BTreeMap<String, String>;

#[derive(Clone, Default)]
struct Clusters {
    /// Those that no file uses at the moment.
    idle: Arc<Mutex<Vec<(Settings, Cluster)>>>,
    /// One without settings, which tells what the server has: with a library that is missing, it
    /// would not start.
    plain: Arc<OnceLock<Cluster>>,
}

impl Clusters {
    /// A cluster with these settings. The files come in the order of their settings, so those with
    /// others are not needed any more.
    fn take(&self, settings: &Settings) -> Cluster {
        let mut idle = self.idle.lock().expect("not poisoned");
        idle.retain(|(others, _)| others == settings);
        let cluster = idle.pop();
        drop(idle);
        cluster.map_or_else(|| start(settings), |(_, cluster)| cluster)
    }

    fn give_back(&self, settings: Settings, cluster: Cluster) {
        self.idle.lock().expect("not poisoned").push((settings, cluster));
    }

    /// Runs a scenario in a new database; `None` if the server lacks what it needs.
    fn run(
        &self,
        name: &str,
        scenario: Scenario,
        limit: Duration,
    ) -> Result<Option<Report>, Failed> {
        let plain = || self.plain.get_or_init(|| start(&Settings::new())).connect();
        if let Some(missing) = scenario.missing(plain) {
            skip_test(missing, name);
            return Ok(None);
        }
        let cluster = self.take(&scenario.settings);
        // Database postgres has the extension, and is copied.
        let mut admin = cluster.connect_to("template1");
        let create = "CREATE DATABASE scenario TEMPLATE postgres STRATEGY FILE_COPY";
        admin.batch_execute(create)?;
        // The file may copy template1.
        drop(admin);
        let mut config = cluster.config();
        let logged = cluster.log().len();
        let mut report = scenario.run(config.dbname("scenario"), limit);
        if report.is_lost {
            report.failures += &format!("The server's log:\n{}", &cluster.log()[logged..]);
            return Ok(Some(report));
        }
        clean(&mut cluster.connect_to("template1")).map_err(|error| {
            format!("{}what is left cannot be dropped: {error:?}", report.failures)
        })?;
        self.give_back(scenario.settings, cluster);
        Ok(Some(report))
    }
}

/// Functions that several files call: see above. In the first, each statement is in a
/// subtransaction.
const FUNCTIONS: &str = "
    CREATE FUNCTION errors_of(statements text) RETURNS SETOF text LANGUAGE plpgsql AS $$
    DECLARE statement text; detail text; hint text;
    BEGIN
        FOREACH statement IN ARRAY string_to_array(btrim(statements, E' \\n'), E'\\n') LOOP
            BEGIN
                EXECUTE statement;
                RETURN NEXT 'nothing';
            EXCEPTION WHEN OTHERS THEN
                GET STACKED DIAGNOSTICS detail = PG_EXCEPTION_DETAIL, hint = PG_EXCEPTION_HINT;
                RETURN NEXT concat_ws(' | ', sqlstate || ': ' || sqlerrm, nullif(detail, ''), nullif(hint, ''));
            END;
        END LOOP;
    END $$;
    CREATE FUNCTION run(script text[]) RETURNS void LANGUAGE plpgsql AS $$
    DECLARE line text;
    BEGIN
        FOREACH line IN ARRAY script LOOP EXECUTE line; END LOOP;
    END $$";

/// Starts a cluster. A server ends with the thread that started it, so this thread stays.
fn start(settings: &Settings) -> Cluster {
    // A backtrace would show in the errors.
    let new = Cluster::builder().environment("RUST_BACKTRACE=1".into());
    let new = settings.iter().fold(new, |new, (name, value)| match &**name {
        "public_keys" => new.public_keys(value),
        _ => new.set(name, value),
    });
    let (sender, started) = mpsc::channel();
    thread::spawn(move || {
        let cluster = new.start();
        cluster.run(FUNCTIONS);
        sender.send(cluster).expect("the test waits");
        loop {
            thread::park();
        }
    });
    started.recv().expect("the server starts")
}

/// Drops the databases and roles that a file has made.
fn clean(admin: &mut Client) -> Result<(), postgres::Error> {
    admin.batch_execute("ALTER ROLE ALL RESET ALL; ALTER ROLE postgres RESET ALL")?;
    for made in [
        "SELECT format('DROP DATABASE %I WITH (FORCE)', datname) FROM pg_database WHERE oid > 16383",
        "SELECT format('DROP OWNED BY %I', rolname) FROM pg_roles WHERE oid > 16383",
        "SELECT format('DROP ROLE %I', rolname) FROM pg_roles WHERE oid > 16383",
    ] {
        for row in admin.query(made, &[])? {
            admin.batch_execute(row.get(0))?;
        }
    }
    Ok(())
}

/// The files below a directory.
fn files(directory: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(directory).expect("a directory") {
        let path = entry.expect("a file").path();
        match path.is_dir() {
            true => found.extend(files(&path)),
            false => found.push(path),
        }
    }
    found
}

/// The test of a file.
fn run_file(
    clusters: &Clusters,
    path: &Path,
    name: &str,
    scenario: Scenario,
) -> Result<(), Failed> {
    let accepts = env::var_os("SCENARIOS_ACCEPT").is_some();
    match clusters.run(name, scenario, patience())? {
        Some(report) if accepts && report.differs => {
            fs::write(path, report.accepted)?;
            Err(format!("accepted in the file; it was:\n{}", report.failures).into())
        }
        Some(report) if !report.failures.is_empty() => Err(report.failures.into()),
        _ => Ok(()),
    }
}

fn main() {
    let directory = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../scenarios"));
    let clusters = Clusters::default();
    let mut tests = Vec::new();
    for path in files(directory) {
        let name = path.strip_prefix(directory).expect("below").to_str().expect("UTF-8").to_owned();
        let text = fs::read_to_string(&path).expect("a file");
        let parsed = Scenario::parse(&format!("tests/scenarios/{name}"), &text);
        let settings = parsed.as_ref().map_or(Settings::new(), |file| file.settings.clone());
        let (clusters, name_of_test) = (clusters.clone(), name.clone());
        let test = Trial::test(name_of_test, move || run_file(&clusters, &path, &name, parsed?));
        tests.push((settings, test));
    }
    tests.extend(examples::tests(&clusters).map(|test| (Settings::new(), test)));
    // libtest_mimic knows one name only, and tools/break-rules gives several.
    let (names, options): (Vec<_>, Vec<_>) =
        env::args().partition(|word| tests.iter().any(|(_, test)| test.name() == word));
    tests.retain(|(_, test)| names.is_empty() || names.iter().any(|name| test.name() == name));
    tests.sort_by(|(one, a), (other, b)| (one, a.name()).cmp(&(other, b.name())));
    let tests = tests.into_iter().map(|(_, test)| test).collect();
    let conclusion = libtest_mimic::run(&Arguments::from_iter(options), tests);
    drop(clusters);
    conclusion.exit();
}
