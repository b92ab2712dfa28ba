//! A row of the report of a conversion.

use snowflake_server::report;

use super::obstacle::Obstacle;

/// A row of the report.
pub struct Finding {
    /// `obstacle`, `risk` or `change`.
    pub kind: String,
    pub object: String,
    pub reason: String,
    /// What to do.
    pub remedy: Option<String>,
    /// The size of what is rewritten.
    pub rewritten: Option<i64>,
    pub lock: Option<String>,
}

impl Finding {
    /// An obstacle as a row of this kind.
    pub fn of(kind: &str, obstacle: Obstacle) -> Finding {
        let Obstacle { object, message, detail, hint: remedy, .. } = obstacle;
        let reason = report::sentences(&message, detail.as_deref());
        Finding { kind: kind.into(), object, reason, remedy, rewritten: None, lock: None }
    }
}
