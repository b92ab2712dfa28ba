//! A row of the report of a conversion.

use snowflake_server::report;
use snowflake_server::spi::Row;

use super::obstacle::Obstacle;
use super::rows::{Bytes, bytes, fields};

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

    /// A row of a query.
    pub fn of_row(row: Row) -> Finding {
        let [kind, object, reason, remedy, rewritten, lock] = fields(row);
        Finding {
            kind: kind.expect("a kind"),
            object: object.expect("an object"),
            reason: reason.expect("a reason"),
            remedy,
            rewritten: rewritten.map(|size| size.parse().expect("a bigint")),
            lock,
        }
    }

    /// The columns of a report, in the encoding of the database.
    #[allow(clippy::type_complexity)]
    pub fn into_row(self) -> (Bytes, Bytes, Bytes, Option<Bytes>, Option<i64>, Option<Bytes>) {
        let Finding { kind, object, reason, remedy, rewritten, lock } = self;
        let optional = |text: Option<String>| text.as_deref().map(bytes);
        (bytes(&kind), bytes(&object), bytes(&reason), optional(remedy), rewritten, optional(lock))
    }
}
