//! Where the rows of this session come from.

use std::ffi::CStr;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering::Relaxed};

use crate::pg::encoding::decode;
use crate::pg::{spi, time};
use pgrx::prelude::*;
use snowflake_core::time::Timestamp;

use crate::generator::clock;

/// The transaction that this session replays: origin, position and time, in variables that
/// PostgreSQL 19 made one.
struct Replay {
    origin: *mut u16,
    position: *mut pg_sys::XLogRecPtr,
    committed: *mut pg_sys::TimestampTz,
}

#[cfg(not(feature = "pg19"))]
fn replay() -> Replay {
    Replay {
        origin: &raw mut pg_sys::replorigin_session_origin,
        position: &raw mut pg_sys::replorigin_session_origin_lsn,
        committed: &raw mut pg_sys::replorigin_session_origin_timestamp,
    }
}

#[cfg(feature = "pg19")]
fn replay() -> Replay {
    // SAFETY: addresses of parts of a variable.
    unsafe {
        Replay {
            origin: &raw mut pg_sys::replorigin_xact_state.origin,
            position: &raw mut pg_sys::replorigin_xact_state.origin_lsn,
            committed: &raw mut pg_sys::replorigin_xact_state.origin_timestamp,
        }
    }
}

/// Returns whether this session replays transactions of another server, as apply workers do, and
/// other programs that use replication origins. Setting `session_replication_role` alone is no
/// replay.
pub fn is_replayed() -> bool {
    const NONE: u16 = 0;
    // SAFETY: reads a variable of this process.
    unsafe { *replay().origin != NONE }
}

/// When the transaction that is replayed was committed. It is known when this one commits. Not
/// every program says it; it was not later than now then.
pub fn committed() -> Timestamp {
    // SAFETY: reads a variable of this process.
    match unsafe { *replay().committed } {
        0 => clock::now(),
        said => time::from_timestamptz(said),
    }
}

/// Lets an error at the commit of a replayed transaction leave the origin where it was, as
/// `pg_replication_origin_xact_reset()` does. An apply worker might disable its subscription after
/// an error, and not every version of PostgreSQL forgets the position first: that commit would take
/// it along, and the refused transaction would never be sent again.
pub fn forget_progress() {
    // SAFETY: writes variables of this process.
    unsafe {
        *replay().position = pg_sys::InvalidXLogRecPtr.into();
        *replay().committed = 0;
    }
}

/// The subscription whose rows this session applies, if it is one that does. With the table that it
/// copies, if it copies one, and follows the publisher until all tables do.
fn applied() -> Option<(pg_sys::Oid, pg_sys::Oid)> {
    // SAFETY: a variable of this process: NULL, or the worker of logical replication that it is.
    let worker = unsafe { pg_sys::MyLogicalRepWorker.as_ref()? };
    Some((worker.subid, worker.relid))
}

/// Returns whether rows are those of the first copy of a table. It contains IDs that this server
/// issued itself. The copy is one transaction, so it is looked up once for each.
pub fn is_first_copy() -> bool {
    /// The start of the transaction that was looked up last, and whether it copies. Memory of one
    /// process.
    static LOOKED_UP: (AtomicI64, AtomicBool) = (AtomicI64::new(0), AtomicBool::new(false));
    const COPIES: &str = "SELECT FROM pg_subscription_rel AS r
        WHERE r.srsubid = $1 AND r.srrelid = $2 AND r.srsubstate = 'd'";
    let Some((subscription, table)) = applied() else { return false };
    if table == pg_sys::InvalidOid {
        return false;
    }
    // SAFETY: reads a variable of this process.
    let transaction = unsafe { pg_sys::GetCurrentTransactionStartTimestamp() };
    if LOOKED_UP.0.load(Relaxed) != transaction {
        let copies = spi::query::<()>(COPIES, &[spi::oid(subscription), spi::oid(table)]);
        LOOKED_UP.1.store(!copies.is_empty(), Relaxed);
        LOOKED_UP.0.store(transaction, Relaxed);
    }
    LOOKED_UP.1.load(Relaxed)
}

/// The name of the subscription, unless it was dropped. A query would need a privilege that the
/// owner of a table might lack.
pub fn subscription() -> Option<String> {
    let (subscription, _) = applied()?;
    // SAFETY: looks for a row by its OID. The result is a string, unless it is NULL.
    unsafe {
        let name = pg_sys::get_subscription_name(subscription, true);
        (!name.is_null()).then(|| decode(CStr::from_ptr(name)))
    }
}
