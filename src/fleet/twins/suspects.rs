//! Which rows with this server's identity are a twin's. It is decided when their transaction
//! commits: an apply worker learns at the end of a transaction when its publisher committed it, and
//! PostgreSQL keeps that time for the commit record.

use std::collections::BTreeMap;

use crate::pg::memory::OfProcess;
use crate::pg::report::{self, ErrorReport, OrRaise};
use pgrx::{PgXactCallbackEvent, register_xact_callback};
use snowflake_core::time::{Span, Timestamp};

use super::error::Twin;
use super::origin;
use crate::generator::clock;
use crate::generator::shared;
use crate::settings;

/// The most rows that are kept, which take some tens of megabytes. Beyond it, those with the
/// smallest IDs are dropped, because they are the oldest, and the least likely to be a twin's.
const MOST: usize = 1 << 20;

/// Rows that the current transaction has inserted, and that might be a twin's. Rows that a
/// subtransaction has rolled back stay in it, because they are as good a sign of a twin.
static SUSPECTS: OfProcess<BTreeMap<Row, Suspect>> = OfProcess::new(BTreeMap::new());

/// An ID, and the table that it was inserted into.
type Row = (i64, u32);

/// Facts by which a row is judged.
pub struct Suspect {
    /// The time of the ID.
    pub timestamp: Timestamp,
    /// For how long after its time a twin would commit the ID.
    pub fresh_for: Span,
    /// True if a twin's row is an error.
    pub refuses: bool,
}

/// Keeps a row until the transaction commits.
pub fn keep(row: Row, suspect: Suspect) {
    use PgXactCallbackEvent::{Abort, PreCommit, PrePrepare};
    // They are not borrowed meanwhile: if the session ends here for want of memory, the callback
    // takes them.
    let mut suspects = SUSPECTS.take();
    if suspects.is_empty() {
        register_xact_callback(PreCommit, || find_twins().or_raise());
        register_xact_callback(PrePrepare, || find_twins().or_raise());
        register_xact_callback(Abort, || drop(SUSPECTS.take()));
    }
    suspects.insert(row, suspect);
    if suspects.len() > MOST {
        suspects.pop_first();
    }
    SUSPECTS.replace(suspects);
}

/// Counts and logs a twin's rows, or refuses the first of them.
fn find_twins() -> Result<(), ErrorReport> {
    // Nothing is suspected without an identity to share.
    let Some(own) = settings::fixed().identity else { return Ok(()) };
    let suspects = SUSPECTS.take();
    let committed = origin::committed();
    for ((id, table), Suspect { timestamp, fresh_for, refuses }) in suspects {
        if timestamp.saturating_add(fresh_for) < committed {
            continue;
        }
        let entry = shared::count_twin((!refuses).then(clock::since_boot));
        let twin = || Twin { own, id, timestamp, committed, table: table.into() };
        if refuses {
            origin::forget_progress();
            return Err(twin().refusal());
        }
        if let Some(count) = entry {
            report::log(twin().entry(count));
        }
    }
    Ok(())
}
