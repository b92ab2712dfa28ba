//! `snowflake_check()`: whether this server issues IDs, or would if it were promoted now, and what
//! an operator should know.
//!
//! Each row of [`ROWS`] is evaluated by itself: an error in one is that row's finding, and hides no
//! other row.
//!
//! - `own`: what this server is configured with, and what its next ID would find.
//! - `origin`: where its identity comes from.
//! - `others`: what it knows of other servers.

mod origin;
mod others;
mod own;

use pgrx::pg_sys::panic::ErrorReport;
use pgrx::prelude::*;

use crate::generator::clock;
use crate::promise;
use crate::promise::reservation::{self, Outlook};
use crate::server::catalog;
use crate::server::encoding::encode;
use crate::server::subtransaction::by_itself;
use crate::settings::{self, Fixed};

/// Evaluates a row. It may query the catalog, and might raise an error.
type Evaluate = fn(&Server) -> Finding;

/// What is checked, in the order of the rows. The verdict follows.
const ROWS: [(&str, Evaluate); 13] = [
    ("preloading", Server::preloading),
    ("identity", Server::identity),
    ("origin of the identity", origin::of_identity),
    ("register", Server::register),
    ("layout", Server::layout),
    ("layout of the database", Server::layout_of_database),
    ("lead", Server::lead),
    ("clock", Server::clock),
    ("clocks of standbys", others::clocks_of_standbys),
    ("synchronous standbys", others::synchronous_standbys),
    ("timestamp field", Server::field),
    ("twins", others::twins),
    ("subscriptions", others::subscriptions),
];

/// One row for each thing that is checked: whether it is well, and what to do otherwise. The last
/// row says whether the server issues IDs, or would if it were promoted now. Runs on standbys, and
/// without preloading.
#[pg_extern(sql = "
CREATE FUNCTION snowflake_check() RETURNS TABLE (name text, ok bool, detail text, hint text)
    LANGUAGE c VOLATILE STRICT AS 'MODULE_PATHNAME', '@FUNCTION_NAME@';
")]
#[allow(clippy::type_complexity)]
fn snowflake_check(
    fcinfo: pg_sys::FunctionCallInfo,
) -> TableIterator<
    'static,
    (name!(name, String), name!(ok, bool), name!(detail, Bytes), name!(hint, Option<Bytes>)),
> {
    // SAFETY: PostgreSQL calls with a function.
    let function = unsafe { (*(*fcinfo).flinfo).fn_oid };
    let fixed = settings::fixed();
    let look = || reservation::outlook(fixed).map_err(Obstacle::Refused);
    let server = Server {
        function,
        fixed,
        in_recovery: reservation::refuse_in_recovery().is_err(),
        now: clock::unix_ms(),
        outlook: by_itself(look, |message| Err(Obstacle::Raised(message))),
    };
    let evaluate = |row: Evaluate| by_itself(|| row(&server), Finding::failed);
    let mut rows: Vec<_> = ROWS.iter().map(|(name, row)| (*name, evaluate(*row))).collect();
    rows.push(("issues IDs", server.verdict(&rows)));
    let bytes = |text: String| encode(&text).into_bytes();
    TableIterator::new(rows.into_iter().map(move |(name, found)| {
        let ok = found.state == State::Well;
        (name.to_owned(), ok, bytes(found.detail), found.hint.map(bytes))
    }))
}

/// A text in the database's encoding, which might not be UTF-8.
type Bytes = Vec<u8>;

/// What was found of something that is checked.
struct Finding {
    state: State,
    detail: String,
    hint: Option<String>,
}

/// Whether it is well.
#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    Well,
    /// IDs are issued, but an operator should do something about it.
    Doubtful,
    /// No ID is issued.
    Blocking,
}

impl Finding {
    fn well(detail: impl Into<String>) -> Finding {
        Finding { state: State::Well, detail: detail.into(), hint: None }
    }

    fn doubtful(detail: impl Into<String>, hint: &str) -> Finding {
        Finding { state: State::Doubtful, detail: detail.into(), hint: Some(hint.to_owned()) }
    }

    /// What the next ID would raise.
    fn blocking(error: ErrorReport) -> Finding {
        let message = sentence(error.message());
        let detail = match error.detail() {
            Some(detail) => format!("{message} {detail}"),
            None => message,
        };
        Finding { state: State::Blocking, detail, hint: error.hint().map(str::to_owned) }
    }

    /// It is not known, because of an error with this message.
    fn failed(message: String) -> Finding {
        let detail = format!("Not checked, because of an error: {message}.");
        Finding { state: State::Doubtful, detail, hint: None }
    }
}

/// A message of an error as a sentence.
fn sentence(message: &str) -> String {
    let mut sentence = format!("{message}.");
    // A sentence keeps the name of a setting or of the library as it is, also at its beginning.
    let is_name = message.split(' ').next().is_some_and(|word| word.contains(['.', '_']));
    if let Some(first) = sentence.get_mut(..1).filter(|_| !is_name) {
        first.make_ascii_uppercase();
    }
    sentence
}

/// The server that is checked.
struct Server {
    /// The function that was called.
    function: pg_sys::Oid,
    fixed: &'static Fixed,
    in_recovery: bool,
    /// Its clock.
    now: i64,
    /// What the next ID would find.
    outlook: Result<Outlook, Obstacle>,
}

/// Why it is not known what the next ID would find.
enum Obstacle {
    /// It would be refused.
    Refused(promise::Error),
    /// An error with this message is raised.
    Raised(String),
}

impl Server {
    fn verdict(&self, rows: &[(&str, Finding)]) -> Finding {
        let blocking: Vec<_> = rows
            .iter()
            .filter(|(_, found)| found.state == State::Blocking)
            .map(|(name, _)| *name)
            .collect();
        if blocking.is_empty() {
            return Finding::well(match self.in_recovery {
                true => "This standby would issue IDs if it were promoted now.",
                false => "This server issues IDs.",
            });
        }
        let detail = format!(
            "This {}, because of: {}.",
            match self.in_recovery {
                true => "standby would issue no ID if it were promoted now",
                false => "server issues no ID",
            },
            blocking.join(", ")
        );
        Finding { state: State::Blocking, detail, hint: None }
    }
}

/// Whether this role may read a view of the catalog. Some servers do not let everybody.
fn may_read(view: &str) -> bool {
    holds(&format!("has_table_privilege('pg_catalog.{view}', 'SELECT')"))
}

fn holds(condition: &str) -> bool {
    catalog::query(&format!("SELECT {condition}"), &[])[0][0].as_deref() == Some("t")
}
