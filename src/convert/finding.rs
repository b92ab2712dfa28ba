//! A row of the report of a conversion.

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
        let mut reason = message;
        // A message begins with a small letter, and ends without a period.
        if let Some(first) = reason.get(..1) {
            reason = first.to_uppercase() + &reason[1..];
        }
        reason.push('.');
        if let Some(detail) = detail {
            reason = format!("{reason} {detail}");
        }
        Finding { kind: kind.into(), object, reason, remedy, rewritten: None, lock: None }
    }
}
