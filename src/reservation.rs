//! Reservations: the durable promise behind each ID.
//!
//! The register holds a floor: no ID of a later time has been issued. A reservation raises the floor ahead of use. It is
//! flushed before the generator is told, which issues nothing above the floor that it was told. So:
//!
//! - (I1) every claimed timestamp <= the generator's floor <= a floor that is durable;
//! - (I2) the floor never falls within a timeline, and the rules of WAL recover it;
//! - (I3) a new incarnation of the server begins above the recovered floor;
//! - (I4) within one incarnation, the generator's lock makes IDs strictly increase.
//!
//! A row's WAL comes after that of its reservation, so every timeline that has the row has the reservation.
//!
//! # Locking contract
//!
//! One LWLock guards [`Reservations`] and all writing to the register. It is taken by [`locked`] alone. Publishing is the last
//! step: an error before it leaves the generator as it was. While the lock is held:
//!
//! - other locks that may be taken are the generator's spinlock, and those that PostgreSQL takes to read, write and flush
//!   the register's page;
//! - there is I/O: the page is read, and the WAL is written and flushed. Interrupts are held meanwhile, as for a commit;
//! - memory may be allocated, and PostgreSQL may raise errors. [`locked`] releases the lock before an error is reported: a
//!   client that does not read its messages must not stop the others;
//! - nothing is sent and nothing is logged. What is worth a line in the log is kept until the lock is released.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::time::Duration;

use pgrx::prelude::*;
use pgrx::{PGRXSharedMemory, PgLwLock, pg_shmem_init};
use snowflake_core::generator::Generator;
use snowflake_core::jump::{Clocks, Jump, Verdict};
use snowflake_core::register::{Record, RecordError, Server, Start, StartError};

use crate::error::{Error, LogEntry};
use crate::register::{self, Lsn};
use crate::settings::{self, Fixed};
use crate::{clock, shared};

// SAFETY: nobody else names a lock like this.
static RESERVATIONS: PgLwLock<Reservations> = unsafe { PgLwLock::new(c"snowflake_reservation") };

/// What the sessions of a server share about reservations. As new after a crash.
#[derive(Clone, Copy, Default)]
pub struct Reservations {
    /// Whether this incarnation has begun: the generator was started from the register.
    begun: bool,
    /// A record that was written, but neither known to be durable nor published.
    pending: Option<Pending>,
    /// What the clocks said when the last record was written, which may have been before this incarnation.
    clocks: Option<Clocks>,
    /// [`clock::boot_ms`] of the last log entry about the clock.
    logged: Option<i64>,
}

#[derive(Clone, Copy)]
struct Pending {
    floor: i64,
    lsn: Lsn,
}

// SAFETY: no pointers, and nothing that belongs to one process.
unsafe impl PGRXSharedMemory for Reservations {}

/// Set in a build that only shows that the tests notice.
const WITHOUT_REGISTER: bool = cfg!(feature = "test_without_register");

/// At most one log entry about the clock in this time.
const BETWEEN_ENTRIES: Duration = Duration::from_secs(60);

/// Asks for the shared memory. Called while the library is preloaded.
pub fn init() {
    pg_shmem_init!(RESERVATIONS);
}

/// Acts with the lock held; see the contract above for what may be done meanwhile. Then the lock is released, whatever
/// happened, what was kept for the log is written, and an error is raised.
fn locked<T>(act: impl FnOnce(&mut Reservations, &mut Option<LogEntry>) -> Result<T, Error>) -> T {
    let mut entry = None;
    let mut lock = RESERVATIONS.exclusive();
    let outcome = catch_unwind(AssertUnwindSafe(|| act(&mut lock, &mut entry)));
    if outcome.is_err() {
        // PostgreSQL's own error has set the count to 0. pgrx then leaves the lock to the end of the transaction, which
        // comes after the report. Releasing counts down.
        // SAFETY: a variable of this process.
        unsafe { pg_sys::InterruptHoldoffCount = pg_sys::InterruptHoldoffCount.max(1) };
    }
    drop(lock);
    if let Some(entry) = entry {
        entry.log();
    }
    match outcome {
        Ok(outcome) => outcome.unwrap_or_else(|error| error.raise()),
        Err(panic) => resume_unwind(panic),
    }
}

/// Makes `timestamp` available to the generator, and waits until that is durable. The first call of an incarnation
/// begins it, and the caller claims again.
pub fn reserve(fixed: &Fixed, timestamp: i64) {
    if fixed.node.is_none() {
        Error::NoIdentity.raise();
    }
    refuse_in_recovery();
    locked(|reservations, entry| {
        if !reservations.begun {
            return reservations.begin(fixed, entry);
        }
        if timestamp > shared::generator().floor() {
            reservations.publish_pending();
        }
        if timestamp > shared::generator().floor() {
            let pending = reservations.write(fixed, timestamp, entry)?;
            register::flush(pending.lsn);
            shared::raise_floor(pending.floor);
        }
        Ok(())
    });
}

