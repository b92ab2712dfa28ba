//! The program, as its users run it.

use std::io::{BufRead, BufReader, Read};
use std::mem;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::Duration;

use snowflake_e2e::{Cluster, signal};

/// What it said until it ended.
#[derive(Debug)]
pub struct Said {
    pub code: Option<i32>,
    pub out: String,
    pub errors: String,
}

/// The program as role app, which owns the tables.
pub fn widen(cluster: &Cluster, words: &[&str]) -> Command {
    let mut command = cluster.client_program("snowflake-widen");
    command.args(words).env("PGUSER", "app").env("PGOPTIONS", "-c search_path=app,public");
    command.stdin(Stdio::null());
    command
}

/// Runs it to its end.
pub fn run(cluster: &Cluster, words: &[&str]) -> Said {
    Running::start(widen(cluster, words)).end()
}

/// What it prints when it reaches its goal.
#[track_caller]
pub fn succeed(cluster: &Cluster, words: &[&str]) -> String {
    let said = run(cluster, words);
    assert_eq!(said.code, Some(0), "{words:?}: {said:?}");
    said.out
}

/// The program while it runs.
pub struct Running {
    child: Child,
    lines: Receiver<String>,
    out: String,
}

impl Running {
    pub fn start(mut command: Command) -> Running {
        let mut child = command
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the program is installed");
        let (sender, lines) = channel();
        let out = BufReader::new(child.stdout.take().expect("a pipe"));
        thread::spawn(move || {
            for line in out.lines().map_while(Result::ok) {
                if sender.send(line).is_err() {
                    break;
                }
            }
        });
        Running { child, lines, out: String::new() }
    }

    /// The next line; none if it has ended.
    pub fn line(&mut self) -> Option<String> {
        match self.lines.recv_timeout(Duration::from_secs(180)) {
            Ok(line) => {
                self.out += &format!("{line}\n");
                Some(line)
            }
            Err(std::sync::mpsc::RecvTimeoutError::Disconnected) => None,
            Err(_) => panic!("it says nothing for three minutes, after:\n{}", self.out),
        }
    }

    /// Waits for a line with this text.
    #[track_caller]
    pub fn wait_for(&mut self, text: &str) -> String {
        self.wait_for_any(&[text])
    }

    /// Waits for a line with one of these texts.
    #[track_caller]
    pub fn wait_for_any(&mut self, texts: &[&str]) -> String {
        loop {
            match self.line() {
                Some(line) if texts.iter().any(|text| line.contains(text)) => return line,
                Some(_) => (),
                None => {
                    let mut errors = String::new();
                    let stderr = self.child.stderr.as_mut().expect("a pipe");
                    stderr.read_to_string(&mut errors).expect("UTF-8");
                    panic!("it ended without {texts:?}:\n{}{errors}", self.out);
                }
            }
        }
    }

    /// Sends it a signal, such as `INT`.
    pub fn signal(&self, name: &str) {
        signal(self.child.id().into(), name);
    }

    /// Waits for its end.
    pub fn end(mut self) -> Said {
        while self.line().is_some() {}
        let mut errors = String::new();
        self.child.stderr.take().expect("a pipe").read_to_string(&mut errors).expect("UTF-8");
        let code = self.child.wait().expect("a child").code();
        Said { code, out: mem::take(&mut self.out), errors }
    }
}

/// Kills it, with no chance to say anything.
impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
