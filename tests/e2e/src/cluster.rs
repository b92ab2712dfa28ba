//! A throwaway cluster.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use postgres::error::DbError;
use postgres::{Client, Config, NoTls};
use tempfile::TempDir;

use crate::clock::{clock_of_file, set_clock_of_file};
use crate::directory::{give_to_server_user, new_directory};
use crate::programs::{
    Programs, children, forget_other_servers, is_root, kill_server, output, signal, under_host_name,
};
use crate::query::{process, value};
use crate::wait::eventually;

/// A running cluster, in a directory of its own.
pub struct Cluster {
    programs: Programs,
    directory: TempDir,
    fake_clock: bool,
    environment: Vec<String>,
    host_name: Option<String>,
    postmaster: Option<Child>,
}

impl Cluster {
    /// A cluster in a new directory, without a data directory yet, whose clock can be moved if
    /// `fake_clock`.
    pub(crate) fn without_data(
        programs: Programs,
        fake_clock: bool,
        environment: Vec<String>,
    ) -> Cluster {
        let directory = new_directory();
        let (host_name, postmaster) = (None, None);
        let cluster =
            Cluster { programs, directory, fake_clock, environment, host_name, postmaster };
        if fake_clock {
            cluster.set_clock("+0");
        }
        cluster
    }

    /// The programs on which the cluster runs.
    pub fn programs(&self) -> &Programs {
        &self.programs
    }

    /// Lets the next start run other programs of the same version.
    pub fn use_programs(&mut self, programs: Programs) {
        self.programs = programs;
    }

    /// The directory of the data, the socket and the log.
    pub fn directory(&self) -> &Path {
        self.directory.path()
    }

    /// The data directory.
    pub fn data(&self) -> PathBuf {
        self.directory().join("data")
    }

    /// The connection: as superuser `postgres`, to database `postgres`.
    pub fn config(&self) -> Config {
        let mut config = Config::new();
        config.host_path(self.directory()).port(5432).user("postgres").dbname("postgres");
        config
    }

    /// A new session.
    pub fn connect(&self) -> Client {
        self.config()
            .connect(NoTls)
            .unwrap_or_else(|error| panic!("cannot connect: {error}\n{}", self.log()))
    }

    /// A new session with another database.
    pub fn connect_to(&self, database: &str) -> Client {
        self.config().dbname(database).connect(NoTls).expect("a session")
    }

    /// The same, and what the server sends besides results and errors, which ends with the session.
    pub fn connect_with_notices(&self, database: &str) -> (Client, mpsc::Receiver<DbError>) {
        let (sender, notices) = mpsc::channel();
        let mut config = self.config();
        config.dbname(database).notice_callback(move |notice| drop(sender.send(notice)));
        (config.connect(NoTls).expect("a session"), notices)
    }

    /// A client program of the server, such as `psql`, that connects to this cluster.
    pub fn client_program(&self, name: &str) -> Command {
        let mut command = self.programs.client(name);
        self.set_connection(&mut command);
        command
    }

    /// Makes this cluster the one that a client program connects to, by the environment variables
    /// of libpq.
    pub fn set_connection(&self, command: &mut Command) {
        forget_other_servers(command);
        command.env("PGHOST", self.directory()).env("PGPORT", "5432");
        command.env("PGUSER", "postgres").env("PGDATABASE", "postgres");
    }

    /// The server's log.
    pub fn log(&self) -> String {
        fs::read_to_string(self.directory().join("log")).unwrap_or_default()
    }

    /// Asserts that the log, which is printed when a test fails, has this text.
    #[track_caller]
    pub fn assert_logged(&self, text: &str) {
        assert!(self.log().contains(text), "the log has no {text:?}");
    }

    /// Asserts that it has not.
    #[track_caller]
    pub fn assert_not_logged(&self, text: &str) {
        assert!(!self.log().contains(text), "the log has {text:?}");
    }

    /// Moves the server's clock by `offset`, such as `-10s` or `+1h`, counted from the true time.
    pub fn set_clock(&self, offset: &str) {
        assert!(self.fake_clock, "the cluster was built with fake_clock()");
        set_clock_of_file(&self.directory().join("clock"), offset);
    }

