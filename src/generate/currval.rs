//! The ID that a session was given last. As with `currval()`, `DISCARD ALL` and `DISCARD SEQUENCES`
//! forget it: a pooler runs them before it gives a connection to another client.

use std::sync::atomic::{AtomicI64, Ordering::Relaxed};

use crate::pg::report::{self, ErrorReport, Report};
use pgrx::prelude::*;

/// The last ID that this session was given, or [`NONE`]. Memory of one process.
static LAST: AtomicI64 = AtomicI64::new(NONE);
const NONE: i64 = -1;

/// The value of [`LAST`] when it was forgotten. [`LAST`] itself keeps its value, because [`mark`]
/// has to differ only after an ID was taken.
static FORGOTTEN: AtomicI64 = AtomicI64::new(NONE);

/// Keeps the ID.
#[inline(always)]
pub fn issued(id: i64) -> i64 {
    LAST.store(id, Relaxed);
    id
}

/// The ID that this session was given last. 55000 before the first, and after `DISCARD ALL` or
/// `DISCARD SEQUENCES`.
#[pg_extern(volatile, parallel_restricted)]
fn snowflake_currval() -> i64 {
    last().unwrap_or_else(|| NoCurrval.raise())
}

/// The ID that this session was given last; `None` before the first, and after it was forgotten.
pub fn last() -> Option<i64> {
    Some(LAST.load(Relaxed)).filter(|id| *id != FORGOTTEN.load(Relaxed))
}

/// A number that is another one after this session has taken an ID, and that `DISCARD` does not
/// change.
pub fn mark() -> i64 {
    LAST.load(Relaxed)
}

/// Forgets the last ID.
pub fn forget() {
    FORGOTTEN.store(LAST.load(Relaxed), Relaxed);
}

struct NoCurrval;

impl Report for NoCurrval {
    fn report(self) -> ErrorReport {
        report::new(
            PgSqlErrorCode::ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE,
            "snowflake_currval is not yet defined in this session",
        )
        .set_hint("Call snowflake_nextval() first.")
    }
}
