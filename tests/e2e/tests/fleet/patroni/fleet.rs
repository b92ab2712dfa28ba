//! Three members that Patroni keeps, and the etcd that they ask who leads. They meet at ports of
//! the machine, where everybody else can knock, so each of them asks for a password.

use std::fs;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use postgres::Config;
use postgres::config::TargetSessionAttrs;
use snowflake_e2e::{
    Means, Run, bigint, bigints, eventually, lacks, new_directory, new_password, set_clock_of_file,
    signal, value,
};
use tempfile::TempDir;

use super::etcd::Etcd;
use super::member::Member;

const NAMES: [&str; 3] = ["one", "two", "three"];

/// Where the members have their identity from.
#[derive(Clone, Copy, PartialEq)]
pub enum Identity {
    /// None, and the library is not preloaded.
    Nothing,
    /// One for all, in the dynamic configuration.
    Shared,
    /// One for each, in the name of its machine; the dynamic configuration says where.
    Names,
    /// One for each, in the parameters of its local configuration.
    OwnParameters,
    /// One for each, in a file outside of its data directory.
    OwnFile,
}

impl Identity {
    /// Returns whether each member is on a machine whose name has its number.
    fn is_in_names(self) -> bool {
        matches!(self, Identity::Nothing | Identity::Names)
    }
}

/// A running fleet. Its fields are dropped in this order: Patroni must not start again what ends.
pub struct Fleet {
    pub members: Vec<Member>,
    _postmasters: Postmasters,
    pub etcd: Etcd,
    identity: Identity,
    failover_margin: &'static str,
    is_synchronous: bool,
    password: String,
    directory: TempDir,
}

impl Fleet {
    /// Patroni makes the first member with initdb, and the others with pg_basebackup. `None` if it
    /// is not installed.
    pub fn start(
        identity: Identity,
        failover_margin: &'static str,
        is_synchronous: bool,
    ) -> Option<Fleet> {
        let mut means = vec![Means::Program("patroni"), Means::Program("etcd")];
        if identity.is_in_names() {
            means.push(Means::OwnHostName);
        }
        if lacks(&means) {
            return None;
        }
        let (directory, password) = (new_directory(), new_password());
        let mut fleet = Fleet {
            members: Vec::new(),
            _postmasters: Postmasters::of(directory.path()),
            etcd: Etcd::start(directory.path(), &password),
            identity,
            failover_margin,
            is_synchronous,
            password,
            directory,
        };
        NAMES.into_iter().for_each(|name| fleet.add(name));
        fleet.wait_for_standbys(0);
        fleet.members[0].connect().run(
            "CREATE EXTENSION snowflake;
             CREATE TABLE orders (id bigint PRIMARY KEY DEFAULT snowflake_nextval())",
        );
        for member in &fleet.members {
            let mut client = member.connect();
            eventually("the table is on all members", || {
                client.batch_execute("SELECT FROM orders").is_ok()
            });
        }
        Some(fleet)
    }

    /// Adds a member, with the next number.
    pub fn add(&mut self, name: &'static str) {
        let worker = self.members.len() + 1;
        let mut member = Member::new(name, self.directory.path(), &self.password);
        member.host_name = self.identity.is_in_names().then(|| format!("db-{worker}"));
        let file = format!("snowflake.datacenter_id = 1\nsnowflake.worker_id = {worker}\n");
        for (name, text) in
            [("patroni.yml", self.configuration(&member, worker)), ("snowflake.conf", file)]
        {
            fs::write(member.file(name), text).expect("a directory to write to");
        }
        member.start();
        let role = if worker == 1 { "/primary" } else { "/replica" };
        eventually("the member is up", || member.answers(role));
        self.members.push(member);
    }

    /// Returns the text of a member's patroni.yml. Clocks are moved, and nobody is to take that for
    /// a standby that does not answer. Few IDs fit into a millisecond, so that those of two
    /// primaries meet soon if they can.
    fn configuration(&self, member: &Member, worker: usize) -> String {
        let host = fs::read_to_string("/proc/sys/kernel/hostname").expect("a name");
        let own = format!(
            "snowflake.worker_id: {worker}
    snowflake.identity_requires: hostname={}",
            host.trim_end()
        );
        let file = format!("custom_conf: {}", member.file("snowflake.conf").display());
        let (datacenter, shared) = ("snowflake.datacenter_id: 1", "snowflake.worker_id: 1");
        let preload = "shared_preload_libraries: snowflake_pg";
        let preload = if self.identity == Identity::Nothing { "" } else { preload };
        let (datacenter, shared, local, file) = match self.identity {
            Identity::Nothing => ("", "", "", ""),
            Identity::Shared => (datacenter, shared, "", ""),
            Identity::Names => (datacenter, "snowflake.worker_id_from: hostname=db-*", "", ""),
            Identity::OwnParameters => (datacenter, "", &*own, ""),
            Identity::OwnFile => ("", "", "", &*file),
        };
        let (failover_margin, is_synchronous) = (self.failover_margin, self.is_synchronous);
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
    synchronous_mode: {is_synchronous}
    postgresql:
      use_pg_rewind: true
      parameters:
        {preload}
        snowflake.failover_margin: {failover_margin}
        snowflake.sequence_bits: 8
        wal_receiver_timeout: 0
        wal_retrieve_retry_interval: 500ms
        wal_sender_timeout: 0
        {datacenter}
        {shared}
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

    /// The row of the check that does not like where the identity is: inside of a data directory,
    /// of which any copy has it.
    pub fn doubt(&self) -> &'static [&'static str] {
        if self.identity.is_in_names() { &[] } else { &["origin of the identity"] }
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

    /// Returns the connection of clients to the one of some members that takes writes.
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

    /// Waits until all other members stream the primary's timeline, as synchronously as planned,
    /// and until their Patroni knows.
    pub fn wait_for_standbys(&self, primary: usize) {
        let mut client = self.members[primary].connect();
        let timeline = "SELECT left(pg_walfile_name(pg_current_wal_lsn()), 8)";
        let timeline = value::<String>(&mut client, timeline);
        for member in self.others(primary) {
            let member = &self.members[member];
            eventually("the others stream", || {
                member.receives(&timeline) && member.answers("/replica")
            });
        }
        if self.is_synchronous {
            let synchronous = "SELECT count(*) FROM pg_stat_replication WHERE sync_state = 'sync'";
            eventually("one is synchronous", || bigint(&mut client, synchronous) == 1);
        }
    }

    /// Stops what sends WAL to the others, so that they get no more of it.
    pub fn stop_sending(&self, primary: usize) {
        let mut client = self.members[primary].connect();
        let senders = bigints(&mut client, "SELECT pid FROM pg_stat_replication");
        senders.iter().for_each(|sender| signal(*sender, "STOP"));
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
            let but_for = but_for.join(", ");
            let doubts = "SELECT coalesce(string_agg(name, ', '), '') FROM snowflake_check()
                          WHERE NOT ok";
            let mut before = but_for.clone();
            eventually("snowflake_check() is content", || {
                let names = value::<String>(&mut client, doubts);
                if names != before {
                    println!("doubtful on {}: {names}", member.name);
                    before.clone_from(&names);
                }
                names == but_for
            });
        }
    }
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