/// Reserves without a wait: writes the next record, and publishes its floor in a later call, once the WAL is durable that
/// far.
pub fn reserve_early(fixed: &Fixed) {
    locked(|reservations, entry| {
        match reservations.pending {
            // A floor was set meanwhile: the next call begins above it.
            _ if !reservations.begun => {}
            Some(pending) if register::is_flushed(pending.lsn) => reservations.publish_pending(),
            Some(_) => {}
            None => {
                let pending = reservations.write(fixed, shared::generator().timestamp(), entry)?;
                register::flush_soon(pending.lsn);
                reservations.pending = Some(pending);
            }
        }
        Ok(())
    });
}

/// A standby must not write WAL.
pub fn refuse_in_recovery() {
    // SAFETY: reads shared memory of the server.
    if unsafe { pg_sys::RecoveryInProgress() } {
        Error::InRecovery.raise();
    }
}

/// Logs that a step back of the clock is held.
pub fn log_step_back(lead: i64) {
    locked(|reservations, entry| {
        reservations.log_now_and_then(entry, LogEntry::SteppedBack { lead });
        Ok(())
    });
}

/// This server, as the register knows it.
pub fn server(fixed: &Fixed) -> Server {
    // SAFETY: plain readings of the server's state; it is not in recovery, so there is a timeline to write on.
    let (system_identifier, timeline) =
        unsafe { (pg_sys::GetSystemIdentifier(), pg_sys::GetWALInsertionTimeLine()) };
    Server { system_identifier, timeline, layout: fixed.layout, failover_margin: settings::failover_margin() }
}

fn refused(error: StartError, record: &Record) -> Error {
    match error {
        StartError::SystemIdentifier { recorded } => Error::OtherSystem { recorded },
        StartError::Layout { recorded } => Error::OtherLayout { recorded, floor: record.floor },
    }
}

impl Reservations {
    /// Starts the generator above everything that the register permits.
    fn begin(&mut self, fixed: &Fixed, entry: &mut Option<LogEntry>) -> Result<(), Error> {
        let clocks = clock::clocks();
        let now = clocks.wall;
        let server = server(fixed);
        let start = if WITHOUT_REGISTER {
            Start { after: now - 1, hold: 0 }
        } else if let Some(record) = register::read().map_err(Error::Register)? {
            self.clocks = Some(record.written);
            server.start(&record, now).map_err(|error| refused(error, &record))?
        } else if now < fixed.layout.epoch() {
            return Err(Error::ClockBeforeEpoch { now, epoch: fixed.layout.epoch() });
        } else {
            let record = server.record(now - 1, clocks);
            register::create(&record)?;
            *entry = Some(LogEntry::Created { after: record.floor });
            self.clocks = Some(clocks);
            Start { after: record.floor, hold: 0 }
        };
        shared::restart(Generator::starting_after(start.after, start.hold, fixed.layout.last_timestamp()));
        self.begun = true;
        self.pending = None;
        Ok(())
    }

    /// Writes a record that makes `timestamp` available, and more than is reserved now. (I2) rests on this, and on
    /// nothing being pending.
    fn write(
        &mut self,
        fixed: &Fixed,
        timestamp: i64,
        entry: &mut Option<LogEntry>,
    ) -> Result<Pending, Error> {
        let clocks = self.judged_clocks(entry)?;
        let record = server(fixed).reservation(timestamp, shared::generator().floor(), clocks);
        let lsn = if WITHOUT_REGISTER { 0 } else { register::write(&record) };
        self.clocks = Some(clocks);
        shared::count(|statistics| statistics.reservations += 1);
        Ok(Pending { lsn, floor: record.floor })
    }

    /// Waits for what an early reservation has written, and publishes it.
    fn publish_pending(&mut self) {
        if let Some(pending) = self.pending.take() {
            register::flush(pending.lsn);
            shared::raise_floor(pending.floor);
        }
    }

    /// The clocks, where the register may follow them: what is in it cannot be taken back.
    fn judged_clocks(&mut self, entry: &mut Option<LogEntry>) -> Result<Clocks, Error> {
        let clocks = clock::clocks();
        let jump = self.jump(clocks);
        match jump.judge(settings::max_forward_step()) {
            Verdict::Accept => {}
            Verdict::Log => self.log_now_and_then(entry, LogEntry::SteppedAhead(jump)),
            Verdict::Refuse => {
                shared::count(|statistics| statistics.steps_refused += 1);
                return Err(Error::ClockAhead(jump));
            }
        }
        Ok(clocks)
    }

