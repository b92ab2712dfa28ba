//! The etcd of a fleet, which nobody asks without a password.

use std::path::Path;

use snowflake_e2e::{Request, Service, create_directory, eventually, fleet_program, free_port};

/// The one etcd of a fleet.
pub struct Etcd {
    pub service: Service,
    pub port: u16,
}

impl Etcd {
    /// Starts it twice, because a new etcd asks nobody for a password: at first it has nothing but
    /// a socket, through which it gets one.
    pub fn start(fleet: &Path, password: &str) -> Etcd {
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
}

fn is_healthy(answer: Option<(u16, String)>) -> bool {
    answer.is_some_and(|(status, body)| status == 200 && body.contains("true"))
}
