//! Reservations: the durable promise behind each ID.
//!
//! A reservation through time M is a record in the register that says that no timestamp above M has been issued. It
//! is flushed before M is published to the generator, which issues nothing above what was published. So:
//!
//! - (I1) every claimed timestamp <= the published M <= an M that is durable;
//! - (I2) M never falls within a timeline, and the rules of WAL recover it;
//! - (I3) a new incarnation of the server begins above the recovered M;
//! - (I4) within one incarnation, the generator's lock makes IDs strictly increase.
//!
//! A row's WAL comes after that of its reservation, so every timeline that has the row has the reservation.
//!
//! # Locking contract
//!
//! One LWLock guards [`Reservations`] and all writing to the register. The generator's spinlock may be taken while it
//! is held. Publishing is the last step: an error before it leaves the generator as it was.

use std::time::Duration;

use pgrx::prelude::*;
use pgrx::{PGRXSharedMemory, PgLwLock, pg_shmem_init};
use snowflake_core::generator::Generator;
use snowflake_core::register::{Record, RecordError, Server, Start, StartError};

use crate::error::{Error, Warning};
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
    /// Both clocks at the last extension.
    clocks: Option<Clocks>,
    /// [`clock::boot_ms`] of the last warning about the clock.
    warned: Option<i64>,
}

#[derive(Clone, Copy)]
struct Pending {
    through: i64,
    lsn: Lsn,
}

#[derive(Clone, Copy)]
struct Clocks {
    wall: i64,
    boot: i64,
}

// SAFETY: no pointers, and nothing that belongs to one process.
unsafe impl PGRXSharedMemory for Reservations {}

/// Set in a build that only shows that the tests notice.
const WITHOUT_REGISTER: bool = cfg!(feature = "test_without_register");

/// At most one warning about the clock in this time.
const BETWEEN_WARNINGS: Duration = Duration::from_secs(60);

/// A jump ahead of the clock that is worth a warning, in milliseconds.
const JUMP: i64 = 1000;

/// Asks for the shared memory. Called while the library is preloaded.
pub fn init() {
    pg_shmem_init!(RESERVATIONS);
}

/// Makes `timestamp` available to the generator, and waits until that is durable. The first call of an incarnation
/// begins it, and the caller claims again.
pub fn extend(fixed: &Fixed, timestamp: i64) {
    if fixed.node.is_none() {
        Error::NoIdentity.raise();
    }
    refuse_in_recovery();
    let mut reservations = RESERVATIONS.exclusive();
    if !reservations.begun {
        begin(&mut reservations, fixed);
    } else if timestamp > shared::generator().reserved() {
        reservations.publish_pending();
        if timestamp > shared::generator().reserved() {
            let pending = reservations.write(fixed, timestamp);
            register::flush(pending.lsn);
            shared::reserve_through(pending.through);
        }
    }
}

/// Extends the reservation without a wait: writes the next record, and publishes it in a later call, once the WAL
/// is durable that far.
pub fn extend_early(fixed: &Fixed) {
    let mut reservations = RESERVATIONS.exclusive();
    match reservations.pending {
        Some(pending) if register::is_flushed(pending.lsn) => reservations.publish_pending(),
        Some(_) => {}
        None => {
            let pending = reservations.write(fixed, shared::generator().timestamp());
            register::flush_soon(pending.lsn);
            reservations.pending = Some(pending);
        }
    }
}

/// A standby must not write WAL.
pub fn refuse_in_recovery() {
    // SAFETY: reads shared memory of the server.
    if unsafe { pg_sys::RecoveryInProgress() } {
        Error::InRecovery.raise();
    }
}

/// Warns that a step back of the clock is held.
pub fn warn_of_step_back(lead: i64) {
    if RESERVATIONS.exclusive().may_warn() {
        Warning::SteppedBack { lead }.log();
    }
}

/// This server, as the register knows it.
pub fn server(fixed: &Fixed) -> Server {
    // SAFETY: plain readings of the server's state; it is not in recovery, so there is a timeline to write on.
    let (system_identifier, timeline) =
        unsafe { (pg_sys::GetSystemIdentifier(), pg_sys::GetWALInsertionTimeLine()) };
    Server { system_identifier, timeline, layout: fixed.layout, failover_margin: settings::failover_margin() }
}

/// Starts the generator above everything that the register permits.
fn begin(reservations: &mut Reservations, fixed: &Fixed) {
    let now = clock::unix_ms();
    if WITHOUT_REGISTER {
        return reservations.begin_after(Start { after: now - 1, hold: 0 }, fixed);
    }
    let server = server(fixed);
    let start = match register::read() {
        Ok(Some(record)) => server.start(&record, now).unwrap_or_else(|error| refuse(error, &record)),
        Ok(None) => {
            let record = server.record((now - 1).max(fixed.layout.epoch() - 1), now);
            register::create(&record);
            Warning::Created { after: record.through }.log();
            Start { after: record.through, hold: 0 }
        }
        Err(error) => Error::Register(error).raise(),
    };
    reservations.begin_after(start, fixed);
}

fn refuse(error: StartError, record: &Record) -> ! {
    match error {
        StartError::SystemIdentifier { recorded } => Error::OtherSystem { recorded },
        StartError::Layout { recorded } => Error::OtherLayout { recorded, through: record.through },
    }
    .raise()
}

