//! What is found of something that is checked.

use crate::pg::report::{self, ErrorReport};

/// What was found of something that is checked.
pub struct Finding {
    /// Whether it is well.
    pub state: State,
    /// What is known of it.
    pub detail: String,
    /// What to do.
    pub hint: Option<String>,
}

/// Whether it is well.
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

    /// What it takes to check it was not found.
    pub fn unknown() -> Finding {
        Finding::well("Not checked: see the other rows.")
    }

    /// Somebody should see to it.
    pub fn doubtful(detail: impl Into<String>, hint: &str) -> Finding {
        Finding { state: State::Doubtful, detail: detail.into(), hint: Some(hint.to_owned()) }
    }

    /// What the next ID would raise.
    pub fn blocking(error: ErrorReport) -> Finding {
        let detail = report::sentences(error.message(), error.detail());
        Finding { state: State::Blocking, detail, hint: error.hint().map(str::to_owned) }
    }

    /// It is not known, because of an error with this message.
    pub fn failed(message: String) -> Finding {
        let detail = format!("Not checked, because of an error: {message}.");
        Finding { state: State::Doubtful, detail, hint: None }
    }
}
