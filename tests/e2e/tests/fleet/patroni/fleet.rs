//! Three members that Patroni keeps, and the etcd that they ask who leads. They meet at ports of the
//! machine, where everybody else can knock, so each of them asks for a password.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use postgres::config::TargetSessionAttrs;
use postgres::{Client, Config, NoTls};
use snowflake_e2e::{
    Programs, Request, Service, bigint, clock_of_file, create_directory, eventually, fleet_program,
    free_port, http_get, kill_server, listening_ports, new_directory, new_password,
    set_clock_of_file, signal,
};
use tempfile::TempDir;

const NAMES: [&str; 3] = ["one", "two", "three"];

/// Where the members have their identity from.
#[derive(Clone, Copy, PartialEq)]
pub enum Identity {
    /// One for all, in the dynamic configuration.
    Shared,
    /// One for each, in the parameters of its local configuration.
    OwnParameters,
    /// One for each, in a file outside of its data directory.
    OwnFile,
}

/// What a fleet is to be like.
pub struct Plan {
    pub identity: Identity,
    pub failover_margin: &'static str,
    pub synchronous_mode: bool,
}

/// A running fleet. Its fields are dropped in this order: Patroni must not start again what ends.
pub struct Fleet {
    pub members: Vec<Member>,
    _postmasters: Postmasters,
    pub etcd: Etcd,
    plan: Plan,
    password: String,
    directory: TempDir,
}

impl Fleet {
    /// Patroni makes the first member with initdb, and the others with pg_basebackup.
    pub fn start(plan: Plan) -> Fleet {
        let (directory, password) = (new_directory(), new_password());
        let mut fleet = Fleet {
            members: Vec::new(),
            _postmasters: Postmasters::of(directory.path()),
            etcd: Etcd::start(directory.path(), &password),
            plan,
            password,
            directory,
        };
        fleet.add_member();
        fleet.add_member();
        fleet.add_member();
        fleet.wait_for_standbys(0);
        let mut client = fleet.members[0].connect();
        let setup = "CREATE EXTENSION snowflake;
                     CREATE TABLE orders (id bigint PRIMARY KEY DEFAULT snowflake_nextval())";
        client.batch_execute(setup).expect("the extension is installed");
        for member in &fleet.members {
            let mut client = member.connect();
            eventually("the table is on all members", || {
                client.batch_execute("SELECT FROM orders").is_ok()
            });
        }
        fleet
    }

    fn add_member(&mut self) {
        let number = self.members.len();
        let mut member = Member::new(NAMES[number], self.directory.path(), &self.password);
        fs::write(member.file("patroni.yml"), self.configuration(&member, number + 1))
            .expect("a directory to write to");
        if self.plan.identity == Identity::OwnFile {
            fs::write(member.file("snowflake.conf"), identity_file(number + 1))
                .expect("a directory to write to");
        }
        member.start();
        let role = if number == 0 { "/primary" } else { "/replica" };
        eventually("the member is up", || member.answers(role));
        self.members.push(member);
    }

    /// What stands in a member's patroni.yml. Clocks are moved, and nobody is to take that for a
    /// standby that does not answer. Few IDs fit into a millisecond, so that those of two primaries
    /// meet soon if they can.
    fn configuration(&self, member: &Member, number: usize) -> String {
        let Plan { identity, failover_margin, synchronous_mode } = self.plan;
        let (mut dynamic, mut local, mut file) = (String::new(), String::new(), String::new());
        if identity != Identity::OwnFile {
            dynamic = "snowflake.datacenter_id: 1".into();
        }
        match identity {
            Identity::Shared => dynamic.push_str("\n        snowflake.worker_id: 1"),
            Identity::OwnParameters => local = format!("snowflake.worker_id: {number}"),
            Identity::OwnFile => {
                file = format!("custom_conf: {}", member.file("snowflake.conf").display());
            }
        }
        format!(
            "scope: orders
name: {name}
restapi:
  listen: 127.0.0.1:{api}
  connect_address: 127.0.0.1:{api}
  authentication:
    username: patroni
    password: {password}
etcd3:
  host: 127.0.0.1:{etcd}
  username: root
  password: {password}
bootstrap:
  dcs:
    ttl: 30
    loop_wait: 1
    retry_timeout: 10
    maximum_lag_on_failover: 1073741824
    primary_start_timeout: 0
    synchronous_mode: {synchronous_mode}
    postgresql:
      use_pg_rewind: true
      parameters:
        shared_preload_libraries: snowflake_pg
        snowflake.failover_margin: {failover_margin}
        snowflake.sequence_bits: 8
        wal_receiver_timeout: 0
        wal_retrieve_retry_interval: 500ms
        wal_sender_timeout: 0
        {dynamic}
  initdb:
  - encoding: UTF8
  - auth-local: trust
  - auth-host: scram-sha-256
postgresql:
  listen: 127.0.0.1:{port}
  connect_address: 127.0.0.1:{port}
  data_dir: {data}
  bin_dir: {bin}
  pgpass: {pgpass}
  authentication:
    superuser:
      username: postgres
      password: {password}
    replication:
      username: replicator
      password: {password}
  pg_hba:
  - local all all trust
  - host all all 127.0.0.1/32 scram-sha-256
  - host replication all 127.0.0.1/32 scram-sha-256
  parameters:
    unix_socket_directories: {socket}
    unix_socket_permissions: '0700'
    {local}
  {file}
",
            name = member.name,
            password = self.password,
            api = member.api,
            etcd = self.etcd.port,
            port = member.port,
            data = member.data().display(),
            bin = member.file("bin").display(),
            socket = member.directory.display(),
            pgpass = member.file("pgpass").display(),
        )
    }

