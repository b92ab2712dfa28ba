//! Reservations, and what an administrator sets and confirms: the I/O of the promise.
//!
//! When anything is written, flushed, published or refused, and why no ID comes twice, is decided
//! in [`snowflake_core::promise`]. Here is how it is done.
//!
//! # Locking contract
//!
//! One LWLock protects [`Protected`] and all writing to the register. It is taken by [`locked`],
//! and for a copy of what it protects by [`keep_upstream`] and [`copied`], which do nothing else
//! while they hold it. While the lock is held:
//!
//! - other locks that may be taken are the generator's spinlock, and those that PostgreSQL takes to
//!   read, write and flush the register's page;
//! - there is I/O: the page is read, and the WAL is written and flushed. Interrupts are held
//!   meanwhile, as for a commit;
//! - memory may be allocated, and PostgreSQL might raise errors. [`locked`] releases the lock
//!   before an error is reported: a client that does not read its messages must not stop the
//!   others;
//! - nothing is sent to the client, and nothing of ours is logged. What is worth a line in the log
//!   is kept until the lock is released.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

use crate::pg::in_recovery;
use pgrx::prelude::*;
use pgrx::{PGRXSharedMemory, PgLwLock, pg_shmem_init};
use snowflake_core::generator::Generator;
use snowflake_core::issuer::Issuer;
use snowflake_core::jump::Clocks;
use snowflake_core::promise::{
    Found, Io, Outcome, Position, Promise, Refusal, Request, Unreadable,
};
use snowflake_core::register::{Record, RecordError, Writer};
use snowflake_core::time::{Span, Timestamp};

use super::error::Error;
use super::log::{LogEntry, Logged};
use super::register::{self, Closed};
use super::restored_copy;
use crate::generator::clock;
use crate::generator::shared;
use crate::settings::{self, Fixed, Identity};

// SAFETY: nobody else names a lock like this.
static RESERVATIONS: PgLwLock<Protected> = unsafe { PgLwLock::new(c"snowflake_reservation") };

/// The state of reservations that the sessions of a server share. As new after a crash.
#[derive(Clone, Copy, Default)]
struct Protected {
    promise: Promise,
    /// When log entries that might come often were written last.
    logged: Logged,
}

// SAFETY: no pointers, and nothing that belongs to one process.
unsafe impl PGRXSharedMemory for Protected {}

/// Asks for the shared memory. Called while the library is preloaded.
pub fn init() {
    pg_shmem_init!(RESERVATIONS);
}

/// Acts with the lock held; see the contract above for what may be done meanwhile. Then the lock is
/// released, whatever happened, and what was kept for the log is written. An error of PostgreSQL's
/// own goes on after that: pgrx has made it a panic, and has left it on PostgreSQL's stack of
/// errors, which has room for reports that are made meanwhile, as PostgreSQL makes some while it
/// handles an error. It is reported, and may then wait for a client, only when the panic has left
/// this function, so the lock is released before. A report of ours that fails takes the place of
/// the first error.
fn locked<T>(
    act: impl FnOnce(&mut Protected, &mut Vec<LogEntry>) -> Result<T, Error>,
) -> Result<T, Error> {
    let mut entries = Vec::new();
    let mut lock = RESERVATIONS.exclusive();
    // PostgreSQL warns of a page that is damaged, for one: the server's log is enough. Its errors
    // are sent, but only after the lock was released.
    // SAFETY: a variable of this process, which gets its value back.
    let for_clients = unsafe { pg_sys::client_min_messages };
    // SAFETY: as above.
    unsafe { pg_sys::client_min_messages = PgLogLevel::ERROR as i32 };
    let returned = catch_unwind(AssertUnwindSafe(|| act(&mut lock, &mut entries)));
    // SAFETY: as above.
    unsafe { pg_sys::client_min_messages = for_clients };
    if returned.is_err() {
        // The lock counts as 1 until it is released, but PostgreSQL's own error has set the count
        // to zero. pgrx would then leave the lock to the end of the transaction, after the report.
        // SAFETY: a variable of this process.
        unsafe { pg_sys::InterruptHoldoffCount = pg_sys::InterruptHoldoffCount.max(1) };
    }
    drop(lock);
    entries.into_iter().for_each(LogEntry::log);
    returned.unwrap_or_else(|panic| resume_unwind(panic))
}

/// Makes a reservation for an ID. The first call of an incarnation begins it, and the caller asks
/// again.
pub fn reserve(fixed: &Fixed, request: Request) -> Result<(), Error> {
    fixed.require_identity()?;
    refuse_in_recovery("generate snowflake IDs")?;
    achieve(fixed, request, Closed::NOTHING).map(|_| ())
}

/// Reserves because this server was promoted, if it was, and nobody has taken an ID since. 55000
/// where an ID would be refused.
pub fn reserve_promoted(fixed: &Fixed) -> Result<(), Error> {
    fixed.require_identity()?;
    let issuer = issuer(fixed);
    while issuer.is_promoted(&Ok(record()?)) {
        achieve(fixed, Request::Promoted, Closed::NOTHING)?;
    }
    Ok(())
}

/// Switches reuse off now, and not with the next reservation.
pub fn end_reuse() -> Result<(), Error> {
    locked(|_, _| {
        shared::end_reuse();
        Ok(())
    })
}

