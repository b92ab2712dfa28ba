//! Settings that are fixed when the server starts.

use std::sync::OnceLock;

use snowflake_core::layout::{Ids, Layout};
use snowflake_core::time::Timestamp;

use super::condition::Named;
use super::error;
use crate::pg::report::ErrorReport;

/// The two numbers that identify a server in its IDs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Identity {
    /// The datacenter.
    pub datacenter_id: u32,
    /// The worker.
    pub worker_id: u32,
}

/// Settings that do not change while the server runs.
pub struct Fixed {
    /// Widths and epoch.
    pub layout: Layout,
    /// This server's datacenter and worker ID; `None` unless both are set, what
    /// `snowflake.identity_requires` says holds, and the name of the server has the number that
    /// `snowflake.worker_id_from` looks for.
    pub identity: Option<Identity>,
    /// True if `snowflake.identity_requires` is set.
    pub is_conditional: bool,
    /// The result of `snowflake.worker_id_from`, if it is set.
    pub named: Option<Named>,
    /// The reason for which there is no identity, although both numbers are looked for.
    pub refusal: Option<ErrorReport>,
    /// True if the server loaded the library when it started, so that there is a generator.
    pub preloaded: bool,
    /// The largest sequence.
    pub last_sequence: u32,
    /// This server's IDs.
    pub ids: Ids,
    /// Every start begins above this time.
    pub start_after: Option<Timestamp>,
}

impl Fixed {
    /// This server's identity, for what needs one: 55000 if there is none.
    pub fn require_identity(&self) -> Result<Identity, ErrorReport> {
        self.identity.ok_or_else(|| self.no_identity())
    }

    /// Returns the reason for which there is none.
    pub fn no_identity(&self) -> ErrorReport {
        self.refusal.clone().unwrap_or_else(error::no_identity)
    }
}

/// Set when the library is loaded.
pub(super) static FIXED: OnceLock<Fixed> = OnceLock::new();

/// Layout and identity.
#[inline(always)]
pub fn fixed() -> &'static Fixed {
    FIXED.get().expect("set when the library was loaded")
}

/// Layout and identity, for what needs the generator: 55000 unless the library was preloaded.
pub fn require_preloading() -> Result<&'static Fixed, ErrorReport> {
    let fixed = fixed();
    if fixed.preloaded { Ok(fixed) } else { Err(error::not_preloaded()) }
}
