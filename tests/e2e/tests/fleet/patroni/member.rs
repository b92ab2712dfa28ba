//! A member of a fleet.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use postgres::{Client, Config, NoTls};
use snowflake_e2e::{
    Programs, Service, clock_of_file, create_directory, eventually, fleet_program, free_port,
    http_get, kill_server, listening_ports, set_clock_of_file, signal, under_host_name,
};

/// PostgreSQL, and the Patroni that keeps it.
pub struct Member {
    pub name: &'static str,
    /// Of the socket, among others.
    pub directory: PathBuf,
    pub port: u16,
    /// The port of Patroni's REST API.
    pub api: u16,
    password: String,
    /// The name of its machine, if it has one of its own.
    pub host_name: Option<String>,
    patroni: Option<Service>,
    starts: usize,
}

impl Member {
    /// A member that does not run yet, in a directory of its own below that of the fleet.
    pub fn new(name: &'static str, fleet: &Path, password: &str) -> Member {
        let directory = fleet.join(name);
        create_directory(&directory);
        let (port, api) = (free_port(), free_port());
        let password = password.to_owned();
        let (host_name, patroni, starts) = (None, None, 0);
        let member = Member { name, directory, port, api, password, host_name, patroni, starts };
        set_clock_of_file(&member.file("clock"), "+0");
        member.make_programs();
        member
    }

    /// The programs of the server, of which `postgres` goes by the clock of the member.
    fn make_programs(&self) {
        let server = Programs::from_env();
        let bin = self.file("bin");
        create_directory(&bin);
        for program in fs::read_dir(server.bin()).expect("programs").flatten() {
            let name = program.file_name();
            // Patroni's libraries are not for the server.
            let mut environment = vec!["-u".into(), "LD_LIBRARY_PATH".into()];
            if let Some(libraries) = server.own_libraries() {
                environment.push(format!("LD_LIBRARY_PATH={}", libraries.display()));
            }
            if name == "postgres" {
                environment.extend(clock_of_file(&self.file("clock")));
            }
            let (environment, program) = (environment.join(" "), program.path());
            let text = format!("#!/bin/sh\nexec env {environment} {} \"$@\"\n", program.display());
            fs::write(bin.join(&name), text).expect("a directory to write to");
            let executable = fs::Permissions::from_mode(0o755);
            fs::set_permissions(bin.join(&name), executable).expect("our own");
        }
    }

    pub fn file(&self, name: &str) -> PathBuf {
        self.directory.join(name)
    }

    pub fn data(&self) -> PathBuf {
        self.file("data")
    }

    /// Starts Patroni, in place of one that is paused, and it starts PostgreSQL.
    pub fn start(&mut self) {
        self.kill_patroni();
        self.starts += 1;
        let mut command = fleet_program("patroni");
        // Where the guard of postmasters finds it.
        command.arg(self.file("patroni.yml")).current_dir(&self.directory);
        if let Some(name) = &self.host_name {
            command = under_host_name(name, &command);
        }
        self.patroni = Some(Service::start(command, self.file(&format!("log.{}", self.starts))));
    }

    /// Returns the messages of Patroni and PostgreSQL since the last start.
    pub fn log(&self) -> String {
        self.patroni.as_ref().expect("a running Patroni").log()
    }

    /// Kills Patroni, and leaves PostgreSQL alone.
    pub fn kill_patroni(&mut self) {
        self.patroni = None;
    }

    /// Stops Patroni, which then answers nobody, and leaves PostgreSQL alone.
    pub fn pause_patroni(&mut self) {
        signal(self.patroni.as_ref().expect("a running Patroni").pid(), "STOP");
    }

    /// Kills Patroni and PostgreSQL, as a power loss does.
    pub fn lose_power(&mut self) {
        self.kill_patroni();
        kill_server(self.postmaster());
    }

    fn postmaster(&self) -> u32 {
        let file = fs::read_to_string(self.data().join("postmaster.pid")).expect("a server");
        file.lines().next().and_then(|pid| pid.parse().ok()).expect("a process ID")
    }

    /// A session with PostgreSQL, whatever its role is, as soon as it accepts one.
    pub fn connect(&self) -> Client {
        let mut client = None;
        eventually("the member accepts a session", || {
            client = self.config().connect(NoTls).ok();
            client.is_some()
        });
        client.expect("a session")
    }

    fn config(&self) -> Config {
        self.config_without_password().password(&self.password).clone()
    }

    /// Returns the connection of somebody who only knows where PostgreSQL is.
    pub fn config_without_password(&self) -> Config {
        let mut config = Config::new();
        config.host("127.0.0.1").port(self.port).user("postgres").dbname("postgres");
        config
    }

    /// Asserts that PostgreSQL and Patroni listen on no other ports than those that this knows.
    pub fn assert_ports(&self) {
        let patroni = self.patroni.as_ref().expect("a running Patroni");
        assert_eq!(listening_ports(self.postmaster().into()), [self.port].into());
        assert_eq!(listening_ports(patroni.pid()), [self.api].into());
    }

    /// Returns whether it streams WAL of a timeline, which is written as in the names of WAL files.
    /// A member that has yet to be rewound streams, too, up to where the timelines part.
    pub fn receives(&self, timeline: &str) -> bool {
        let received = "SELECT lpad(upper(to_hex(received_tli)), 8, '0') FROM pg_stat_wal_receiver
                        WHERE status = 'streaming'";
        self.config()
            .connect(NoTls)
            .and_then(|mut client| client.query(received, &[]))
            .is_ok_and(|rows| rows.iter().any(|row| row.get::<_, &str>(0) == timeline))
    }

    /// Returns whether Patroni's REST API says yes.
    pub fn answers(&self, path: &str) -> bool {
        http_get(self.api, path).is_some()
    }
}
