//! A client that asks and does not read.

use std::io::{Read, Write};
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
    /// How many bytes the server can send until it has to wait for such a client.
    pub fn capacity(cluster: &Cluster) -> usize {
        let mut client = DeafClient::connect(cluster);
        client.ask("SELECT repeat('x', 89) FROM generate_series(1, 100000)");
        client.wait_until_stuck(cluster);
        client.unread()
    }

    /// Asks for an ID at the very moment when nothing more can be sent: the next byte that goes to
    /// the client waits.
    pub fn take_an_id_when_full(cluster: &Cluster) -> DeafClient {
        // Rows of 100 bytes, and a half of the server's buffer of 8 kB more than what the socket
        // takes.
        let rows = (DeafClient::capacity(cluster) + 4000) / 100;
        let mut client = DeafClient::connect(cluster);
        client.ask(&format!(
            "SELECT CASE WHEN n <= {rows} THEN repeat('x', 89) ELSE snowflake_nextval()::text END
             FROM generate_series(1, {rows} + 1) AS n"
        ));
        client.wait_until_stuck(cluster);
        client
    }

    /// The process of the server that waits for it.
    pub fn pid(&self) -> i32 {
        self.pid
    }

    fn connect(cluster: &Cluster) -> DeafClient {
        let mut stream =
            UnixStream::connect(cluster.directory().join(".s.PGSQL.5432")).expect("a connection");
        let mut startup = 196_608i32.to_be_bytes().to_vec();
        startup.extend(b"user\0postgres\0database\0postgres\0\0");
        send(&mut stream, &[], &startup);
        let mut pid = 0;
        loop {
            let mut head = [0; 5];
            stream.read_exact(&mut head).expect("a message");
            let length = i32::from_be_bytes(head[1..].try_into().expect("4 bytes")) as usize - 4;
            let mut body = vec![0; length];
            stream.read_exact(&mut body).expect("a message");
            match head[0] {
                b'K' => pid = i32::from_be_bytes(body[..4].try_into().expect("4 bytes")),
                b'Z' => return DeafClient { stream, pid },
                b'E' => panic!("{}", String::from_utf8_lossy(&body)),
                _ => {}
            }
        }
    }

    fn ask(&mut self, query: &str) {
        send(&mut self.stream, b"Q", format!("{query}\0").as_bytes());
    }

    fn wait_until_stuck(&self, cluster: &Cluster) {
        let mut watcher = cluster.connect();
        let query = format!(
            "SELECT count(*) FROM pg_stat_activity WHERE pid = {} AND wait_event = 'ClientWrite'",
            self.pid
        );
        eventually("the client is stuck", || bigint(&mut watcher, &query) == 1);
    }

    fn unread(&self) -> usize {
        let mut bytes: libc::c_int = 0;
        // SAFETY: asks how many bytes a socket that is open holds.
        let status =
            unsafe { libc::ioctl(self.stream.as_raw_fd(), libc::FIONREAD, &raw mut bytes) };
        assert_eq!(status, 0);
        bytes as usize
    }
}

fn send(stream: &mut UnixStream, kind: &[u8], body: &[u8]) {
    let length = (body.len() as i32 + 4).to_be_bytes();
    stream.write_all(&[kind, &length, body].concat()).expect("the server reads");
}
