//! Which rows with this server's identity are a twin's. It is decided when their transaction
//! commits: an apply worker learns at the end of a transaction when its publisher committed it, and
//! PostgreSQL keeps that time for the commit record.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};

use pgrx::{PgXactCallbackEvent, register_xact_callback};

use super::error::{Error, Twin};
use super::origin;
use crate::clock;
use crate::generator::shared;
use crate::server::report::{self, OrRaise};
use crate::settings;

/// The most IDs that are kept, which take some tens of megabytes. Beyond it, the smallest are
/// dropped, because they are the oldest, and the least likely to be a twin's.
const MOST: usize = 1 << 20;

// Memory of one process.
thread_local! {
    /// The IDs with this server's identity whose rows this session has deleted, as a replica. They
    /// outlive the transaction: a row might be deleted by one and inserted again by the next. One
    /// that was rolled back does no harm, because the row is still there, and its key with it.
    static DELETED: RefCell<BTreeSet<i64>> = const { RefCell::new(BTreeSet::new()) };
    /// What the current transaction has inserted that might be a twin's. Rows that a subtransaction
    /// has rolled back stay in it, because they are as good a sign of a twin.
    static SUSPECTS: RefCell<BTreeMap<Row, Suspect>> = const { RefCell::new(BTreeMap::new()) };
}

/// An ID, and the table that it was inserted into.
type Row = (i64, u32);

/// What a row is judged by.
pub struct Suspect {
    /// The time of the ID, Unix ms.
    pub timestamp: i64,
    /// For how long after its time a twin would commit the ID, ms.
    pub fresh_for: i64,
    /// Whether a twin's row is an error.
    pub refuses: bool,
}

/// Keeps an ID whose row was deleted.
pub fn deleted(id: i64) {
    DELETED.with_borrow_mut(|deleted| {
        deleted.insert(id);
        if deleted.len() > MOST {
            deleted.pop_first();
        }
    });
}

/// Whether the row was deleted here before, so that it is not new to this server.
pub fn was_deleted(id: i64) -> bool {
    DELETED.with_borrow(|deleted| deleted.contains(&id))
}

/// Keeps a row until the transaction commits.
pub fn suspect(row: Row, suspect: Suspect) {
    use PgXactCallbackEvent::{Abort, PreCommit, PrePrepare};
    SUSPECTS.with_borrow_mut(|suspects| {
        if suspects.is_empty() {
            register_xact_callback(PreCommit, || judge().or_raise());
            register_xact_callback(PrePrepare, || judge().or_raise());
            register_xact_callback(Abort, || drop(SUSPECTS.take()));
        }
        suspects.insert(row, suspect);
        if suspects.len() > MOST {
            suspects.pop_first();
        }
    });
}

/// Counts and logs a twin's rows, or refuses the first of them.
fn judge() -> Result<(), Error> {
    // Nothing is suspected without an identity to share.
    let Some(own) = settings::fixed().identity else { return Ok(()) };
    let suspects = SUSPECTS.take();
    let committed = origin::committed();
    for ((id, table), Suspect { timestamp, fresh_for, refuses }) in suspects {
        if timestamp.saturating_add(fresh_for) < committed {
            continue;
        }
        let entry = shared::count_twin((!refuses).then(clock::boot_ms));
        let twin = || Twin::new(own, id, timestamp, committed, table.into());
        if refuses {
            origin::forget_progress();
            return Err(Error::Twin(twin()));
        }
        if let Some(count) = entry {
            report::log(twin().entry(count));
        }
    }
    Ok(())
}
