//! A client that asks and does not read.

use std::io::Write;
use std::os::fd::AsRawFd;
use std::os::unix::net::UnixStream;

use crate::cluster::Cluster;
use crate::query::bigint;
use crate::wait::eventually;

/// A session whose client leaves what the server sends in the socket.
pub struct DeafClient {
    stream: UnixStream,
    pid: i32,
}

impl DeafClient {
    /// Returns the number of bytes that the server can send until it has to wait for such a client.
    pub fn capacity(cluster: &Cluster) -> usize {
        let rows = "SELECT repeat('x', 89) FROM generate_series(1, 100000)";
        let client = DeafClient::ask(cluster, rows);
        let mut bytes: libc::c_int = 0;
        // SAFETY: asks how many bytes a socket that is open holds.
        let status =
            unsafe { libc::ioctl(client.stream.as_raw_fd(), libc::FIONREAD, &raw mut bytes) };
        assert_eq!(status, 0);
        bytes as usize
    }

    /// Asks for an ID at the very moment when nothing more can be sent: the next byte that goes to
    /// the client waits.
    pub fn take_an_id_when_full(cluster: &Cluster) -> DeafClient {
        // Rows of 100 bytes, and a half of the server's buffer of 8 kB more than what the socket
        // takes.
        let rows = (DeafClient::capacity(cluster) + 4000) / 100;
        let query = format!(
            "SELECT CASE WHEN n <= {rows} THEN repeat('x', 89) ELSE snowflake_nextval()::text END
             FROM generate_series(1, {rows} + 1) AS n"
        );
        DeafClient::ask(cluster, &query)
    }

    /// The process of the server that waits for it.
    pub fn pid(&self) -> i32 {
        self.pid
    }

    /// Asks, and waits until the server has to wait.
    fn ask(cluster: &Cluster, query: &str) -> DeafClient {
        let mut stream =
            UnixStream::connect(cluster.directory().join(".s.PGSQL.5432")).expect("a connection");
        let name = format!("deaf {}", fastrand::u64(..));
        // Version 3.0 of the protocol, and what the session begins with.
        let startup = format!("user\0postgres\0database\0postgres\0application_name\0{name}\0\0");
        send(&mut stream, &[], &[&196_608i32.to_be_bytes(), startup.as_bytes()].concat());
        send(&mut stream, b"Q", format!("{query}\0").as_bytes());
        let stuck = format!(
            "SELECT coalesce(max(pid), 0)::bigint FROM pg_stat_activity
             WHERE application_name = '{name}' AND wait_event = 'ClientWrite'"
        );
        let (mut watcher, mut pid) = (cluster.connect(), 0);
        eventually("the client is stuck", || {
            pid = bigint(&mut watcher, &stuck) as i32;
            pid != 0
        });
        DeafClient { stream, pid }
    }
}

fn send(stream: &mut UnixStream, kind: &[u8], body: &[u8]) {
    let length = (body.len() as i32 + 4).to_be_bytes();
    stream.write_all(&[kind, &length, body].concat()).expect("the server reads");
}
