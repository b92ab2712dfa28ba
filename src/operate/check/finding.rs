//! The finding of a check.

use crate::pg::report::{self, ErrorReport};

/// The finding of a check.
pub struct Finding {
    /// The state.
    pub state: State,
    /// The detail.
    pub detail: String,
    /// The hint.
    pub hint: Option<String>,
}

/// The state.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum State {
    /// There is nothing to do.
    Well,
    /// IDs are issued, but an operator should do something about it.
    Doubtful,
    /// No ID is issued.
    Blocking,
}

impl Finding {
    /// It is well.
    pub fn well(detail: impl Into<String>) -> Finding {
        Finding { state: State::Well, detail: detail.into(), hint: None }
    }

    /// Something that the check needs was not found.
    pub fn unknown() -> Finding {
        Finding::well("Not checked: see the other rows.")
    }

    /// Somebody should see to it.
    pub fn doubtful(detail: impl Into<String>, hint: &str) -> Finding {
        Finding { state: State::Doubtful, detail: detail.into(), hint: Some(hint.to_owned()) }
    }

    /// The error that the next ID would raise.
    pub fn blocking(error: ErrorReport) -> Finding {
        let detail = report::sentences(&error.message, error.detail.as_deref());
        Finding { state: State::Blocking, detail, hint: error.hint }
    }

    /// It is not known, because of an error with this message.
    pub fn failed(message: String) -> Finding {
        let detail = format!("Not checked, because of an error: {message}.");
        Finding { state: State::Doubtful, detail, hint: None }
    }
}