    /// Adds lines to postgresql.conf. They count from the next reload or start on.
    pub fn configure(&self, settings: &[(&str, &str)]) {
        let path = self.data().join("postgresql.conf");
        let mut text = fs::read_to_string(&path).expect("postgresql.conf");
        for (name, value) in settings {
            text.push_str(&format!("{name} = '{value}'\n"));
        }
        fs::write(&path, text).expect("postgresql.conf is writable");
    }

    /// Gives the next start of the server an environment variable, as `NAME=value`, in place of the
    /// one of this name.
    pub fn set_environment(&mut self, variable: &str) {
        let name = variable.split_inclusive('=').next().expect("a name");
        self.environment.retain(|other| !other.starts_with(name));
        self.environment.push(variable.into());
    }

    /// Lets the server see this name of the machine from its next start on, or from now on.
    pub fn set_host_name(&mut self, name: &str) {
        self.host_name = Some(name.into());
        if let Some(postmaster) = &self.postmaster {
            let mut rename = Command::new("nsenter");
            rename.args(["--target", &postmaster.id().to_string(), "--uts"]);
            if !is_root() {
                rename.args(["--user", "--preserve-credentials"]);
            }
            output(rename.args(["hostname", name]));
        }
    }

    /// Sets datacenter 5 and this worker in a file outside the data directory, so that no copy of
    /// the directory has them, and includes it. They count from the next start on.
    pub fn set_identity_outside(&self, worker_id: u32) {
        let path = self.directory().join("identity.conf");
        let text = format!("snowflake.datacenter_id = 5\nsnowflake.worker_id = {worker_id}\n");
        fs::write(&path, text).expect("a directory to write to");
        self.configure(&[("include", &path.to_string_lossy())]);
    }

    /// The file of the keys of public IDs, which is outside the data directory.
    pub fn public_key_file(&self) -> PathBuf {
        self.directory().join("public.keys")
    }

    /// A session of a role in a database.
    pub fn connect_as(&self, role: &str, database: &str) -> Client {
        self.config().user(role).dbname(database).connect(NoTls).expect("a session")
    }

    /// Replaces the file of the keys of public IDs, by a rename.
    pub fn write_public_keys(&self, content: impl AsRef<[u8]>) {
        let new = self.directory().join("public.keys.new");
        fs::write(&new, content).expect("a directory to write to");
        fs::set_permissions(&new, Permissions::from_mode(0o600)).expect("a file");
        give_to_server_user(&new);
        fs::rename(&new, self.public_key_file()).expect("a directory to write to");
    }

    /// Makes the server read its configuration again.
    pub fn reload(&self) {
        self.pg_ctl(&["reload"]);
    }

    /// Adds lines to postgresql.conf, and makes the server read them.
    pub fn reload_with(&self, settings: &[(&str, &str)]) {
        self.configure(settings);
        self.reload();
    }

    /// Stops the server with a shutdown checkpoint.
    pub fn stop(&mut self) {
        self.pg_ctl(&["stop", "-m", "fast", "-w"]);
        self.wait_for_exit();
    }

    /// Starts the server again, after [`Cluster::stop`].
    pub fn start_again(&mut self) {
        if let Err(status) = self.try_start() {
            panic!("the server does not start: {status}\n{}", self.log());
        }
    }

    /// Stops the server, and starts it again.
    pub fn restart(&mut self) {
        self.restart_with(&[]);
    }

    /// Stops the server, adds lines to postgresql.conf, and starts it again.
    pub fn restart_with(&mut self, settings: &[(&str, &str)]) {
        self.stop();
        self.configure(settings);
        self.start_again();
    }

    /// Stops the server, and starts it again with its clock moved by `offset`.
    pub fn restart_at(&mut self, offset: &str) {
        self.stop();
        self.set_clock(offset);
        self.start_again();
    }

    /// Kills the server, and starts it again with its clock moved by `offset`.
    pub fn crash(&mut self, offset: &str) {
        self.kill();
        self.set_clock(offset);
        self.start_again();
    }

    /// Kills the postmaster and all of its processes at once, with no chance to clean up, as a
    /// power loss does to them.
    pub fn kill(&mut self) {
        kill_server(self.postmaster.as_ref().expect("a running server").id());
        self.wait_for_exit();
    }

