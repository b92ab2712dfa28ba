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
use snowflake_core::horizon::{Lookup, Reader, Snapshot};
use snowflake_core::promise::Request;
use snowflake_core::time::{Span, Timestamp};

use crate::generator::{horizon_slots, shared};
use crate::pg::report::OrRaise;
use crate::promise::{self, reservation};
use crate::settings::{self, Fixed};
use error::Error;
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

pub fn horizon() -> Result<i64, Error> {
    let fixed = settings::require_preloading().map_err(promise::Error::from)?;
    reservation::refuse_in_recovery("return the horizon of snowflake IDs")?;
    let snapshot = snapshot()?;
    let key = Key::of(&snapshot);
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

impl Key {
    fn of(snapshot: &Taken) -> Key {
        // SAFETY: reads a variable of this process.
        let statement = unsafe { pg_sys::GetCurrentStatementStartTimestamp() };
        let Taken { first, snapshot: Snapshot { running, later } } = *snapshot;
        let transactions = horizon_slots::ended();
        Key { transactions, statement, first, later, running: running.len() }
    }
}

/// The snapshot of the query.
struct Taken {
    first: u32,
    snapshot: Snapshot<&'static [u32]>,
}

fn snapshot() -> Result<Taken, Error> {
    // SAFETY: PostgreSQL keeps the active snapshot while the query runs, which is longer than it is
    // used here. Its transaction IDs are plain integers.
    unsafe {
        // That of GetTransactionSnapshot() would change with the next query.
        if !pg_sys::ActiveSnapshotSet() {
            return Err(Error::OtherSnapshot);
        }
        let snapshot = pg_sys::GetActiveSnapshot();
        let pg_sys::SnapshotData { snapshot_type, xmin, xmax, xip, xcnt, .. } = *snapshot;
        if snapshot_type != pg_sys::SnapshotType::SNAPSHOT_MVCC {
            return Err(Error::OtherSnapshot);
        } else if (*snapshot).takenDuringRecovery {
            return Err(Error::SnapshotOfStandby);
        }
        let running = match xcnt {
            0 => &[][..],
            count => slice::from_raw_parts(xip.cast::<u32>(), count as usize),
        };
        let snapshot = Snapshot { running, later: xmax.into_inner() };
        Ok(Taken { first: xmin.into_inner(), snapshot })
    }
}

/// Refuses while a smaller ID might follow.
fn refuse_unknown() -> Result<(), Error> {
    if settings::REUSE_WINDOW.get() > 0 || shared::generator().reuses() {
        return Err(Error::Reuse);
    }
    let settled = horizon_slots::settled();
    if !settled.load(Acquire) {
        let unknown = prepared_before_the_start();
        if !unknown.is_empty() {
            return Err(Error::Prepared(unknown));
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

fn read(fixed: &Fixed, Taken { snapshot, .. }: Taken) -> Result<i64, Error> {
    let slots = horizon_slots::slots();
    let mut reader = Reader::new(
        snapshot,
        horizon_slots::before(),
        slots.len(),
        horizon_slots::prepared_slot_count(),
        horizon_slots::PLACES,
    );
    loop {
        match reader.lookup() {
            Lookup::Last => reader.last(last(fixed)),
            Lookup::Slot(number) => reader.slot(slots[number].read().0),
            // SAFETY: reads shared memory of the server.
            Lookup::Next => reader.next(unsafe { pg_sys::ReadNextFullTransactionId().value }),
            Lookup::Anonymous => reader.anonymous(horizon_slots::anonymous()),
            Lookup::PreparedSlot(number) => {
                let prepared_slot = horizon_slots::prepared_slot(number);
                reader.prepared_slot(prepared_slot.xid, prepared_slot.first);
            }
            Lookup::Place(number) => reader.place(&horizon_slots::place(number)),
            Lookup::Ended(xid) => {
                // SAFETY: in a transaction, and no lock is held.
                reader.ended(!unsafe { pg_sys::TransactionIdIsInProgress(xid.into()) });
            }
            Lookup::Done(horizon, later) => {
                horizon_slots::keep(later);
                return Ok(horizon);
            }
            Lookup::TooOld => return Err(Error::TooOld),
        }
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
