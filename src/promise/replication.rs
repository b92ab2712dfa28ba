//! Synchronous replication: an ID that a committed transaction returned does not come back after a
//! failover, even if no row was written.
//!
//! PostgreSQL does the same for a sequence. Its `nextval()` takes a transaction ID when it writes
//! WAL, so that the commit waits for the synchronous standbys as `synchronous_commit` says. Here,
//! the WAL is the reservation, which another session may have written, and earlier. So it is known
//! up to where the standbys have the WAL, and only an ID from a reservation beyond that makes its
//! commit wait.
//!
//! A parallel query cannot take a transaction ID. What it is given while a reservation is not
//! acknowledged may come back after a failover, unless its transaction has an ID already.

use pgrx::prelude::*;

use super::register::Lsn;
use crate::generator::shared;

/// Set in a build that only shows that the tests notice.
const WITHOUT_ACKNOWLEDGEMENT: bool = cfg!(feature = "test_without_acknowledgement");

/// Up to where the synchronous standbys have the WAL on disk; everything, where there are none.
pub fn acknowledged() -> Lsn {
    // SAFETY: variables of this process, and memory that all processes of the server share: 64 bits
    // that are written at once, and that only grow. It is there before any session is.
    unsafe {
        if WITHOUT_ACKNOWLEDGEMENT || pg_sys::max_wal_senders == 0 || !has_synchronous_standbys() {
            return Lsn::MAX;
        }
        let positions = &raw const (*pg_sys::WalSndCtl).lsn;
        positions.cast::<Lsn>().add(pg_sys::SYNC_REP_WAIT_FLUSH as usize).read_volatile()
    }
}

/// Whether `synchronous_standby_names` names any.
pub fn has_synchronous_standbys() -> bool {
    // SAFETY: a string of this process, or NULL.
    unsafe {
        let names = pg_sys::SyncRepStandbyNames;
        !names.is_null() && *names != 0
    }
}

/// Whether the synchronous standbys have everything that the generator may use.
pub fn have_the_floor() -> bool {
    shared::acknowledge(acknowledged()).is_ok()
}

/// Makes the commit of this transaction wait for the synchronous standbys, unless they have what
/// was reserved by now. No lock is held.
pub fn let_commit_wait() {
    let Err(lsn) = shared::acknowledge(acknowledged()) else { return };
    // SAFETY: in a transaction, whose commit waits if it has an ID and depends on WAL.
    unsafe {
        if pg_sys::IsInParallelMode() {
            return;
        }
        pg_sys::GetTopTransactionId();
        pg_sys::XactLastRecEnd = pg_sys::XactLastRecEnd.max(lsn);
    }
}
