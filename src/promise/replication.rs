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

use std::ffi::CStr;
use std::sync::OnceLock;

use pgrx::prelude::*;

use super::register::Lsn;
use crate::generator::shared;

/// Set in a build that only shows that the tests notice.
const WITHOUT_ACKNOWLEDGEMENT: bool = cfg!(feature = "test_without_acknowledgement");

/// Up to where the synchronous standbys have the WAL on disk; everything, where there are none.
pub fn acknowledged() -> Lsn {
    if WITHOUT_ACKNOWLEDGEMENT || !has_synchronous_standbys() {
        return Lsn::MAX;
    }
    // SAFETY: memory that all processes of the server share, and that is there before any session
    // is: 64 bits that are written at once, and that only grow.
    unsafe { positions().add(pg_sys::SYNC_REP_WAIT_FLUSH as usize).read_volatile() }
}

/// Whether commits wait for standbys, as far as this session or the server knows. A statement that
/// runs for long goes on with an old `synchronous_standby_names`, and what it finds counts for all
/// sessions. So PostgreSQL keeps in shared memory what the checkpointer has seen; both have to say
/// that there are none.
pub fn has_synchronous_standbys() -> bool {
    // SAFETY: variables of this process, and a byte of the server's shared memory, right behind the
    // positions.
    unsafe {
        let names = pg_sys::SyncRepStandbyNames;
        let state = positions().add(pg_sys::NUM_SYNC_REP_WAIT_MODE as usize).cast::<u8>();
        let is_defined = state.read_volatile() & defined() != 0;
        pg_sys::max_wal_senders > 0 && (is_defined || (!names.is_null() && *names != 0))
    }
}

/// Up to where the synchronous standbys have the WAL, for each way of waiting.
fn positions() -> *const Lsn {
    // SAFETY: the server has set this up before any session is.
    unsafe { (&raw const (*pg_sys::WalSndCtl).lsn).cast() }
}

/// The bit that says that there are synchronous standbys. Before 15.13, 16.9 and 17.5, a `bool`
/// said it, and no bit that it had been set at all.
fn defined() -> u8 {
    static DEFINED: OnceLock<u8> = OnceLock::new();
    *DEFINED.get_or_init(|| {
        // SAFETY: a setting that is always there; the answer is read at once.
        let version = unsafe {
            CStr::from_ptr(pg_sys::GetConfigOption(c"server_version_num".as_ptr(), false, false))
        };
        let version: u32 = version.to_string_lossy().parse().unwrap_or_default();
        match (version / 10_000, version % 10_000) {
            (15, ..13) | (16, ..9) | (17, ..5) => 1,
            _ => 1 << 1,
        }
    })
}

/// Whether the synchronous standbys have everything that the generator may use.
pub fn have_the_floor() -> bool {
    shared::acknowledge(acknowledged()).is_ok()
}

/// Makes the commit of this transaction wait for the synchronous standbys, unless they have what
/// was reserved by now, or `synchronous_commit` says that it does not wait. No lock is held.
pub fn let_commit_wait() {
    let Err(lsn) = shared::acknowledge(acknowledged()) else { return };
    // SAFETY: in a transaction, whose commit waits if it has an ID and depends on WAL. What a
    // parallel worker depends on, its leader is told.
    unsafe {
        if pg_sys::synchronous_commit <= LOCAL_FLUSH {
            return;
        }
        pg_sys::XactLastRecEnd = pg_sys::XactLastRecEnd.max(lsn);
        if !pg_sys::IsInParallelMode() {
            pg_sys::GetTopTransactionId();
        }
    }
}

/// Makes the commit of this transaction wait for what it has written to the register itself. No
/// lock is held, and the query is not a parallel one.
pub fn let_commit_wait_for_own_wal() {
    if has_synchronous_standbys() {
        // SAFETY: in a transaction.
        unsafe { pg_sys::GetTopTransactionId() };
    }
}

/// The highest `synchronous_commit` with which a commit waits for no standby.
const LOCAL_FLUSH: i32 = pg_sys::SyncCommitLevel::SYNCHRONOUS_COMMIT_LOCAL_FLUSH as i32;
