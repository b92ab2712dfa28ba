//! Reservations: the durable promise behind each ID.
//!
//! The register holds a floor: no ID of a later time has been issued. A reservation raises the
//! floor ahead of use. It is flushed before the generator is told the new floor, and the generator
//! issues nothing above the floor that it was told. So:
//!
//! - (I1) every issued timestamp <= the generator's floor <= a floor that is durable;
//! - (I2) the floor never falls within a timeline, and the rules of WAL recover it;
//! - (I3) a new incarnation of the server begins above the recovered floor;
//! - (I4) within one incarnation, the generator's lock makes IDs distinct, and strictly increasing
//!   unless reuse is on.
//!
//! A row's WAL comes after that of its reservation, so every timeline that has the row has the
//! reservation.
//!
//! # Locking contract
//!
//! One LWLock guards [`Reservations`] and all writing to the register. It is taken by [`locked`], and
//! for a copy of what it guards by [`keep_upstream`] and [`copied`], which do nothing else while
//! they hold it. Publishing is the last step: an error before it leaves the generator as it was.
//! While the lock is held:
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

use pgrx::prelude::*;
use pgrx::{PGRXSharedMemory, PgLwLock, pg_shmem_init};
use snowflake_core::generator::Generator;
use snowflake_core::jump::{Clocks, Jump, Reference, Verdict};
use snowflake_core::register::{Issuer, Record, RecordError, Reservation, Start, Writer};

use super::entry::{Began, LogEntry, Logged};
use super::error::Error;
use super::register::{self, Lsn};
use crate::clock;
use crate::generator::shared;
use crate::server::in_recovery;
use crate::settings::{self, Fixed, Identity};

// SAFETY: nobody else names a lock like this.
static RESERVATIONS: PgLwLock<Reservations> = unsafe { PgLwLock::new(c"snowflake_reservation") };

/// What the sessions of a server share about reservations. As new after a crash.
#[derive(Clone, Copy, Default)]
pub struct Reservations {
    /// Whether this incarnation has begun: the generator was started from the register.
    begun: bool,
    /// [`clock::boot_ms`] when it began first. A floor that is set lets it begin again.
    began: Option<i64>,
    /// A record that was written, but neither known to be durable nor published.
    pending: Option<Pending>,
    /// What the clocks are compared with: what they said when the last record was written, which
    /// might have been before this incarnation; or those of the upstream, after a promotion.
    reference: Option<Reference>,
    /// What the clock of the server that this standby follows said last.
    pub(super) upstream: Option<Clocks>,
    /// When log entries that might come often were written last.
    logged: Logged,
}

#[derive(Clone, Copy)]
struct Pending {
    floor: i64,
    next_after: i64,
    lsn: Lsn,
}

// SAFETY: no pointers, and nothing that belongs to one process.
unsafe impl PGRXSharedMemory for Reservations {}

/// Set in a build that keeps no register, to show that the tests notice.
const WITHOUT_REGISTER: bool = cfg!(feature = "test_without_register");

/// Set in a build that does not flush reservations, to show that the tests notice.
const WITHOUT_FLUSH: bool = cfg!(feature = "test_without_flush");

/// Asks for the shared memory. Called while the library is preloaded.
pub fn init() {
    pg_shmem_init!(RESERVATIONS);
}

/// Acts with the lock held; see the contract above for what may be done meanwhile. Then the lock is
/// released, whatever happened, and what was kept for the log is written. An error of PostgreSQL's
/// own goes on after that.
pub fn locked<T>(
    act: impl FnOnce(&mut Reservations, &mut Option<LogEntry>) -> Result<T, Error>,
) -> Result<T, Error> {
    let mut entry = None;
    let mut lock = RESERVATIONS.exclusive();
    // PostgreSQL warns of a page that is damaged, for one: the server's log is enough. Its errors
    // are sent, but only after the lock was released.
    // SAFETY: a variable of this process, which gets its value back.
    let least = unsafe { pg_sys::client_min_messages };
    // SAFETY: as above.
    unsafe { pg_sys::client_min_messages = PgLogLevel::ERROR as i32 };
    let outcome = catch_unwind(AssertUnwindSafe(|| act(&mut lock, &mut entry)));
    // SAFETY: as above.
    unsafe { pg_sys::client_min_messages = least };
    if outcome.is_err() {
        // PostgreSQL's own error has set the count to 0. pgrx then leaves the lock to the end of
        // the transaction, which comes after the report. Releasing counts down.
        // SAFETY: a variable of this process.
        unsafe { pg_sys::InterruptHoldoffCount = pg_sys::InterruptHoldoffCount.max(1) };
    }
    drop(lock);
    if let Some(entry) = entry {
        entry.log();
    }
    outcome.unwrap_or_else(|panic| resume_unwind(panic))
}

