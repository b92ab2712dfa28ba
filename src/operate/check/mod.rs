//! `snowflake_check()`: whether this server issues IDs, or would if it were promoted now, and what
//! an operator should know.
//!
//! Each row of [`ROWS`] is evaluated by itself: an error in one is that row's finding, and hides no
//! other row.
//!
//! - `facts`: the facts by which rows are judged.
//! - `finding`: their findings.
//! - `guards`: guards of the extension's tables.
//! - `horizon`: transactions that hold back the horizon.
//! - `rights`: the privileges of the role that checks.
//! - `version`: the releases of the library, its files and the extension.
//! - `own`: the configuration of this server, and its next ID.
//! - `origin`: the origin of its identity, and other servers that might have it.
//! - `clocks`: the clocks of this and other servers.
//! - `others`: everything else about other servers.
//! - `adoption`: keys in adopted schemas.

mod adoption;
mod clocks;
mod facts;
mod finding;
mod guards;
mod horizon;
mod origin;
mod others;
mod own;
mod rights;
mod version;

use crate::pg::encoding::encode;
use crate::pg::subtransaction::by_itself;
use pgrx::prelude::*;

use facts::Facts;
use finding::{Finding, State};

/// Evaluates a row. It may query the catalog, and might raise an error.
type Evaluate = fn(&Facts) -> Finding;

/// The checks, in the order of the rows. The verdict follows.
const ROWS: [(&str, Evaluate); 21] = [
    ("preloading", own::preloading),
    ("version", version::version),
    ("identity", own::identity),
    ("origin of the identity", origin::of_identity),
    ("restored copy", origin::restored_copy),
    ("claims", origin::claims),
    ("register", own::register),
    ("layout", own::layout),
    ("layout of the database", own::layout_of_database),
    ("guards", guards::guards),
    ("lead", own::lead),
    ("clock", clocks::clock),
    ("clocks of standbys", clocks::of_standbys),
    ("synchronous standbys", others::synchronous_standbys),
    ("observation", own::observation),
    ("horizon", horizon::horizon),
    ("timestamp field", own::timestamp_field),
    ("public IDs", own::public_ids),
    ("twins", others::twins),
    ("subscriptions", others::subscriptions),
    ("adoption", adoption::adoption),
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
    let facts = Facts::of_now(function);
    let evaluate = |row: Evaluate| by_itself(|| row(&facts), Finding::failed);
    let mut rows: Vec<_> = ROWS.iter().map(|(name, row)| (*name, evaluate(*row))).collect();
    rows.push(("issues IDs", verdict(facts.in_recovery, &rows)));
    let bytes = |text: String| encode(&text).into_bytes();
    TableIterator::new(rows.into_iter().map(move |(name, found)| {
        let ok = found.state == State::Well;
        (name.to_owned(), ok, bytes(found.detail), found.hint.map(bytes))
    }))
}

/// A text in the database's encoding, which might not be UTF-8.
type Bytes = Vec<u8>;

/// Judges whether IDs are issued, and if not, because of which rows.
fn verdict(in_recovery: bool, rows: &[(&str, Finding)]) -> Finding {
    let blocking: Vec<_> = rows
        .iter()
        .filter(|(_, found)| found.state == State::Blocking)
        .map(|(name, _)| *name)
        .collect();
    if blocking.is_empty() {
        return Finding::well(match in_recovery {
            true => "This standby would issue IDs if it were promoted now.",
            false => "This server issues IDs.",
        });
    }
    let detail = format!(
        "This {}, because of: {}.",
        match in_recovery {
            true => "standby would issue no ID if it were promoted now",
            false => "server issues no ID",
        },
        blocking.join(", ")
    );
    Finding { state: State::Blocking, detail, hint: None }
}
