//! The server that the command line, the environment and the files of a user name.

use std::env;
use std::io::{IsTerminal, stdin};
use std::path::Path;
use std::str::FromStr;
use std::sync::Mutex;
use std::time::Duration;

use postgres::config::{Host, SslMode, TargetSessionAttrs};
use postgres::error::SqlState;
use postgres::{Client, Config};
use tokio_postgres_rustls::MakeRustlsConnect;

use crate::arguments::Connection;
use crate::failure::{Failure, ServerMessage, with_cause};
use crate::passfile;
use crate::tls;

/// How to connect.
pub struct Address {
    config: Config,
    /// The password that the user was asked for.
    asked: Mutex<Option<String>>,
    may_ask: bool,
    tls: MakeRustlsConnect,
}

impl Address {
    /// Reads it.
    pub fn of(connection: &Connection) -> Result<Address, Failure> {
        let database = connection.dbname.as_deref().unwrap_or_default();
        let is_string = database.contains('=')
            || database.starts_with("postgres://")
            || database.starts_with("postgresql://");
        let mut config = if is_string {
            Config::from_str(database).map_err(|error| Failure::new(with_cause(&error)))?
        } else {
            Config::new()
        };
        if !is_string && !database.is_empty() {
            config.dbname(database);
        }
        // Where both say something, the connection string counts, as for psql.
        if config.get_ports().is_empty() {
            for port in connection.port.as_deref().unwrap_or("5432").split(',') {
                let number = port.parse();
                config.port(
                    number.map_err(|_| Failure::new(format!("invalid port number: \"{port}\"")))?,
                );
            }
        }
        if config.get_hosts().is_empty() && config.get_hostaddrs().is_empty() {
            let port = config.get_ports().first().copied().unwrap_or(5432);
            let default = || default_host(port);
            for host in connection.host.clone().unwrap_or_else(default).split(',') {
                config.host(host);
            }
        }
        if let (None, Some(user)) = (config.get_user(), &connection.username) {
            config.user(user);
        }
        let mode = env::var("PGSSLMODE").ok().filter(|_| !database.contains("sslmode"));
        let tls = tls::connector(mode.as_deref())?;
        if let Some(mode) = mode {
            config.ssl_mode(match &*mode {
                "disable" => SslMode::Disable,
                "allow" | "prefer" => SslMode::Prefer,
                _ => SslMode::Require,
            });
        }
        if config.get_connect_timeout().is_none() {
            config.connect_timeout(Duration::from_secs(20));
        }
        if !is_string && let Ok(seconds) = env::var("PGCONNECT_TIMEOUT") {
            config.connect_timeout(Duration::from_secs(seconds.parse().unwrap_or(20)));
        }
        if !is_string && let Ok(options) = env::var("PGOPTIONS") {
            config.options(&options);
        }
        // What follows from a promotion is found where several hosts are named.
        if !database.contains("target_session_attrs") {
            config.target_session_attrs(TargetSessionAttrs::ReadWrite);
        }
        if config.get_password().is_none()
            && let Some(password) = password_of(&config)
        {
            config.password(password);
        }
        let may_ask = !connection.no_password && stdin().is_terminal();
        Ok(Address { config, asked: Mutex::new(None), may_ask, tls })
    }

    /// A session, under a name that the server shows. `print` gets the server's warnings.
    pub fn connect(
        &self,
        name: &str,
        print: impl Fn(String) + Send + Sync + 'static,
    ) -> Result<Client, Failure> {
        let mut config = self.config.clone();
        config.application_name(name);
        config.notice_callback(move |notice| print(ServerMessage(&notice).to_string()));
        if let Some(password) = &*self.asked.lock().expect("no panic") {
            config.password(password);
        }
        let error = match config.connect(self.tls.clone()) {
            Ok(client) => return Ok(client),
            Err(error) => error,
        };
        let lacks_password = with_cause(&error).contains("password missing")
            || error.code() == Some(&SqlState::INVALID_PASSWORD);
        let mut asked = self.asked.lock().expect("no panic");
        if !lacks_password || !self.may_ask || asked.is_some() {
            return Err(error.into());
        }
        let password = rpassword::prompt_password("Password: ")
            .map_err(|error| Failure::new(format!("could not read the password: {error}")))?;
        config.password(&password);
        let client = config.connect(self.tls.clone())?;
        *asked = Some(password);
        Ok(client)
    }

    /// How to cancel a statement of a session.
    pub fn tls(&self) -> MakeRustlsConnect {
        self.tls.clone()
    }
}

/// Where the socket of that port is, or else this machine: distributions put sockets into different
/// directories.
fn default_host(port: u16) -> String {
    let is_there =
        |directory: &&str| Path::new(directory).join(format!(".s.PGSQL.{port}")).exists();
    ["/var/run/postgresql", "/tmp"].iter().find(|d| is_there(d)).unwrap_or(&"localhost").to_string()
}

fn password_of(config: &Config) -> Option<String> {
    if let Ok(password) = env::var("PGPASSWORD") {
        return Some(password);
    }
    let host = match config.get_hosts().first() {
        Some(Host::Tcp(host)) => host.clone(),
        _ => "localhost".into(),
    };
    let user = config.get_user().map(str::to_owned).or_else(|| env::var("USER").ok())?;
    let database = config.get_dbname().unwrap_or(&user).to_owned();
    let port = config.get_ports().first().copied().unwrap_or(5432).to_string();
    passfile::password([&host, &port, &database, &user])
}