/// Makes `timestamp` available to the generator, and waits until that is durable. The first call of
/// an incarnation begins it, and the caller asks again. `lead` is how far ahead of the clock the
/// timestamp might be needed.
pub fn reserve(fixed: &Fixed, timestamp: i64, lead: i64) -> Result<(), Error> {
    if fixed.identity.is_none() {
        return Err(settings::Error::NoIdentity.into());
    }
    refuse_in_recovery("generate snowflake IDs")?;
    locked(|reservations, entry| {
        if !reservations.begun {
            return reservations.begin(fixed, entry);
        }
        if timestamp > shared::generator().floor() {
            reservations.publish_pending();
        }
        if timestamp > shared::generator().floor() {
            let clocks = clock::clocks();
            if !shared::generator().may_need(timestamp, clocks.wall + lead) {
                // The clock was set back while this session waited: it reads the clock again.
                return Ok(());
            }
            let pending = reservations.write(fixed, timestamp, clocks, entry)?;
            pending.publish();
        }
        Ok(())
    })
}

/// Reserves without a wait: writes the next record, and publishes its floor in a later call, once
/// the WAL is durable that far.
pub fn reserve_early(fixed: &Fixed) -> Result<(), Error> {
    locked(|reservations, entry| {
        match reservations.pending {
            // A floor was set meanwhile: the next call begins above it.
            _ if !reservations.begun => {}
            Some(pending) if register::is_flushed(pending.lsn) => reservations.publish_pending(),
            Some(_) => {}
            None => {
                let pending = {
                    let timestamp = shared::generator().timestamp();
                    reservations.write(fixed, timestamp, clock::clocks(), entry)?
                };
                register::flush_soon(pending.lsn);
                reservations.pending = Some(pending);
            }
        }
        Ok(())
    })
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
        Err(register::Error::Record(RecordError::Damaged)) if settings::fixed().preloaded => {
            locked(|_, _| Ok(register::read()?))
        }
        found => Ok(found?),
    }
}

/// What the sessions share now.
pub(super) fn copied() -> Reservations {
    *RESERVATIONS.share()
}

/// Keeps what the clock of the server that this standby follows says.
pub fn keep_upstream(clocks: Clocks) {
    RESERVATIONS.exclusive().upstream = Some(clocks);
}

/// Logs that the clock was set back, and whether the step is held or unused IDs are issued.
pub fn log_step_back(lead: i64, is_held: bool) -> Result<(), Error> {
    locked(|reservations, entry| {
        reservations.log_now_and_then(entry, LogEntry::SteppedBack { lead, is_held });
        Ok(())
    })
}

/// This server, as the register knows it. It is not in recovery, so there is a timeline to write on.
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
        failover_margin: settings::FAILOVER_MARGIN.get().into(),
        max_backward_step: settings::limits().max_backward_step,
        start_after: fixed.start_after,
    }
}

/// Where a server starts that has no register.
pub(super) fn first_start(fixed: &Fixed, issuer: &Issuer, now: i64) -> Result<Start, Error> {
    if now < fixed.layout.epoch() {
        return Err(Error::ClockBeforeEpoch { now, epoch: fixed.layout.epoch() });
    }
    Ok(issuer.first_start(now)?)
}

impl Pending {
    /// Waits until it is durable, and lets the generator use it.
    fn publish(self) {
        if !WITHOUT_FLUSH {
            register::flush(self.lsn);
        }
        shared::raise_floor(self.floor, self.next_after);
    }
}

impl Reservations {
    /// Starts the generator above everything that the register permits.
    fn begin(&mut self, fixed: &Fixed, entry: &mut Option<LogEntry>) -> Result<(), Error> {
        let clocks = clock::clocks();
        let now = clocks.wall;
        let issuer = issuer(fixed);
        let start = if WITHOUT_REGISTER {
            // Without the register, a floor that was set is in the shared memory alone.
            let after = (now - 1).max(shared::generator().timestamp());
            Start { after, hold: (after - now).max(0), margin: 0 }
        } else if let Some(record) = register::read()? {
            let (start, reference) = self.start(&issuer, &record, clocks)?;
            let limit = settings::MAX_FORWARD_STEP.limit();
            if let Some(record) = issuer.record_of_refusal(&record, &reference, &clocks, limit) {
                register::flush(register::write(&record));
            }
            *entry = Began::after(&record, &issuer, start, reference, clocks);
            self.reference = Some(reference);
            start
        } else {
            let start = first_start(fixed, &issuer, now)?;
            let record = issuer.record(start.after, clocks);
            register::create(&record);
            *entry = Some(LogEntry::Created { after: record.floor });
            self.reference = Some(Reference::record(clocks));
            start
        };
        register::sync_entry();
        shared::restart(Generator::starting_after(
            start.after,
            start.hold,
            fixed.layout.last_timestamp(),
        ));
        self.begun = true;
        self.began.get_or_insert(clocks.boot.elapsed);
        self.pending = None;
        Ok(())
    }

