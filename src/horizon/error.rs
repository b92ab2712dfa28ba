//! Reasons for which there is no horizon.

use super::holders::Prepared;
use crate::pg::report::{self, ErrorReport};

#[track_caller]
fn unknown(why: &str) -> ErrorReport {
    report::not_ready(format!("the horizon of snowflake IDs is not known {why}"))
}

/// Smaller IDs might follow.
pub fn reuse() -> ErrorReport {
    unknown("while snowflake.reuse_window is on")
        .set_detail("After a step back of the clock, smaller IDs can follow.")
        .set_hint("Set snowflake.reuse_window to 0 and reload the server.")
}

/// These transactions were prepared before the server started.
pub fn prepared(all: &[Prepared]) -> ErrorReport {
    let places: Vec<_> = all.iter().map(|one| one.place.as_str()).collect();
    let ends: Vec<_> = all.iter().map(|one| one.end.as_str()).collect();
    unknown("while transactions are prepared that the server has not seen prepared")
        .set_detail(format!(
            "Nobody knows which IDs they have taken, because they were prepared before the server \
             started, or while it was a standby: {}.",
            places.join("; ")
        ))
        .set_hint(format!(
            "Commit them, or roll them back, each in its database: {}.",
            ends.join("; ")
        ))
}

/// A transaction that the snapshot does not see has no place any more.
pub fn too_old() -> ErrorReport {
    unknown("to a snapshot that is this old")
        .set_detail(
            "Since the snapshot was taken, more transactions have committed than the server \
             remembers.",
        )
        .set_hint("Begin a new transaction.")
}

/// The snapshot is from before the promotion.
pub fn snapshot_of_standby() -> ErrorReport {
    unknown("to a snapshot from before the promotion").set_hint("Begin a new transaction.")
}

/// The snapshot is not that of a query.
pub fn other_snapshot() -> ErrorReport {
    unknown("to this kind of snapshot")
}