    /// The member that Patroni says leads, among some.
    pub fn primary(&self, among: &[usize]) -> usize {
        let mut primary = None;
        eventually("a member leads", || {
            primary = among.iter().find(|number| self.members[**number].answers("/primary"));
            primary.is_some()
        });
        *primary.expect("found")
    }

    /// All members but one.
    pub fn others(&self, member: usize) -> Vec<usize> {
        (0..self.members.len()).filter(|other| *other != member).collect()
    }

    /// How clients connect to whichever of some members takes writes.
    pub fn config(&self, among: &[usize]) -> Config {
        let mut config = Config::new();
        for number in among {
            config.host("127.0.0.1").port(self.members[*number].port);
        }
        config.user("postgres").password(&self.password).dbname("postgres");
        config.connect_timeout(Duration::from_secs(2));
        config.target_session_attrs(TargetSessionAttrs::ReadWrite);
        config
    }

    /// Waits until all other members stream the primary's timeline, as synchronously as planned, and
    /// until their Patroni knows.
    pub fn wait_for_standbys(&self, primary: usize) {
        let mut client = self.members[primary].connect();
        let timeline = "SELECT left(pg_walfile_name(pg_current_wal_lsn()), 8)";
        let timeline: String = client.query_one(timeline, &[]).expect("a primary").get(0);
        for member in self.others(primary) {
            let member = &self.members[member];
            eventually("the others stream", || {
                member.receives(&timeline) && member.answers("/replica")
            });
        }
        if self.plan.synchronous_mode {
            let synchronous = "SELECT count(*) FROM pg_stat_replication WHERE sync_state = 'sync'";
            eventually("one is synchronous", || bigint(&mut client, synchronous) == 1);
        }
    }

    /// Stops what sends WAL to the others, so that they get no more of it.
    pub fn stop_sending(&self, primary: usize) {
        let mut client = self.members[primary].connect();
        let senders = client.query("SELECT pid::bigint FROM pg_stat_replication", &[]);
        for sender in senders.expect("a view") {
            signal(sender.get(0), "STOP");
        }
    }

    /// Sets the clocks of some members. Patroni and etcd go by the true time.
    pub fn set_clocks(&self, members: &[usize], offset: &str) {
        for number in members {
            set_clock_of_file(&self.members[*number].file("clock"), offset);
        }
    }

    /// Asserts that `snowflake_check()` is content with all members, but for the rows that are
    /// named.
    pub fn assert_well(&self, but_for: &[&str]) {
        for member in &self.members {
            let mut client = member.connect();
            let mut doubtful = Vec::new();
            eventually("snowflake_check() is content", || {
                let rows = client.query("SELECT name FROM snowflake_check() WHERE NOT ok", &[]);
                let rows = rows.expect("rows");
                let names: Vec<String> = rows.iter().map(|row| row.get(0)).collect();
                if names != but_for && names != doubtful {
                    println!("doubtful on {}: {names:?}", member.name);
                    doubtful.clone_from(&names);
                }
                names == but_for
            });
        }
    }
}

/// The lines of a file with an identity.
fn identity_file(worker: usize) -> String {
    format!("snowflake.datacenter_id = 1\nsnowflake.worker_id = {worker}\n")
}

/// PostgreSQL, and the Patroni that keeps it.
pub struct Member {
    pub name: &'static str,
    directory: PathBuf,
    port: u16,
    api: u16,
    password: String,
    patroni: Option<Service>,
    starts: usize,
}

impl Member {
    fn new(name: &'static str, fleet: &Path, password: &str) -> Member {
        let directory = fleet.join(name);
        create_directory(&directory);
        let (port, api) = (free_port(), free_port());
        let password = password.to_owned();
        let member = Member { name, directory, port, api, password, patroni: None, starts: 0 };
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

    /// A file beside the data directory.
    pub fn file(&self, name: &str) -> PathBuf {
        self.directory.join(name)
    }

    /// The data directory.
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
        self.patroni = Some(Service::start(command, self.file(&format!("log.{}", self.starts))));
    }

    /// What Patroni and PostgreSQL have said since the last start.
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
        let file =
            fs::read_to_string(self.data().join("postmaster.pid")).expect("a running server");
        let pid = file.lines().next().and_then(|pid| pid.parse().ok());
        pid.expect("a process ID")
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

    /// How a client connects to PostgreSQL.
    fn config(&self) -> Config {
        let mut config = self.config_without_password();
        config.password(&self.password);
        config
    }

    /// How somebody tries to connect who only knows where PostgreSQL is.
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

