//! Which layout IDs are decoded by: the server's, or one that a call names.

use std::sync::atomic::Ordering::{Acquire, Relaxed};
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64};

use crate::pg::library_function::LibraryFunction;
use crate::pg::report::{ErrorReport, Report};
use crate::pg::time::{ceil_ms, floor_ms};
use crate::pg::{in_recovery, spi};
use pgrx::datum::TimestampWithTimeZone;
use pgrx::pg_sys;
use snowflake_core::layout::{Layout, Widths};
use snowflake_core::promise::Refusal;
use snowflake_core::time::Timestamp;

use super::error;
use crate::promise::{self, register};
use crate::settings;

/// The server's layout. It is first compared with the register's, so that no ID is decoded or
/// indexed under a layout that it was not issued under.
#[inline(always)]
pub fn layout() -> Result<Layout, ErrorReport> {
    if !COMPARED.load(Relaxed) {
        compare_layouts()?;
    }
    Ok(settings::fixed().layout)
}

/// The server's layout, if this session has compared it for good.
#[inline(always)]
pub fn known_layout() -> Option<Layout> {
    COMPARED.load(Relaxed).then(|| settings::fixed().layout)
}

/// True if this session has compared the layouts for good. Memory of one process.
static COMPARED: AtomicBool = AtomicBool::new(false);

/// On a standby, what the layouts were compared for last: a statement of the client's, and how many
/// transactions had ended.
static COMPARED_FOR: (AtomicI64, AtomicU64) = (AtomicI64::new(0), AtomicU64::new(u64::MAX));

/// On a primary, one comparison is enough: a register that accepts the server's layout continues to
/// do so, and at most accepts another one, too. As long as it accepts two, all IDs are of the
/// former layout, and a superuser who has confirmed the other one wants them decoded under that. A
/// standby might receive any layout at any time, but rows with IDs of that layout become visible
/// only when a later transaction has ended.
#[cold]
#[inline(never)]
fn compare_layouts() -> Result<(), ErrorReport> {
    let in_recovery = in_recovery();
    // SAFETY: a variable of this process.
    let statement = unsafe { pg_sys::GetCurrentStatementStartTimestamp() };
    let ended = transactions_ended();
    if in_recovery
        && COMPARED_FOR.0.load(Relaxed) == statement
        && COMPARED_FOR.1.load(Relaxed) == ended
    {
        return Ok(());
    }
    // Where the register cannot be read, nothing is issued, and IDs from before stay readable.
    if let Ok(Some(record)) = register::read()
        && !record.accepts(settings::fixed().layout)
    {
        let recorded = record.layout;
        let refusal = Refusal::OtherLayout { recorded, floor: record.floor };
        return Err(promise::Error::from(refusal).report());
    }
    COMPARED.store(!in_recovery, Relaxed);
    COMPARED_FOR.0.store(statement, Relaxed);
    COMPARED_FOR.1.store(ended, Relaxed);
    Ok(())
}

/// Returns the number of transactions that have ended since the server started, by which PostgreSQL
/// tells whether a snapshot is still good. Later reads are not older than the count.
fn transactions_ended() -> u64 {
    // SAFETY: points to shared memory of the server. Another process might count up meanwhile; an
    // aligned number of 64 bits is never seen half-written.
    unsafe {
        #[cfg(any(feature = "pg15", feature = "pg16"))]
        let transactions = pg_sys::ShmemVariableCache;
        #[cfg(not(any(feature = "pg15", feature = "pg16")))]
        let transactions = pg_sys::TransamVariables;
        AtomicU64::from_ptr(&raw mut (*transactions).xactCompletionCount).load(Acquire)
    }
}

/// The objects of this database that store results which depend on the layout, as a list; `None`
/// where there are none. They are indexes, generated columns, checks and partition keys. The base
/// 62 form of an ID does not depend on the layout, nor does a call that names the epoch.
/// `snowflake_within()` is in SQL, and a member of the same extension.
pub fn stored_results() -> Option<String> {
    const STORED_RESULTS: &str = "
        SELECT string_agg(found, ', ' ORDER BY found)
        FROM (
            SELECT DISTINCT pg_describe_object(d.classid, d.objid, d.objsubid)
            FROM pg_depend AS own
            JOIN pg_depend AS member USING (refclassid, refobjid, deptype)
            JOIN pg_proc AS p ON p.oid = member.objid
            JOIN pg_depend AS d ON d.refclassid = 'pg_proc'::regclass AND d.refobjid = p.oid
            WHERE own.classid = 'pg_proc'::regclass AND own.objid = $1 AND own.deptype = 'e'
              AND member.classid = 'pg_proc'::regclass
              AND p.provolatile = 'i' AND p.proname !~ '_base62$'
              AND NOT coalesce('epoch' = ANY (p.proargnames), false)
              AND d.classid IN ('pg_class'::regclass, 'pg_attrdef'::regclass,
                                'pg_constraint'::regclass)
        ) AS results (found)";
    spi::query(STORED_RESULTS, &[LibraryFunction::argument("snowflake_nextval")]).swap_remove(0)
}

/// The layout that a call names. 22023 when it is not valid.
pub fn given_layout(
    epoch: TimestampWithTimeZone,
    datacenter: i32,
    worker: i32,
    sequence: i32,
) -> Result<Layout, ErrorReport> {
    let layout = || {
        if matches!(epoch.into_inner(), i64::MIN | i64::MAX) {
            return Err("the epoch is not finite".to_owned());
        }
        if floor_ms(epoch) != ceil_ms(epoch) {
            return Err("the epoch is not a whole number of milliseconds".to_owned());
        }
        let width = |bits: i32| {
            u32::try_from(bits).map_err(|_| format!("a width of {bits} bits is negative"))
        };
        let widths = Widths {
            datacenter: width(datacenter)?,
            worker: width(worker)?,
            sequence: width(sequence)?,
        };
        Layout::new(floor_ms(epoch), widths).map_err(|error| error.to_string())
    };
    layout().map_err(error::wrong_layout)
}

/// The millisecond that a timestamptz is in. 22003 when the layout's
/// timestamp field does not hold it.
pub fn timestamp_in(layout: Layout, ts: TimestampWithTimeZone) -> Result<Timestamp, ErrorReport> {
    let timestamp = floor_ms(ts);
    if (layout.epoch()..=layout.last_timestamp()).contains(&timestamp) {
        return Ok(timestamp);
    }
    Err(error::wrong_time(ts.into_inner(), &layout))
}
