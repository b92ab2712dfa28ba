//! Reasons for which there is no horizon.

use super::holders::Prepared;
use crate::pg::report::{self, ErrorReport, Report, wraps};
use crate::promise;

/// Reasons for which there is no horizon.
#[derive(Debug)]
pub enum Error {
    /// There is no generator.
    Promise(promise::Error),
    /// Smaller IDs might follow.
    Reuse,
    /// These transactions were prepared before the server started.
    Prepared(Vec<Prepared>),
    /// A transaction that the snapshot does not see has no place any more.
    TooOld,
    /// The snapshot is from before the promotion.
    SnapshotOfStandby,
    /// It is not that of a query.
    OtherSnapshot,
}

wraps!(Promise(promise::Error));

impl Report for Error {
    fn report(self) -> ErrorReport {
        let unknown = |why: &str| {
            report::not_ready(format!("the horizon of snowflake IDs is not known {why}"))
        };
        match self {
            Error::Promise(error) => error.report(),
            Error::Reuse => unknown("while snowflake.reuse_window is on")
                .set_detail("After a step back of the clock, smaller IDs can follow.")
                .set_hint("Set snowflake.reuse_window to 0 and reload the server."),
            Error::Prepared(all) => {
                let places: Vec<_> = all.iter().map(|one| one.place.as_str()).collect();
                let ends: Vec<_> = all.iter().map(|one| one.end.as_str()).collect();
                unknown("while transactions are prepared that the server has not seen prepared")
                    .set_detail(format!(
                        "Nobody knows which IDs they have taken, because they were prepared before \
                         the server started, or while it was a standby: {}.",
                        places.join("; ")
                    ))
                    .set_hint(format!(
                        "Commit them, or roll them back, each in its database: {}.",
                        ends.join("; ")
                    ))
            }
            Error::TooOld => unknown("to a snapshot that is this old")
                .set_detail(
                    "Since the snapshot was taken, more transactions have committed than the \
                     server remembers.",
                )
                .set_hint("Begin a new transaction."),
            Error::SnapshotOfStandby => unknown("to a snapshot from before the promotion")
                .set_hint("Begin a new transaction."),
            Error::OtherSnapshot => unknown("to this kind of snapshot"),
        }
    }
}