    /// Writes a record that makes `timestamp` available, and more than is reserved now. Nothing may
    /// be pending when this is called. (I2) depends on both.
    fn write(
        &mut self,
        fixed: &Fixed,
        timestamp: i64,
        clocks: Clocks,
        entry: &mut Option<LogEntry>,
    ) -> Result<Pending, Error> {
        self.judge(clocks, entry)?;
        let elapsed = clocks.boot.elapsed;
        let age = elapsed - self.began.unwrap_or(elapsed);
        let Reservation { record, next_after } =
            issuer(fixed).reservation(timestamp, shared::generator().floor(), clocks, age);
        let lsn = if WITHOUT_REGISTER { 0 } else { register::write(&record) };
        if !WITHOUT_REGISTER && register::is_gone() {
            self.log_now_and_then(entry, LogEntry::RegisterDeleted { promised: record.floor });
        }
        self.reference = Some(Reference::record(clocks));
        shared::count(|statistics| statistics.reservations += 1);
        Ok(Pending { floor: record.floor, next_after, lsn })
    }

    /// Waits for what an early reservation has written, and publishes it.
    fn publish_pending(&mut self) {
        if let Some(pending) = self.pending.take() {
            pending.publish();
        }
    }

    /// Refuses clocks that the register must not follow: what is written to it cannot be taken
    /// back.
    fn judge(&mut self, clocks: Clocks, entry: &mut Option<LogEntry>) -> Result<(), Error> {
        match self.verdict(clocks) {
            Some((Verdict::Log, jump)) => {
                self.log_now_and_then(entry, LogEntry::SteppedAhead(jump));
            }
            Some((Verdict::Refuse, jump)) => {
                shared::count(|statistics| statistics.steps_refused += 1);
                return Err(Error::ClockAhead(jump));
            }
            Some((Verdict::Accept, _)) | None => {}
        }
        Ok(())
    }

    /// What to do about these clocks; `None` before the first ID of this incarnation.
    pub fn verdict(&self, clocks: Clocks) -> Option<(Verdict, Jump)> {
        let reference = self.reference.filter(|_| self.begun)?;
        let timestamp = shared::generator().timestamp();
        Some(clocks.judge(&reference, timestamp, settings::MAX_FORWARD_STEP.limit()))
    }

    /// The same, and before the first ID as that one will judge, from the record; `None` where there
    /// is nothing to judge by.
    pub fn verdict_on(
        &self,
        issuer: &Issuer,
        record: Option<&Record>,
        clocks: Clocks,
    ) -> Result<Option<(Verdict, Jump)>, Error> {
        if let Some(verdict) = self.verdict(clocks) {
            return Ok(Some(verdict));
        }
        let Some(record) = record else { return Ok(None) };
        let (start, reference) = self.start(issuer, record, clocks)?;
        Ok(Some(clocks.judge(&reference, start.after, settings::MAX_FORWARD_STEP.limit())))
    }

    /// Accepts these clocks, however far the wall clock has jumped.
    pub fn confirm(&mut self, clocks: Clocks) {
        self.reference = Some(Reference::record(clocks));
        self.upstream = None;
    }

    /// Where this server starts from the record, and what the clocks of its first ID are compared
    /// with.
    pub fn start(
        &self,
        issuer: &Issuer,
        record: &Record,
        clocks: Clocks,
    ) -> Result<(Start, Reference), Error> {
        let start = issuer.start(record, clocks.wall);
        let start = start.map_err(|error| Error::of_start(error, record))?;
        Ok((start, issuer.reference(record, self.upstream)))
    }

    /// Lets the next ID begin from the register again.
    pub fn begin_again(&mut self) {
        self.begun = false;
        self.pending = None;
    }

    fn log_now_and_then(&mut self, entry: &mut Option<LogEntry>, new: LogEntry) {
        if self.logged.is_due(&new) {
            *entry = Some(new);
        }
    }
}
