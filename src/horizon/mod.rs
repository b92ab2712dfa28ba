//! `snowflake_horizon()`: an ID up to which no row can still appear.
//!
//! - `error`: reasons for which there is none.
//! - `holders`: the transactions that hold it back.
//! - `transaction_end`: the end of a transaction, and synchronous replication.
//!
//! [`snowflake_core::horizon`] decides what to read, and in which order.

mod error;
pub mod holders;
pub mod transaction_end;

use std::cell::Cell;
use std::slice;
use std::sync::atomic::Ordering::{Acquire, Release};

use pgrx::prelude::*;
use snowflake_core::horizon::{Anonymous, Horizon, Memory, Place, Reader, Sizes, Snapshot, TooOld};
use snowflake_core::promise::Request;
use snowflake_core::time::{Span, Timestamp};

use crate::generator::horizon_slots::{self, Slot};
use crate::generator::shared;
use crate::pg::report::{ErrorReport, OrRaise};
use crate::promise::reservation;
use crate::settings::{self, Fixed};
use holders::Prepared;

/// An ID up to which every row is visible to the query, if its key was taken on this server in the
/// transaction that inserted it, or in one that ended after that one, as with postgres_fdw: no
/// transaction that the query's snapshot does not see has taken an ID up to it, and none will. The
/// same for all calls with one snapshot in one statement. 55000 without preloading or identity,
/// while `snowflake.reuse_window` is on, while a transaction is prepared that was prepared before
/// the server started, and if the snapshot is too old; 25006 on a standby.
#[pg_extern(stable, strict, parallel_restricted)]
fn snowflake_horizon() -> i64 {
    horizon().or_raise()
}

/// The horizon of the query's snapshot.
pub fn horizon() -> Result<i64, ErrorReport> {
    let fixed = settings::require_preloading()?;
    reservation::refuse_in_recovery("return the horizon of snowflake IDs")?;
    let (key, snapshot) = snapshot()?;
    if let Some((known, horizon)) = KNOWN.get()
        && known == key
    {
        return Ok(horizon);
    }
    if shared::promised().is_none() {
        // Nothing was issued since the server started: the horizon is where IDs begin.
        reservation::reserve(
            fixed,
            Request::Reserve { timestamp: Timestamp(i64::MIN), lead: Span::ZERO },
        )?;
    }
    if settings::REUSE_WINDOW.get() == 0 && shared::generator().reuses() {
        reservation::end_reuse()?;
    }
    refuse_unknown()?;
    let horizon = read(fixed, snapshot)?;
    KNOWN.set(Some((key, horizon)));
    Ok(horizon)
}

thread_local! {
    /// The horizon that was found last. A statement might ask once for each row, and has to get one
    /// answer: with a later one, it would return a row after others that it has left out.
    static KNOWN: Cell<Option<(Key, i64)>> = const { Cell::new(None) };
}

/// The key of a statement and its snapshot. Two snapshots that see the same transactions have the
/// same key.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Key {
    transactions: u64,
    statement: pg_sys::TimestampTz,
    first: u32,
    later: u32,
    running: usize,
}

/// The snapshot of the query, and its key.
fn snapshot() -> Result<(Key, Snapshot<&'static [u32]>), ErrorReport> {
    // SAFETY: PostgreSQL keeps the active snapshot while the query runs, which is longer than it is
    // used here. Its transaction IDs are plain integers. The rest reads a variable of this process.
    unsafe {
        // That of GetTransactionSnapshot() would change with the next query.
        if !pg_sys::ActiveSnapshotSet() {
            return Err(error::other_snapshot());
        }
        let snapshot = pg_sys::GetActiveSnapshot();
        let pg_sys::SnapshotData { snapshot_type, xmin, xmax, xip, xcnt, .. } = *snapshot;
        if snapshot_type != pg_sys::SnapshotType::SNAPSHOT_MVCC {
            return Err(error::other_snapshot());
        } else if (*snapshot).takenDuringRecovery {
            return Err(error::snapshot_of_standby());
        }
        let running = match xcnt {
            0 => &[][..],
            count => slice::from_raw_parts(xip.cast::<u32>(), count as usize),
        };
        let (first, later) = (xmin.into_inner(), xmax.into_inner());
        let key = Key {
            transactions: horizon_slots::ended(),
            statement: pg_sys::GetCurrentStatementStartTimestamp(),
            first,
            later,
            running: running.len(),
        };
        Ok((key, Snapshot { running, later }))
    }
}

