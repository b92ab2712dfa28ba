//! The facts by which rows are judged, found once for all of them.

use crate::pg::in_recovery;
use crate::pg::subtransaction::by_itself;
use pgrx::pg_sys;
use snowflake_core::time::Timestamp;

use crate::generator::clock;
use crate::promise;
use crate::promise::preview::{Preview, preview};
use crate::settings::{self, Fixed};

/// Facts about this server.
pub struct Facts {
    /// The function that was called.
    pub function: pg_sys::Oid,
    /// Layout and identity.
    pub fixed: &'static Fixed,
    /// True if it is a standby, or still recovers.
    pub in_recovery: bool,
    /// The clock.
    pub now: Timestamp,
    /// The preview of the next ID.
    pub preview: Result<Preview, NoPreview>,
}

/// Reasons for which there is no preview of the next ID.
pub enum NoPreview {
    /// It would be refused.
    Refused(promise::Error),
    /// An error with this message is raised.
    Raised(String),
}

impl Facts {
    /// Looks at everything.
    pub fn of_now(function: pg_sys::Oid) -> Facts {
        let fixed = settings::fixed();
        let look = || preview(fixed).map_err(NoPreview::Refused);
        Facts {
            function,
            fixed,
            in_recovery: in_recovery(),
            now: clock::now(),
            preview: by_itself(look, |message| Err(NoPreview::Raised(message))),
        }
    }
}
