//! The command line.

use std::process::ExitCode;

use clap::{Args, Parser, Subcommand};
use postgres::types::{ToSql, Type};

/// What stands below the options in `--help`.
const MORE: &str = "\
Connections:
  Options that are not given are read from PGHOST, PGPORT, PGUSER, PGDATABASE,
  PGPASSWORD, PGPASSFILE (or ~/.pgpass), PGSSLMODE and PGSSLROOTCERT, as
  PostgreSQL's own programs do. A connection string names several hosts if the
  standby that is promoted is to be found. TLS: sslmode in a connection string is
  disable, prefer or require; PGSSLMODE can also be verify-ca or verify-full,
  with the certificates of PGSSLROOTCERT, which is a file or the word system
  (default: ~/.postgresql/root.crt); verify-full compares the host with the
  certificate's subjectAltName alone, and a certificate that signs itself is no
  authority. Client certificates, GSSAPI, SSPI and service files are not
  supported. The program needs sessions of its own: a
  pooler that gives each transaction another session is refused.

Exit status:
  0  the goal of the command is reached; for report: nothing stands in the way
  1  the server or the program refused, or the command line is wrong
  2  there is no connection, or it could not be had again for ten minutes
  3  report: something stands in the way
  130  ended by a signal; called again, it goes on

A first Ctrl-C ends the program after the statement that runs; a second one
cancels that statement. Called again with the same options, every command goes on
where it was stopped.";

/// Makes an integer key bigint, with the columns that refer to it, while the application writes.
#[derive(Parser)]
#[command(name = "snowflake-widen", version, disable_help_flag = true, after_help = MORE)]
pub struct Arguments {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
    /// Where.
    #[command(flatten)]
    pub connection: Connection,
    /// Print help
    #[arg(long, short = '?', action = clap::ArgAction::Help, global = true)]
    help: Option<bool>,
}

/// What to do.
#[derive(Subcommand)]
#[command(disable_help_subcommand = true)]
pub enum Command {
    /// Say what will happen, what stands in the way, and how large it is; change nothing
    Report(Unit),
    /// Do everything up to the swap, which takes as long as copying the columns does
    Prepare(Unit),
    /// Show how far it is, also while another program does it; change nothing
    Status {
        /// The table; without it, all tables of the database that are being widened
        table: Option<String>,
        /// What it may concern.
        #[command(flatten)]
        named: Named,
    },
    /// Exchange the columns: the key is bigint afterwards
    Swap(Unit),
    /// Remove what was prepared: the table is as before
    Abandon(Unit),
}

/// What is widened.
#[derive(Args)]
pub struct Unit {
    /// The table with the key
    pub table: String,
    /// What it may concern.
    #[command(flatten)]
    pub named: Named,
}

/// What is widened or changed only because it is named.
#[derive(Args)]
pub struct Named {
    /// Another column that has the key's values, but no foreign key, as TABLE.COLUMN; once it is
    /// prepared, it need not be named again
    #[arg(long, value_name = "TABLE.COLUMN")]
    pub also: Vec<String>,
    /// A publication whose subscribers have the new columns
    #[arg(long, value_name = "NAME")]
    pub publication: Vec<String>,
    /// A trigger that may fire for each row that is filled, as TABLE.TRIGGER, or its name alone
    #[arg(long, value_name = "TABLE.TRIGGER")]
    pub harmless_trigger: Vec<String>,
}

/// The server and the database, as PostgreSQL's own programs name them.
#[derive(Args)]
pub struct Connection {
    /// Host, or directory of the socket
    #[arg(long, short = 'h', global = true, env = "PGHOST", hide_env = true)]
    pub host: Option<String>,
    /// Port
    #[arg(long, short = 'p', global = true, env = "PGPORT", hide_env = true)]
    pub port: Option<String>,
    /// User
    #[arg(long, short = 'U', global = true, env = "PGUSER", hide_env = true)]
    pub username: Option<String>,
    /// Database, or a connection string
    #[arg(long, short = 'd', global = true, env = "PGDATABASE", hide_env = true)]
    pub dbname: Option<String>,
    /// Never ask for a password
    #[arg(long, short = 'w', global = true)]
    pub no_password: bool,
}

/// An argument of a query, with its type.
pub type Parameter<'a> = (&'a (dyn ToSql + Sync), Type);

impl Named {
    /// The last three arguments of the functions that take what is named, all of them arrays of text.
    pub fn parameters(&self) -> [Parameter<'_>; 3] {
        [&self.also, &self.publication, &self.harmless_trigger]
            .map(|names| (names as &(dyn ToSql + Sync), Type::TEXT_ARRAY))
    }
}

impl Arguments {
    /// Reads the command line; the exit status if the program ends with that.
    pub fn read() -> Result<Arguments, ExitCode> {
        Arguments::try_parse().map_err(|error| {
            let _ = error.print();
            // clap's own status for a mistake is that of a lost connection here.
            ExitCode::from(u8::from(error.use_stderr()))
        })
    }
}