    /// Returns whether it was started, and neither stopped nor killed.
    pub fn is_running(&self) -> bool {
        self.postmaster.is_some()
    }

    /// Kills a backend, so that the server restarts with new shared memory, and waits until it has.
    pub fn crash_a_backend(&self) {
        let starts =
            || self.log().matches("database system is ready to accept connections").count();
        let before = starts();
        signal(process(&mut self.connect()), "KILL");
        eventually("the server is back", || {
            starts() > before && self.config().connect(NoTls).is_ok()
        });
    }

    /// The process of the background worker of this name, if it runs. It has no database, so
    /// `pg_stat_activity` does not show it.
    pub fn background_worker(&self, name: &str) -> Option<i64> {
        let postmaster = self.postmaster.as_ref().expect("a running server").id();
        let mut pids = children(postmaster).into_iter();
        let pid = pids.find(|pid| {
            let title = fs::read_to_string(format!("/proc/{pid}/cmdline")).unwrap_or_default();
            title.contains(name)
        });
        pid.map(i64::from)
    }

    /// Makes a standby a primary, and waits until it is one.
    pub fn promote(&self) {
        let promote = "SELECT pg_promote(wait_seconds => 180)";
        assert!(value::<bool>(&mut self.connect(), promote), "{}", self.log());
    }

    /// Starts the server; its exit status when it gives up.
    pub fn try_start(&mut self) -> Result<(), ExitStatus> {
        self.start_with(&[])
    }