/// Refuses while a smaller ID might follow, and while nobody knows the IDs of a transaction that is
/// prepared.
fn refuse_unknown() -> Result<(), ErrorReport> {
    if settings::REUSE_WINDOW.get() > 0 || shared::generator().reuses() {
        return Err(error::reuse());
    }
    let settled = horizon_slots::settled();
    if !settled.load(Acquire) {
        let unknown = prepared_before_the_start();
        if !unknown.is_empty() {
            return Err(error::prepared(&unknown));
        }
        // Nothing becomes prepared without a prepared slot any more.
        settled.store(true, Release);
    }
    Ok(())
}

/// The transactions that are prepared, and were prepared before the server started or while it was
/// a standby.
pub fn prepared_before_the_start() -> Vec<Prepared> {
    // All that have no prepared slot are from before: whoever prepares one fills a prepared slot
    // first.
    let is_held = |xid| {
        (0..horizon_slots::prepared_slot_count())
            .any(|n| horizon_slots::prepared_slot(n).xid as u32 == xid)
    };
    holders::prepared().into_iter().filter(|prepared| !is_held(prepared.xid)).collect()
}

fn read(fixed: &Fixed, snapshot: Snapshot<&[u32]>) -> Result<i64, ErrorReport> {
    let mut memory = Shared { fixed, slots: horizon_slots::slots() };
    let sizes = Sizes {
        slots: memory.slots.len(),
        prepared_slots: horizon_slots::prepared_slot_count(),
        places: horizon_slots::PLACES,
    };
    let mut reader = Reader::new(snapshot, horizon_slots::before(), sizes);
    loop {
        if let Some(found) = reader.look(&mut memory) {
            let Horizon { of_snapshot, of_later } = found.map_err(|TooOld| error::too_old())?;
            horizon_slots::keep(of_later);
            return Ok(of_snapshot);
        }
    }
}

/// The memory of the server.
struct Shared<'a> {
    fixed: &'a Fixed,
    slots: &'static [Slot],
}

impl Memory for Shared<'_> {
    fn last(&mut self) -> i64 {
        last(self.fixed)
    }

    fn slot(&mut self, number: usize) -> i64 {
        self.slots[number].read().0
    }

    fn next_xid(&mut self) -> u64 {
        // SAFETY: reads shared memory of the server.
        unsafe { pg_sys::ReadNextFullTransactionId().value }
    }

    fn anonymous(&mut self) -> Anonymous {
        horizon_slots::anonymous()
    }

    fn prepared_slot(&mut self, number: usize) -> (u64, i64) {
        let slot = horizon_slots::prepared_slot(number);
        (slot.xid, slot.first)
    }

    fn place(&mut self, number: usize) -> Place {
        horizon_slots::place(number)
    }

    fn has_ended(&mut self, xid: u32) -> bool {
        // SAFETY: in a transaction, and no lock is held.
        !unsafe { pg_sys::TransactionIdIsInProgress(xid.into()) }
    }
}

/// The last ID that was taken. After an observation or a start, that is the largest of its
/// timestamp, since the next one is of a later millisecond.
fn last(fixed: &Fixed) -> i64 {
    let generator = shared::generator();
    match generator.last() {
        Some((timestamp, sequence)) => fixed.ids.compose(timestamp, sequence),
        None => {
            let layout = fixed.layout;
            let timestamp = generator.timestamp().clamp(layout.epoch(), layout.last_timestamp());
            layout.last_id(timestamp).expect("a timestamp of the field")
        }
    }
}
