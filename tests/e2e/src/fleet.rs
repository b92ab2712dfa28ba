//! Programs that operators run around their servers.

use std::collections::BTreeSet;
use std::env;
use std::fs::{self, File};
use std::io::Read;
use std::net::TcpListener;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::Mutex;

use crate::builder::ClusterBuilder;
use crate::cluster::Cluster;
use crate::programs::as_server_user;

/// A server with this worker ID that can publish, and follows several others, without long waits.
pub fn publishing(worker_id: &str) -> ClusterBuilder {
    Cluster::builder()
        .set("wal_level", "logical")
        .set("snowflake.worker_id", worker_id)
        .set("max_worker_processes", "16")
        .set("wal_retrieve_retry_interval", "100ms")
}

/// A server without an identity, not started yet, whose configuration includes a file with these
/// lines.
pub fn server_with(builder: ClusterBuilder, lines: &str) -> Cluster {
    let server = builder.without_identity().create();
    let file = server.directory().join("identity.conf");
    fs::write(&file, lines).expect("a directory to write to");
    server.configure(&[("include", &file.to_string_lossy())]);
    server
}

/// A program that fleets have around their servers, such as `pgbouncer`, as the user that servers
/// run as: one of those that `tools/setup fleet` fetched, or else of the `PATH`.
pub fn fleet_program(name: &str) -> Command {
    let program = fleet_program_path(name);
    let mut command = as_server_user(&program);
    if program.is_absolute() {
        let libraries = format!("usr/lib/{}-linux-gnu", env::consts::ARCH);
        command.env("LD_LIBRARY_PATH", fetched().join(libraries));
        command.env("PYTHONPATH", fetched().join("usr/lib/python3/dist-packages"));
    }
    command
}

/// Where such a program is, for a command that a server runs; only its name, if it is not one of
/// those that were fetched.
pub fn fleet_program_path(name: &str) -> PathBuf {
    let candidates = ["usr/bin", "usr/sbin"].map(|path| fetched().join(path).join(name));
    candidates.into_iter().find(|path| path.exists()).unwrap_or_else(|| name.into())
}

/// The directory of those that were fetched; there is none where they are left out.
fn fetched() -> PathBuf {
    env::var("SNOWFLAKE_FLEET_PROGRAMS").unwrap_or_default().into()
}

/// A program that runs beside the test, and is killed at the end of it.
pub struct Service {
    child: Child,
    log: PathBuf,
}

impl Service {
    /// Starts it. What it says goes to the file `log`, and is shown when the test fails.
    pub fn start(mut command: Command, log: PathBuf) -> Service {
        let file = File::create(&log).expect("a directory to write to");
        command.stdin(Stdio::null()).stdout(file.try_clone().expect("a file")).stderr(file);
        let child = command.spawn().expect("setpriv runs");
        Service { child, log }
    }

    /// The process.
    pub fn pid(&self) -> i64 {
        self.child.id().into()
    }

    /// The text that it has printed.
    pub fn log(&self) -> String {
        fs::read_to_string(&self.log).unwrap_or_default()
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        if std::thread::panicking() {
            eprintln!("--- {} ---\n{}", self.log.display(), self.log());
        }
    }
}

/// A TCP port that nobody listens on, for a program that takes no socket of a directory. It is
/// given out once, and lies below those that Linux takes for the client's end of a connection: the
/// program might listen on it much later.
pub fn free_port() -> u16 {
    static GIVEN: Mutex<BTreeSet<u16>> = Mutex::new(BTreeSet::new());
    loop {
        let port = fastrand::u16(10_000..32_768);
        let is_new = GIVEN.lock().expect("no panic").insert(port);
        if is_new && TcpListener::bind(("127.0.0.1", port)).is_ok() {
            return port;
        }
    }
}

/// A password that nobody can guess, for a program that takes no socket of a directory.
pub fn new_password() -> String {
    let mut bytes = [0; 16];
    let random = File::open("/dev/urandom").and_then(|mut file| file.read_exact(&mut bytes));
    random.expect("random bytes");
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The TCP ports that a process listens on.
pub fn listening_ports(pid: i64) -> BTreeSet<u16> {
    let mut sockets = Vec::new();
    for file in fs::read_dir(format!("/proc/{pid}/fd")).expect("a process of ours").flatten() {
        // socket:[inode]
        let target = fs::read_link(file.path()).unwrap_or_default();
        let inode = target.to_str().and_then(|name| name.strip_prefix("socket:["));
        sockets.extend(inode.map(|inode| inode.trim_end_matches(']').to_owned()));
    }
    let mut ports = BTreeSet::new();
    for table in ["tcp", "tcp6"] {
        let table = fs::read_to_string(format!("/proc/{pid}/net/{table}")).unwrap_or_default();
        for line in table.lines().skip(1) {
            // Number, address:port, of the other end, state (0A: listens), and the inode as 10th.
            let fields: Vec<&str> = line.split_whitespace().collect();
            if fields[3] == "0A" && sockets.iter().any(|inode| inode == fields[9]) {
                let (_, port) = fields[1].rsplit_once(':').expect("address:port");
                ports.insert(u16::from_str_radix(port, 16).expect("a port"));
            }
        }
    }
    ports
}
