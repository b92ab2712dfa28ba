//! As much of HTTP as the programs around servers need to be asked.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

/// What the program at a port of this machine answers; `None` while it does not answer, or answers
/// with an error.
pub fn http(port: u16, method: &str, path: &str, body: &str) -> Option<String> {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).ok()?;
    stream.set_read_timeout(Some(Duration::from_secs(60))).ok()?;
    // Version 1.0: the answer is in one piece, and ends with the connection.
    let length = body.len();
    write!(stream, "{method} {path} HTTP/1.0\r\nContent-Length: {length}\r\n\r\n{body}").ok()?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer).ok()?;
    let (head, body) = answer.split_once("\r\n\r\n")?;
    let is_well = head.split(' ').nth(1) == Some("200");
    is_well.then(|| body.to_owned())
}

/// What it has at `path`.
pub fn http_get(port: u16, path: &str) -> Option<String> {
    http(port, "GET", path, "")
}
