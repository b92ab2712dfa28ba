//! Why a column is not converted or reverted, where PostgreSQL itself would not refuse it.

use pgrx::pg_sys::panic::ErrorReport;
use pgrx::prelude::*;

use crate::server::report::{self, Report};

/// Why a column is not converted or reverted.
#[derive(Debug)]
pub struct Refusal {
    sqlstate: PgSqlErrorCode,
    message: String,
    detail: Option<String>,
    hint: Option<String>,
}

impl Refusal {
    pub fn new(sqlstate: PgSqlErrorCode, message: impl Into<String>) -> Refusal {
        Refusal { sqlstate, message: message.into(), detail: None, hint: None }
    }

    pub fn detail(self, detail: impl Into<String>) -> Refusal {
        Refusal { detail: Some(detail.into()), ..self }
    }

    pub fn hint(self, hint: impl Into<String>) -> Refusal {
        Refusal { hint: Some(hint.into()), ..self }
    }

    /// Another session has changed something since it was looked at.
    pub fn changed(what: impl Into<String>) -> Refusal {
        use PgSqlErrorCode::ERRCODE_T_R_SERIALIZATION_FAILURE;
        Refusal::new(
            ERRCODE_T_R_SERIALIZATION_FAILURE,
            "tables of the conversion were changed meanwhile",
        )
        .detail(what)
        .hint("Try again.")
    }

    /// In one line, for a notice.
    pub fn sentences(&self) -> String {
        report::sentences(&self.message, self.detail.as_deref())
    }
}

impl Report for Refusal {
    fn report(self) -> ErrorReport {
        let mut report = report::new(self.sqlstate, self.message);
        if let Some(detail) = self.detail {
            report = report.set_detail(detail);
        }
        if let Some(hint) = self.hint {
            report = report.set_hint(hint);
        }
        report
    }
}