    /// The same, with more on the server's command line.
    pub fn start_with(&mut self, arguments: &[&str]) -> Result<(), ExitStatus> {
        let log = self.directory().join("log");
        let log = fs::OpenOptions::new().create(true).append(true).open(log);
        let log = log.expect("a directory to write to");
        let mut command = self.postgres();
        command.arg("-D").arg(self.data()).args(arguments);
        // A group of its own: Ctrl-C in a terminal is not for the server.
        command.process_group(0);
        command.stdin(Stdio::null()).stdout(log.try_clone().expect("a file")).stderr(log);
        let config = self.config();
        let postmaster = self.postmaster.insert(command.spawn().expect("setpriv runs"));
        let deadline = Instant::now() + Duration::from_secs(60);
        loop {
            if let Some(status) = postmaster.try_wait().expect("a child process") {
                self.postmaster = None;
                return Err(status);
            }
            if config.connect(NoTls).is_ok() {
                return Ok(());
            }
            assert!(Instant::now() < deadline, "the server does not get ready");
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// The server's program, under the cluster's clock.
    pub fn postgres(&self) -> Command {
        let mut environment = self.environment.clone();
        if self.fake_clock {
            environment.extend(clock_of_file(&self.directory().join("clock")));
        }
        // A server can have several libraries before all others.
        let (libraries, mut environment): (Vec<_>, Vec<_>) =
            environment.into_iter().partition(|variable| variable.starts_with("LD_PRELOAD="));
        let libraries: Vec<_> =
            libraries.iter().map(|variable| &variable["LD_PRELOAD=".len()..]).collect();
        environment.push(format!("LD_PRELOAD={}", libraries.join(":")));
        let program = self.programs.program_with(&environment, "postgres");
        match &self.host_name {
            Some(name) => under_host_name(name, &program),
            None => program,
        }
    }

    /// A standby of this cluster that follows it by streaming, with the same settings.
    pub fn standby(&self) -> Cluster {
        self.standby_after(|_| ())
    }

    /// The same, whose clock is moved by `offset`.
    pub fn standby_at(&self, offset: &str) -> Cluster {
        self.standby_after(|standby| standby.set_clock(offset))
    }

    /// The same, with these settings of its own.
    pub fn standby_with(&self, settings: &[(&str, &str)]) -> Cluster {
        self.standby_after(|standby| standby.configure(settings))
    }

    fn standby_after(&self, prepare: impl FnOnce(&Cluster)) -> Cluster {
        let mut standby = self.base_backup(&["--write-recovery-conf"]);
        prepare(&standby);
        standby.start_again();
        standby
    }

    /// A copy of this cluster, not started yet.
    pub fn base_backup(&self, options: &[&str]) -> Cluster {
        let copy = self.beside();
        self.base_backup_to(&copy.data(), options);
        copy.use_own_socket();
        copy
    }

    /// Runs pg_upgrade from another cluster to this one, which is new. Neither runs.
    pub(crate) fn upgrade_from(&self, old: &Cluster) {
        let mut upgrade = self.programs.program("pg_upgrade");
        upgrade.current_dir(self.directory()).arg("--username=postgres");
        for (option, path) in [
            ("--old-bindir", old.programs.bin()),
            ("--new-bindir", self.programs.bin()),
            ("--old-datadir", &old.data()),
            ("--new-datadir", &self.data()),
            ("--socketdir", self.directory()),
        ] {
            upgrade.arg(option).arg(path);
        }
        let upgraded = upgrade.output().expect("pg_upgrade runs");
        if !upgraded.status.success() {
            let logs = self.data().join("pg_upgrade_output.d");
            let logs = format!("tail -n 20 {}/*/log/*", logs.display());
            let logs = Command::new("sh").arg("-c").arg(logs).output().expect("sh runs").stdout;
            let said = String::from_utf8_lossy(&upgraded.stdout);
            panic!("{said}{}", String::from_utf8_lossy(&logs));
        }
    }

    /// Makes this cluster, which does not run, a standby of another one, by pg_rewind.
    pub fn rewind_to(&self, source: &Cluster) {
        source.run("CHECKPOINT");
        let connection = source.connection("postgres") + " user=postgres";
        let mut rewind = self.programs.program("pg_rewind");
        rewind.arg("--target-pgdata").arg(self.data());
        output(rewind.arg(format!("--source-server={connection}")));
        // It has copied whom the source followed, which counts for more than what is set below.
        fs::write(self.data().join("postgresql.auto.conf"), "").expect("a file");
        fs::write(self.data().join("standby.signal"), "").expect("a file");
        self.use_own_socket();
        self.configure(&[("primary_conninfo", &connection)]);
    }

    /// A base backup of this cluster in a directory, which is empty or not there yet.
    pub fn base_backup_to(&self, directory: &Path, options: &[&str]) {
        let mut backup = self.programs.program("pg_basebackup");
        backup.args(["--checkpoint=fast", "--no-sync", "--username=postgres", "--port=5432"]);
        backup.args(options).arg("--host").arg(self.directory()).arg("--pgdata").arg(directory);
        let status = backup.status().expect("pg_basebackup runs");
        assert!(status.success(), "pg_basebackup failed");
    }

    /// A cluster of the same server in a directory of its own, for a copy of this one: there is no
    /// data directory yet.
    pub fn beside(&self) -> Cluster {
        let environment = self.environment.clone();
        let mut copy = Cluster::without_data(self.programs.clone(), self.fake_clock, environment);
        copy.host_name.clone_from(&self.host_name);
        copy
    }

    /// Lets a copy have its socket in its own directory, and not in that of the original.
    pub fn use_own_socket(&self) {
        self.configure(&[("unix_socket_directories", &self.directory().to_string_lossy())]);
    }

    /// Waits until the server has left recovery.
    pub fn wait_until_primary(&self) {
        let mut client = self.connect();
        eventually("recovery ends", || value(&mut client, "SELECT NOT pg_is_in_recovery()"));
    }

    fn pg_ctl(&self, arguments: &[&str]) {
        let mut pg_ctl = self.programs.program("pg_ctl");
        let status = pg_ctl.args(arguments).args(["-s", "-D"]).arg(self.data()).status();
        let status = status.expect("pg_ctl runs");
        assert!(status.success(), "pg_ctl {arguments:?} failed\n{}", self.log());
    }

    fn wait_for_exit(&mut self) {
        if let Some(mut postmaster) = self.postmaster.take() {
            postmaster.wait().expect("a child process");
        }
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        if self.postmaster.is_some() {
            let mut stop = self.programs.program("pg_ctl");
            stop.args(["stop", "-s", "-m", "immediate", "-w", "-D"]);
            let _ = stop.arg(self.data()).status();
            self.wait_for_exit();
        }
        if std::thread::panicking() {
            eprintln!("--- log of the server in {:?} ---\n{}", self.directory(), self.log());
        }
    }
}