    /// How far the wall clock has jumped since the last record.
    fn jump(&self, clocks: Clocks) -> Jump {
        let timestamp = shared::generator().timestamp();
        self.clocks.map_or(Jump::Measured(0), |last| clocks.jump_since(&last, timestamp))
    }

    fn log_now_and_then(&mut self, entry: &mut Option<LogEntry>, new: LogEntry) {
        let now = clock::boot_ms();
        if self.logged.is_none_or(|last| now - last >= BETWEEN_ENTRIES.as_millis() as i64) {
            self.logged = Some(now);
            *entry = Some(new);
        }
    }
}

/// What an administrator does to the register, under the lock.
pub mod administer {
    use super::*;

    /// Puts the floor at `floor`, in milliseconds since the Unix epoch, and lets the next ID begin above it. Refuses to go
    /// below what has been issued, or to take the place of a record that is not this server's own, unless forced.
    pub fn set_floor(fixed: &Fixed, floor: i64, force: bool) {
        let issued = locked(|reservations, _| {
            let server = server(fixed);
            let found = register::read();
            // Nobody claims a later millisecond before the new floor is in force.
            let frozen = shared::freeze();
            let issued = frozen.timestamp();
            if !force {
                let recorded = may_replace(&server, found)?;
                let least = issued.max(recorded.unwrap_or(i64::MIN));
                if floor < least {
                    return Err(Error::FloorLowered { floor: least });
                }
            }
            let timeline = match found {
                // A promotion that has not begun yet adds its margin to the new floor, too.
                Ok(Some(record)) if record.system_identifier == server.system_identifier => record.timeline,
                Ok(Some(_)) => NO_TIMELINE,
                _ => server.timeline,
            };
            let record = Record { timeline, ..server.record(floor, clock::clocks()) };
            register::overwrite(&record)?;
            frozen.restart(Generator::starting_after(record.floor, 0, fixed.layout.last_timestamp()));
            reservations.begun = false;
            reservations.pending = None;
            Ok(issued)
        });
        if floor < issued {
            Error::floor_was_lowered(issued);
        }
    }

    /// The floor of a record that may be replaced without force; `None` where nothing can be read.
    fn may_replace(
        server: &Server,
        found: Result<Option<Record>, RecordError>,
    ) -> Result<Option<i64>, Error> {
        match found {
            Ok(Some(record)) => match server.start(&record, 0) {
                Ok(_) => Ok(Some(record.floor)),
                Err(error) => Err(refused(error, &record)),
            },
            Err(error @ RecordError::NewerVersion(_)) => Err(Error::Register(error)),
            Ok(None) | Err(RecordError::Damaged) => Ok(None),
        }
    }

    /// A record of no timeline: the next start adds the margin.
    const NO_TIMELINE: u32 = 0;

    /// Takes over the record of another system: the one that this one was made of.
    pub fn confirm_system_identifier(fixed: &Fixed) -> bool {
        locked(|_, _| {
            let server = server(fixed);
            change(|record| {
                Ok((record.system_identifier != server.system_identifier).then_some(Record {
                    system_identifier: server.system_identifier,
                    timeline: NO_TIMELINE,
                    ..record
                }))
            })
        })
    }

    /// Goes on under the configured layout, where every ID will be above all that were issued before.
    pub fn confirm_layout(fixed: &Fixed) -> bool {
        locked(|_, _| {
            let server = server(fixed);
            change(|record| {
                if record.layout == server.layout {
                    return Ok(None);
                }
                if !server.may_change_layout(&record) {
                    return Err(Error::LayoutGoesBack { recorded: record.layout, floor: record.floor });
                }
                Ok(Some(Record { layout: server.layout, ..record }))
            })
        })
    }

    /// Goes on from the clock as it is now, however far it has jumped ahead since the last record.
    pub fn confirm_clock(fixed: &Fixed) -> bool {
        locked(|reservations, _| {
            let clocks = clock::clocks();
            change(|record| {
                let jump = if reservations.begun {
                    reservations.jump(clocks)
                } else {
                    // As the first ID of this incarnation will judge.
                    let start = server(fixed).start(&record, clocks.wall);
                    let start = start.map_err(|error| refused(error, &record))?;
                    clocks.jump_since(&record.written, start.after)
                };
                if jump.judge(settings::max_forward_step()) != Verdict::Refuse {
                    return Ok(None);
                }
                reservations.clocks = Some(clocks);
                Ok(Some(Record { written: clocks, ..record }))
            })
        })
    }

    /// Writes what `change` makes of the record, if anything, durably.
    fn change(change: impl FnOnce(Record) -> Result<Option<Record>, Error>) -> Result<bool, Error> {
        let Some(record) = register::read().map_err(Error::Register)? else { return Ok(false) };
        let Some(changed) = change(record)? else { return Ok(false) };
        register::flush(register::write(&changed));
        Ok(true)
    }
}