    /// Whether it streams WAL of a timeline, which is written as in the names of WAL files. A member
    /// that has yet to be rewound streams, too, up to where the timelines part.
    fn receives(&self, timeline: &str) -> bool {
        let received = "SELECT lpad(upper(to_hex(received_tli)), 8, '0') FROM pg_stat_wal_receiver
                        WHERE status = 'streaming'";
        self.config()
            .connect(NoTls)
            .and_then(|mut client| client.query(received, &[]))
            .is_ok_and(|rows| rows.iter().any(|row| row.get::<_, &str>(0) == timeline))
    }

    /// Whether Patroni's REST API says yes.
    pub fn answers(&self, path: &str) -> bool {
        http_get(self.api, path).is_some()
    }

    /// What Patroni's REST API answers to a request that changes something.
    pub fn post(&self, path: &str, body: &str) -> Option<String> {
        let user = BASE64_STANDARD.encode(format!("patroni:{}", self.password));
        let who = format!("Basic {user}");
        let request = Request { authorization: Some(&who), ..Request::new("POST", path, body) };
        request.ask(self.api).filter(|(status, _)| *status == 200).map(|(_, answer)| answer)
    }

    /// The status with which it answers the same of somebody who does not say who they are.
    pub fn status_without_password(&self, method: &str, path: &str, body: &str) -> u16 {
        Request::new(method, path, body).ask(self.api).expect("an answer").0
    }
}

/// The one etcd of a fleet.
pub struct Etcd {
    service: Service,
    port: u16,
}

impl Etcd {
    /// Starts it twice, because a new etcd asks nobody for a password: at first it has nothing but a
    /// socket, through which it gets one.
    fn start(fleet: &Path, password: &str) -> Etcd {
        let directory = fleet.join("etcd");
        create_directory(&directory);
        let (port, socket) = (free_port(), "clients:0");
        let first = Etcd::run(&directory, &format!("unix://{socket}"));
        let ask = |request: Request| request.ask_socket(&directory.join(socket));
        eventually("etcd is up", || is_healthy(ask(Request::new("GET", "/health", ""))));
        let user = format!(r#"{{"name": "root", "password": "{password}"}}"#);
        for (path, body) in [
            ("/v3/auth/role/add", r#"{"name": "root"}"#),
            ("/v3/auth/user/add", &user),
            ("/v3/auth/user/grant", r#"{"user": "root", "role": "root"}"#),
            ("/v3/auth/enable", "{}"),
        ] {
            let answer = ask(Request::new("POST", path, body));
            assert!(matches!(answer, Some((200, _))), "{path}: {answer:?}");
        }
        drop(first);
        let service = Etcd::run(&directory, &format!("http://127.0.0.1:{port}"));
        eventually("etcd is up", || is_healthy(Request::new("GET", "/health", "").ask(port)));
        Etcd { service, port }
    }

    /// Sockets of etcd are in its current directory, and their names look like a port of a host.
    fn run(directory: &Path, clients: &str) -> Service {
        let peers = "unix://peers:0";
        let mut command = fleet_program("etcd");
        command.current_dir(directory).arg("--data-dir=data");
        command.args(["--listen-client-urls", clients, "--advertise-client-urls", clients]);
        command.args(["--listen-peer-urls", peers, "--initial-advertise-peer-urls", peers]);
        command.arg(format!("--initial-cluster=default={peers}"));
        Service::start(command, directory.join("log"))
    }

    /// What it answers to a request of somebody who does not say who they are.
    pub fn answer_without_password(&self, path: &str, body: &str) -> (u16, String) {
        Request::new("POST", path, body).ask(self.port).expect("an answer")
    }

    /// Asserts that it listens on no other port than the one that this knows.
    pub fn assert_port(&self) {
        assert_eq!(listening_ports(self.service.pid()), [self.port].into());
    }
}

fn is_healthy(answer: Option<(u16, String)>) -> bool {
    answer.is_some_and(|(status, body)| status == 200 && body.contains("true"))
}

/// Ends the servers of a fleet, also when the test process dies: Patroni's servers outlive Patroni.
struct Postmasters {
    guard: Child,
}

impl Postmasters {
    fn of(fleet: &Path) -> Postmasters {
        // Standard input ends with the test process at the latest. Then nobody may start servers
        // again, and what is stopped has to go on to end.
        let script = r#"cat
            working_in() { find /proc/[0-9]*/cwd -maxdepth 0 "$@" | cut -d / -f 3; }
            while pids=$(working_in -lname "$1/*" ! -lname "$1/*/data"); [ "$pids" ]; do
                kill -KILL $pids; sleep 0.1
            done
            while pids=$(working_in -lname "$1/*/data"); [ "$pids" ]; do
                kill -QUIT $pids; kill -CONT $pids; sleep 0.1
            done"#;
        let mut command = Command::new("sh");
        command.args(["-c", script, "sh"]).arg(fleet).process_group(0);
        command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
        Postmasters { guard: command.spawn().expect("sh runs") }
    }
}

impl Drop for Postmasters {
    fn drop(&mut self) {
        drop(self.guard.stdin.take());
        let _ = self.guard.wait();
    }
}