impl Reservations {
    fn begin_after(&mut self, start: Start, fixed: &Fixed) {
        shared::restart(Generator::starting_after(start.after, start.hold, fixed.layout.last_timestamp()));
        self.begun = true;
        self.pending = None;
    }

    /// Writes a record that makes `timestamp` available, and more than is reserved now. (I2) rests on this, and on
    /// nothing being pending.
    fn write(&mut self, fixed: &Fixed, timestamp: i64) -> Pending {
        let now = self.checked_clock();
        let record = server(fixed).extension(timestamp, shared::generator().reserved(), now);
        let lsn = if WITHOUT_REGISTER { 0 } else { register::write(&record) };
        shared::count(|statistics| statistics.reservations += 1);
        Pending { lsn, through: record.through }
    }

    /// Waits for what an early extension has written, and publishes it.
    fn publish_pending(&mut self) {
        if let Some(pending) = self.pending.take() {
            register::flush(pending.lsn);
            shared::reserve_through(pending.through);
        }
    }

    /// The clock; an error when it has jumped ahead too far since the last extension. What is in the register cannot
    /// be taken back.
    fn checked_clock(&mut self) -> i64 {
        let (clocks, jump) = self.jump();
        if is_too_far(jump) {
            shared::count(|statistics| statistics.steps_refused += 1);
            Error::ClockAhead { jump }.raise();
        }
        if jump > JUMP && self.may_warn() {
            Warning::SteppedAhead { jump }.log();
        }
        self.clocks = Some(clocks);
        clocks.wall
    }

    /// Both clocks, and by how much the wall clock has jumped ahead since the last extension.
    fn jump(&self) -> (Clocks, i64) {
        let clocks = Clocks { wall: clock::unix_ms(), boot: clock::boot_ms() };
        let jump = self.clocks.map_or(0, |last| {
            let jump = (clocks.wall - last.wall) - (clocks.boot - last.boot);
            // A clock that was set back and comes back does not run ahead of anything.
            jump.min(clocks.wall - shared::generator().timestamp())
        });
        (clocks, jump)
    }

    fn may_warn(&mut self) -> bool {
        let now = clock::boot_ms();
        let may = self.warned.is_none_or(|last| now - last >= BETWEEN_WARNINGS.as_millis() as i64);
        if may {
            self.warned = Some(now);
        }
        may
    }
}

fn is_too_far(jump: i64) -> bool {
    settings::max_forward_step().is_some_and(|limit| jump > limit)
}

/// What an administrator does to the register, under the lock.
pub mod administer {
    use super::*;

    /// Puts the floor at `through`, in milliseconds since the Unix epoch. Refuses to lower it, or to take the place of
    /// a record that is not this server's own, unless forced.
    pub fn set_floor(fixed: &Fixed, through: i64, force: bool) {
        let mut reservations = RESERVATIONS.exclusive();
        let server = server(fixed);
        let issued = if reservations.begun { shared::generator().timestamp() } else { i64::MIN };
        match register::read() {
            Ok(Some(record)) if !force => {
                if record.system_identifier != server.system_identifier || record.layout != server.layout {
                    server.start(&record, 0).unwrap_or_else(|error| refuse(error, &record));
                }
                let floor = record.through.max(issued);
                if through < floor {
                    Error::FloorLowered { floor }.raise();
                }
            }
            Err(error @ RecordError::NewerVersion(_)) if !force => Error::Register(error).raise(),
            _ => {}
        }
        if through < issued {
            Warning::FloorLowered { issued }.log();
        }
        let now = clock::unix_ms();
        let record = server.record(through, now);
        register::overwrite(&record);
        // An administrator's floor is no step of the clock.
        let hold = (through - now).max(0);
        reservations.begin_after(Start { after: record.through, hold }, fixed);
    }

    /// Takes over the record of another system: the one that this one was made of.
    pub fn confirm_system_identifier(fixed: &Fixed) -> bool {
        confirm(|record| {
            let server = server(fixed);
            // No timeline is 0: the next start adds the margin.
            (record.system_identifier != server.system_identifier).then_some(Record {
                system_identifier: server.system_identifier,
                timeline: 0,
                ..record
            })
        })
    }

    /// Goes on under the configured layout, where every ID will be above all that were issued before.
    pub fn confirm_layout(fixed: &Fixed) -> bool {
        confirm(|record| {
            let server = server(fixed);
            if record.layout == server.layout {
                return None;
            }
            if !server.may_change_layout(&record) {
                Error::LayoutGoesBack { recorded: record.layout, through: record.through }.raise();
            }
            Some(Record { layout: server.layout, ..record })
        })
    }

    /// Goes on from the clock as it is now, however far it has jumped ahead.
    pub fn confirm_clock() -> bool {
        let mut reservations = RESERVATIONS.exclusive();
        let (clocks, jump) = reservations.jump();
        let confirmed = is_too_far(jump);
        if confirmed {
            reservations.clocks = Some(clocks);
        }
        confirmed
    }

    /// Writes what `change` makes of the record, if anything.
    fn confirm(change: impl FnOnce(Record) -> Option<Record>) -> bool {
        let _lock = RESERVATIONS.exclusive();
        match register::read() {
            Ok(Some(record)) => match change(record) {
                Some(changed) => {
                    register::flush(register::write(&changed));
                    true
                }
                None => false,
            },
            Ok(None) => false,
            Err(error) => Error::Register(error).raise(),
        }
    }
}