/// Does what an administrator wants.
pub fn administer(fixed: &Fixed, request: Request) -> Result<Outcome, Error> {
    let closed = match request {
        Request::SetFloor { .. } => register::close_deleted(),
        _ => Closed::NOTHING,
    };
    achieve(fixed, request, closed)
}

/// Takes the lock, lets the promise serve the request, and counts and logs what came of it.
fn achieve(fixed: &Fixed, request: Request, closed: Closed) -> Result<Outcome, Error> {
    let issuer = issuer(fixed);
    locked(|Protected { promise, logged }, entries| {
        let served = promise.serve(&issuer, request, &mut Server { closed });
        if let Err(Error::Refused(Refusal::ClockAhead(_))) = served
            && request.is_for_an_id()
        {
            shared::count(|statistics| statistics.steps_refused += 1);
        }
        let (outcome, notice) = served?;
        entries.extend(notice.and_then(|notice| logged.due(LogEntry::of(notice, &issuer)?)));
        if let Outcome::Reserved { floor } = outcome {
            shared::count(|statistics| statistics.reservations += 1);
            if register::is_gone() {
                entries.extend(logged.due(LogEntry::RegisterDeleted { promised: floor }));
            }
        }
        Ok(outcome)
    })
}

/// This server, while the lock is held. An error that PostgreSQL raises leaves as a panic.
struct Server {
    closed: Closed,
}

impl Io for Server {
    type Error = Error;

    fn clocks(&mut self) -> Result<Clocks, Error> {
        Ok(clock::clocks())
    }

    fn look(&mut self) -> Result<Generator, Error> {
        Ok(shared::generator())
    }

    fn freeze(&mut self) -> Result<Generator, Error> {
        Ok(shared::freeze())
    }

    fn raise(&mut self, floor: Timestamp, reserve_after: Timestamp) -> Result<(), Error> {
        shared::raise_floor(floor, reserve_after);
        Ok(())
    }

    fn restart(&mut self, generator: Generator) -> Result<(), Error> {
        shared::restart(generator);
        Ok(())
    }

    fn read(&mut self) -> Result<Found, Error> {
        Ok(register::read())
    }

    fn create(&mut self, record: Record) -> Result<(), Error> {
        register::create(&record);
        Ok(())
    }

    fn overwrite(&mut self, record: Record) -> Result<(), Error> {
        Ok(register::overwrite(&record, &self.closed)?)
    }

    fn write(&mut self, record: Record) -> Result<Position, Error> {
        Ok(register::write(&record))
    }

    fn flush(&mut self, position: Position) -> Result<(), Error> {
        register::flush(position);
        Ok(())
    }

    fn flush_soon(&mut self, position: Position) -> Result<(), Error> {
        register::flush_soon(position);
        Ok(())
    }

    fn flushed(&mut self) -> Result<Position, Error> {
        Ok(register::flushed())
    }

    fn sync_entry(&mut self) -> Result<(), Error> {
        register::sync_entry();
        Ok(())
    }
}

/// A standby must not write WAL.
pub fn refuse_in_recovery(what: &'static str) -> Result<(), Error> {
    if in_recovery() { Err(Error::InRecovery { what }) } else { Ok(()) }
}

/// The register's record, for a caller that does not hold the lock. A session that creates the file
/// makes it longer a moment later, and holds the lock meanwhile. So what looks damaged is looked at
/// again with the lock held.
pub fn record() -> Result<Option<Record>, Error> {
    match register::read() {
        Err(Unreadable::Record(RecordError::Damaged)) if settings::fixed().preloaded => {
            locked(|_, _| Ok(register::read()?))
        }
        found => Ok(found?),
    }
}

/// The promise as it is now.
pub(super) fn copied() -> Promise {
    RESERVATIONS.share().promise
}

/// Keeps what the clock of the server that this standby follows says.
pub fn keep_upstream(clocks: Clocks) {
    RESERVATIONS.exclusive().promise.hear(clocks);
}

/// Logs that the clock was set back, and whether the step is held or unused IDs are issued.
pub fn log_step_back(lead: Span, is_held: bool) -> Result<(), Error> {
    locked(|protected, entries| {
        entries.extend(protected.logged.due(LogEntry::SteppedBack { lead, is_held }));
        Ok(())
    })
}

/// This server, as the register knows it. It is not in recovery, so there is a timeline to write
/// on.
pub fn issuer(fixed: &Fixed) -> Issuer {
    // SAFETY: a plain reading of the server's state.
    issuer_on(fixed, unsafe { pg_sys::GetWALInsertionTimeLine() })
}

/// This server, on that timeline.
pub(super) fn issuer_on(fixed: &Fixed, timeline: u32) -> Issuer {
    // SAFETY: a plain reading of the server's state.
    let system_identifier = unsafe { pg_sys::GetSystemIdentifier() };
    let Identity { datacenter_id, worker_id } = fixed.identity.unwrap_or_default();
    Issuer {
        system_identifier,
        timeline,
        layout: fixed.layout,
        writer: Writer { datacenter_id, worker_id, machine: clock::machine() },
        failover_margin: settings::FAILOVER_MARGIN.span(),
        max_observed_lead: settings::MAX_OBSERVED_LEAD.span(),
        max_backward_step: settings::MAX_BACKWARD_STEP.limit(),
        max_forward_step: settings::MAX_FORWARD_STEP.limit(),
        start_after: fixed.start_after,
        is_restored: fixed.preloaded && restored_copy::is_restored(),
    }
}
