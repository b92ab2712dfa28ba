//! Why a column cannot be converted or reverted.

use pgrx::pg_sys::panic::ErrorReport;
use pgrx::prelude::*;
use snowflake_server::report::{self, Report};

/// Why a column cannot be converted or reverted.
#[derive(Debug)]
pub struct Obstacle {
    pub sqlstate: PgSqlErrorCode,
    /// What it is about, for a report.
    pub object: String,
    pub message: String,
    pub detail: Option<String>,
    pub hint: Option<String>,
}

impl Obstacle {
    /// Somebody may not do that.
    pub fn denied(message: String) -> Obstacle {
        Obstacle {
            sqlstate: PgSqlErrorCode::ERRCODE_INSUFFICIENT_PRIVILEGE,
            object: String::new(),
            message,
            detail: None,
            hint: None,
        }
    }

    /// There is no such role.
    pub fn no_role(role: pg_sys::Oid) -> Obstacle {
        Obstacle {
            sqlstate: PgSqlErrorCode::ERRCODE_UNDEFINED_OBJECT,
            object: String::new(),
            message: format!("role with OID {} does not exist", role.to_u32()),
            detail: None,
            hint: None,
        }
    }

    /// Something was changed since the statements were made.
    pub fn changed(what: &str) -> Obstacle {
        Obstacle {
            sqlstate: PgSqlErrorCode::ERRCODE_T_R_SERIALIZATION_FAILURE,
            object: what.into(),
            message: format!("{what} was changed during the conversion"),
            detail: None,
            hint: Some(
                "Try again. If the error recurs, look for code of the owner that renames objects."
                    .into(),
            ),
        }
    }
}

impl Report for Obstacle {
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

/// An argument that makes no sense.
pub fn wrong_argument(message: String, hint: &str) -> Obstacle {
    Obstacle {
        sqlstate: PgSqlErrorCode::ERRCODE_INVALID_PARAMETER_VALUE,
        object: String::new(),
        message,
        detail: None,
        hint: Some(hint.into()),
    }
}
