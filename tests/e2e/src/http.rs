//! As much of HTTP as the programs around servers need to be asked.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

/// A request to a program of this machine.
#[derive(Clone, Copy)]
pub struct Request<'a> {
    /// Such as `GET`.
    pub method: &'a str,
    /// The path that it asks for, such as `/metrics`.
    pub path: &'a str,
    /// The body that it sends.
    pub body: &'a str,
}

impl<'a> Request<'a> {
    /// A request that sends this.
    pub fn new(method: &'a str, path: &'a str, body: &'a str) -> Request<'a> {
        Request { method, path, body }
    }

    /// Returns the answer of the program at a port: the status and the body. `None` while there is
    /// none.
    pub fn ask(self, port: u16) -> Option<(u16, String)> {
        let stream = TcpStream::connect(("127.0.0.1", port)).ok()?;
        stream.set_read_timeout(Some(Duration::from_secs(60))).ok()?;
        self.send(stream)
    }

    /// The same of the program that listens on a socket.
    pub fn ask_socket(self, socket: &Path) -> Option<(u16, String)> {
        self.send(UnixStream::connect(socket).ok()?)
    }

    fn send(self, mut stream: impl Read + Write) -> Option<(u16, String)> {
        let Request { method, path, body } = self;
        let length = body.len();
        // Version 1.0: the answer is in one piece, and ends with the connection.
        let head = format!("{method} {path} HTTP/1.0\r\nContent-Length: {length}\r\n\r\n");
        stream.write_all((head + body).as_bytes()).ok()?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer).ok()?;
        let (head, body) = answer.split_once("\r\n\r\n")?;
        Some((head.split(' ').nth(1)?.parse().ok()?, body.to_owned()))
    }
}

/// Returns what the program at a port of this machine has at `path`; `None` while it does not
/// answer, or answers with an error.
pub fn http_get(port: u16, path: &str) -> Option<String> {
    let (status, body) = Request::new("GET", path, "").ask(port)?;
    (status == 200).then_some(body)
}
