//! A primary and what survives it: two backends, shared memory, the page of the register, the WAL,
//! and how much of it each standby has.

use snowflake_core::generator::{
    Decision, Generator, RESERVATION, Reading, Request, Seen, WaitReason,
};
use snowflake_core::jump::{BootClock, Clocks, Reference, Verdict};
use snowflake_core::layout::Layout;
use snowflake_core::register::{Issuer, Record, Reservation, Start, Writer};
use snowflake_core::ring::Ring;

use crate::bounds::{Bounds, Design, Rows};

pub const START: i64 = 1_800_000_000_000;
pub const BACKENDS: usize = 2;

pub type Id = (i64, u32);

/// A record of the WAL.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Entry {
    Reservation(Record),
    /// The commit of a transaction that has written the ID, or has only returned it.
    Commit(Id),
    /// A promotion.
    Timeline(u32),
}

/// What a backend does next.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Backend {
    /// Read the clock, having seen this timestamp.
    Read {
        seen: Seen,
    },
    Take(Reading),
    /// Take the lock, write the record that makes this timestamp available.
    Reserve {
        timestamp: i64,
    },
    Flush {
        reservation: Reservation,
    },
    Publish {
        reservation: Reservation,
    },
    /// Reserve without a wait, or publish what an early reservation has written.
    ReserveEarly,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct World {
    pub clock: i64,
    /// The time that has truly passed, which the boot clock shows.
    pub elapsed: i64,
    /// Shared memory: the clocks that the next reading is compared with.
    pub reference: Option<Reference>,
    /// Shared memory: the upstream's clock, while this server was a standby.
    pub upstream: Option<Clocks>,
    /// The furthest that the clock was ahead of true time where IDs were allowed to follow it.
    pub accepted: i64,
    /// How far it was ahead when somebody confirmed it last.
    pub confirmed: Option<i64>,
    pub clock_moves: u8,
    pub set_back: bool,
    pub up: bool,
    pub timeline: u32,
    /// Shared memory: gone after a crash.
    pub begun: bool,
    pub generator: Generator,
    pub ring: Ring<2>,
    /// All IDs that were issued, if reuse is on.
    pub issued_with_reuse: Vec<Id>,
    pub switches: u8,
    /// What an early reservation has written, and how much WAL has to be flushed before it counts.
    pub pending: Option<(Reservation, usize)>,
    pub backends: [Backend; BACKENDS],
    /// The page in the buffer pool, and on disk.
    pub buffer: Option<Record>,
    pub disk: Option<Record>,
    /// Recovery begins at this entry of the WAL.
    pub redo: usize,
    pub wal: Vec<Entry>,
    pub flushed: usize,
    /// How much of the WAL each standby has, until it is promoted.
    pub standbys: [Option<usize>; 2],
    /// The standby that commits wait for.
    pub required: Option<usize>,
    pub requirements: u8,
    /// Where this primary began, in its first life.
    pub base_of_primary: Option<i64>,
    /// The highest ID whose commit returned while it had to be on this standby.
    pub returned: [Option<Id>; 2],
    /// Commits that wait until the standby has so much of the WAL.
    pub waiting: Vec<(usize, Id)>,
    /// What a design that keeps accounts knows of the generator's floor: up to where the WAL has to
    /// be on the standby, and the floor of which it was seen there.
    pub acknowledged_at: usize,
    pub acknowledged: i64,
    /// When this incarnation began, in true time.
    pub began: i64,
    /// For how long IDs have been taken all the time, and for how long of that the standby has not
    /// received anything, where nothing else has happened since.
    pub busy: i64,
    pub lag: Option<i64>,
    /// The highest ID that must never come again: of all that were issued, or after a promotion, of
    /// all rows.
    pub highest: Option<Id>,
    pub issued: usize,
    pub reservations: u8,
    pub crashes: u8,
    pub checkpoints: u8,
    pub broken: Option<&'static str>,
}

impl World {
    fn issuer(&self, bounds: &Bounds) -> Issuer {
        Issuer {
            system_identifier: 1,
            timeline: self.timeline,
            layout: Layout::TWITTER,
            writer: Writer { datacenter_id: 0, worker_id: 0, machine: 0 },
            failover_margin: bounds.margin,
            max_backward_step: i64::MAX,
            start_after: None,
        }
    }

    /// A backend's next step. `None` when it has to wait for something else.
    pub fn step(&mut self, bounds: &Bounds, backend: usize) -> Option<()> {
        match self.backends[backend].clone() {
            Backend::Read { seen } => {
                self.backends[backend] = Backend::Take(Reading { now: self.clock, seen });
            }
            Backend::Take(reading) => {
                if self.issued >= bounds.ids {
                    return None;
                }
                self.backends[backend] = self.take(bounds, reading);
            }
            Backend::Reserve { timestamp } => {
                if self.is_locked() {
                    return None;
                }
                self.backends[backend] = if !self.begun {
                    self.begin(bounds);
                    Backend::Read { seen: Seen::NOTHING }
                } else if timestamp <= self.generator.floor()
                    || bounds.design != Design::ReserveForOldReadings
                        && !self.generator.may_need(timestamp, self.clock)
                {
                    Backend::Read { seen: Seen::NOTHING }
                } else if let Some((reservation, _)) = self.pending.take() {
                    Backend::Flush { reservation }
                } else {
                    let reservation = self.write(bounds, timestamp)?;
                    if bounds.design == Design::PublishBeforeFlush {
                        self.publish(bounds, reservation);
                    }
                    Backend::Flush { reservation }
                };
            }
            Backend::ReserveEarly => {
                if self.is_locked() {
                    return None;
                }
                match self.pending {
                    Some((reservation, lsn)) if lsn <= self.flushed => {
                        self.publish(bounds, reservation);
                        self.pending = None;
                    }
                    Some(_) => {}
                    None => {
                        let reservation = self.write(bounds, self.generator.timestamp())?;
                        self.pending = Some((reservation, self.wal.len()));
                    }
                }
                self.backends[backend] = Backend::Read { seen: Seen::NOTHING };
            }
            Backend::Flush { reservation } => {
                self.flushed = self.wal.len();
                self.backends[backend] = Backend::Publish { reservation };
            }
            Backend::Publish { reservation } => {
                self.publish(bounds, reservation);
                self.backends[backend] = Backend::Read { seen: Seen::NOTHING };
            }
        }
        Some(())
    }

    fn publish(&mut self, bounds: &Bounds, reservation: Reservation) {
        let Reservation { record, next_after } = reservation;
        self.generator.raise_floor(record.floor, next_after);
        self.set_reuse(bounds, bounds.limits.reuse_window > 0);
        if bounds.design == Design::KeepAcknowledgements {
            let written = |entry: &Entry| *entry == Entry::Reservation(record);
            self.acknowledged_at = self.wal.iter().rposition(written).map_or(0, |at| at + 1);
            self.note_acknowledgement();
        }
    }

    /// Keeps it as a fact, for a design that does, that the standby has the floor, or that there is
    /// none to wait for.
    fn note_acknowledgement(&mut self) {
        let received = self.required.map_or(Some(usize::MAX), |standby| self.standbys[standby]);
        if received.is_some_and(|received| self.acknowledged_at <= received) {
            self.acknowledged = self.generator.floor();
        }
    }

    /// A transaction commits that took this ID, and wrote nothing.
    fn commit(&mut self, bounds: &Bounds, id: Id) {
        let waits = match bounds.design {
            Design::ForgetTheSynchronousStandby => false,
            Design::KeepAcknowledgements => {
                if id.0 > self.acknowledged {
                    self.note_acknowledgement();
                }
                id.0 > self.acknowledged
            }
            _ => self.required.is_some(),
        };
        if waits {
            self.wal.push(Entry::Commit(id));
            self.flushed = self.wal.len();
            self.waiting.push((self.wal.len(), id));
        } else {
            self.give(id);
        }
    }

    /// A commit returns.
    fn give(&mut self, id: Id) {
        if let Some(standby) = self.required {
            self.returned[standby] = self.returned[standby].max(Some(id));
        }
    }

    /// Lets commits return that have nothing to wait for any more.
    pub fn release(&mut self) {
        let received =
            self.required.map_or(usize::MAX, |standby| self.standbys[standby].unwrap_or(0));
        for (lsn, id) in std::mem::take(&mut self.waiting) {
            if lsn <= received {
                self.give(id);
            } else {
                self.waiting.push((lsn, id));
            }
        }
    }

    /// Time passes in which every ID is taken that there is; `None` where the bounds allow no
    /// further reservation.
    pub fn take_everything(&mut self, bounds: &Bounds, by: i64) -> Option<()> {
        let end = self.clock + by;
        let mut backend = Backend::Read { seen: Seen::NOTHING };
        loop {
            // A wait ends when the clock has gone on.
            if let Backend::Read { seen } = backend
                && self.waits(bounds, seen)
            {
                if self.clock == end {
                    break;
                }
                self.clock += 1;
                self.elapsed += 1;
            }
            self.backends[0] = backend;
            self.issued = 0;
            self.step(bounds, 0)?;
            backend = self.backends[0].clone();
        }
        // The WAL writer does not wait for a crash.
        self.flushed = self.wal.len();
        self.backends = idle();
        self.issued = bounds.ids;
        self.clock_moves += 1;
        self.busy += by;
        self.lag = self.lag.map(|lag| lag + by);
        Some(())
    }

    /// Whether a request that has seen this waits for the clock.
    fn waits(&self, bounds: &Bounds, seen: Seen) -> bool {
        let request = Request { first: 0, want: 1, last_sequence: bounds.last_sequence, leave: 0 };
        let (mut generator, mut ring) = (self.generator, self.ring);
        let reading = Reading { now: self.clock, seen };
        let decision = generator.take(&mut ring, reading, request, &bounds.limits);
        matches!(decision, Decision::Wait { .. })
    }

    pub fn set_reuse(&mut self, bounds: &Bounds, on: bool) {
        if bounds.design == Design::NothingWasUsedBefore {
            let mut as_it_was = self.ring;
            self.generator.set_reuse(&mut as_it_was, on);
            self.ring.begin(0);
        } else {
            self.generator.set_reuse(&mut self.ring, on);
        }
    }

    /// Whether a backend is between writing and publishing, with the lock held.
    pub fn is_locked(&self) -> bool {
        self.backends
            .iter()
            .any(|backend| matches!(backend, Backend::Flush { .. } | Backend::Publish { .. }))
    }

    /// Writes the record that makes `timestamp` available; `None` where the bounds allow no more.
    fn write(&mut self, bounds: &Bounds, timestamp: i64) -> Option<Reservation> {
        if self.reservations >= bounds.reservations {
            return None;
        }
        let now = self.clocks();
        if self.verdict(bounds) == Verdict::Refuse {
            if self.confirmed != Some(self.ahead()) {
                return None;
            }
            self.broken = Some("a clock that was confirmed is refused");
        }
        if let Some(Reference { record, upstream: None }) = self.reference
            && record.boot.boot != now.boot.boot
            && bounds.design != Design::ForgetTheUpstream
        {
            // Nobody knows how long ago the record was written.
            self.accepted = self.accepted.max(self.ahead());
        }
        // Timestamps are ahead of the clock by a reservation, and a little more after a crash.
        let explained = self.accepted + 2 * RESERVATION;
        if bounds.max_forward_step.is_some_and(|limit| self.ahead() > explained + limit) {
            self.broken.get_or_insert("a record follows a clock that jumped, unconfirmed");
        }
        self.accepted = self.accepted.max(self.ahead());
        self.reference = Some(Reference::record(now));
        self.reservations += 1;
        let before = match bounds.design {
            Design::TakeBackWhatIsReserved => i64::MIN,
            _ => self.generator.floor(),
        };
        let age = match bounds.design {
            Design::ReachLittle => 0,
            _ => self.elapsed - self.began,
        };
        let reservation = self.issuer(bounds).reservation(timestamp, before, now, age);
        let record = reservation.record;
        if self.buffer.is_some_and(|before| before.floor > record.floor) {
            self.broken = Some("a record took back what an earlier one had promised (I2)");
        }
        let furthest = START + self.elapsed + explained + RESERVATION;
        let follows = bounds.max_forward_step.is_some_and(|limit| record.floor > furthest + limit);
        if follows && self.broken.is_none() {
            self.broken = Some("a record follows a reading that is out of date");
        }
        self.wal.push(Entry::Reservation(record));
        self.buffer = Some(record);
        Some(reservation)
    }

    fn take(&mut self, bounds: &Bounds, reading: Reading) -> Backend {
        let mut limits = bounds.limits;
        if bounds.design == Design::HoldReplacesBurst && self.generator.hold() > 0 {
            limits.max_burst = 0;
        }
        let lead = self.generator.timestamp() - reading.now;
        let request = Request { first: 0, want: 1, last_sequence: bounds.last_sequence, leave: 0 };
        let ring = self.ring;
        let mut decision = self.generator.take(&mut self.ring, reading, request, &limits);
        if let (Design::JudgeStaleReadings, Decision::Reread { seen }) = (bounds.design, decision) {
            let reading = Reading { seen, ..reading };
            decision = self.generator.take(&mut self.ring, reading, request, &limits);
        }
        let forgets = match decision {
            Decision::Reuse { .. } => Design::ReuseAgain,
            _ => Design::ForgetWhatWasUsed,
        };
        if bounds.design == forgets {
            self.ring = ring;
        }
        if limits.reuse_window > 0
            && let Decision::Issue(run)
            | Decision::IssueAndReserve(run)
            | Decision::Reuse { run, .. } = decision
        {
            let id = (run.timestamp, run.first);
            if self.issued_with_reuse.contains(&id) {
                self.broken = Some("an ID was issued twice");
            }
            self.issued_with_reuse.push(id);
        }
        match decision {
            Decision::Reuse { .. } => {
                if !self.set_back {
                    self.broken = Some("a clock that nobody set back was taken to have stepped");
                }
                self.issued += 1;
                Backend::Read { seen: Seen::NOTHING }
            }
            Decision::Issue(run) | Decision::IssueAndReserve(run) => {
                let id = (run.timestamp, run.first);
                if self.highest.is_some_and(|highest| id <= highest) {
                    self.broken = Some("an ID came again, or did not increase");
                }
                self.highest = Some(id);
                self.issued += 1;
                match bounds.rows {
                    Rows::Each => self.wal.push(Entry::Commit(id)),
                    Rows::None => self.commit(bounds, id),
                    Rows::Lost => {}
                }
                match decision {
                    Decision::IssueAndReserve(_) => Backend::ReserveEarly,
                    _ => Backend::Read { seen: Seen::NOTHING },
                }
            }
            Decision::Reread { seen } => Backend::Read { seen },
            Decision::Reserve { timestamp } => Backend::Reserve { timestamp },
            Decision::Hold { seen, .. }
            | Decision::Wait { seen, reason: WaitReason::ClockBehind, .. } => {
                if !self.set_back {
                    self.broken = Some("a clock that nobody set back was taken to have stepped");
                }
                Backend::Read { seen }
            }
            Decision::Wait { seen, reason: WaitReason::NextMillisecond, .. } => {
                if lead < bounds.limits.max_burst {
                    self.broken = Some("a burst was not allowed as far as max_burst");
                }
                Backend::Read { seen }
            }
            Decision::Refuse { .. } | Decision::EndOfField => Backend::Read { seen: Seen::NOTHING },
        }
    }

    fn begin(&mut self, bounds: &Bounds) {
        let issuer = self.issuer(bounds);
        let mut start = match self.buffer {
            Some(record) => {
                let upstream = match bounds.design {
                    Design::ForgetTheUpstream => None,
                    _ => self.upstream,
                };
                let reference = issuer.reference(&record, upstream);
                let limit = bounds.max_forward_step;
                let kept = issuer.record_of_refusal(&record, &reference, &self.clocks(), limit);
                if let Some(record) = kept {
                    self.log_durably(record);
                }
                if bounds.design != Design::ForgetTheClocks {
                    self.reference = Some(reference);
                }
                issuer.start(&record, self.clock).expect("its own record")
            }
            None => {
                // Created durably, all at once.
                let record = issuer.record(self.clock - 1, self.clocks());
                self.accepted = self.accepted.max(self.ahead());
                self.reference = Some(Reference::record(record.written));
                self.log_durably(record);
                self.disk = Some(record);
                Start { after: record.floor, hold: 0, margin: 0 }
            }
        };
        if bounds.design == Design::OneMargin {
            start.after -= (start.margin - bounds.margin).max(0);
        }
        if bounds.design == Design::StartAtTheRecord {
            start.after -= 1;
        }
        self.generator =
            Generator::starting_after(start.after, start.hold, issuer.layout.last_timestamp());
        self.begun = true;
        self.began = self.elapsed;
        self.base_of_primary.get_or_insert(start.after);
    }

    /// The timeline that whoever has so much of the WAL knows of.
    pub fn known_timeline(&self, received: usize) -> u32 {
        let timelines = self.wal[..received].iter().rev().find_map(|entry| match entry {
            Entry::Timeline(timeline) => Some(*timeline),
            _ => None,
        });
        timelines.unwrap_or(1)
    }

    pub fn log_durably(&mut self, record: Record) {
        self.wal.push(Entry::Reservation(record));
        self.flushed = self.wal.len();
        self.buffer = Some(record);
    }

    /// How far the clock is ahead of true time.
    pub fn ahead(&self) -> i64 {
        self.clock - START - self.elapsed
    }

    pub fn clocks(&self) -> Clocks {
        // Each promotion is on another machine.
        let boot = self.timeline.into();
        Clocks { wall: self.clock, boot: BootClock { boot, elapsed: self.elapsed } }
    }

    /// What a reservation makes of the clock.
    pub fn verdict(&self, bounds: &Bounds) -> Verdict {
        self.reference.map_or(Verdict::Accept, |reference| {
            let timestamp = self.generator.timestamp();
            self.clocks().judge(&reference, timestamp, bounds.max_forward_step).0
        })
    }

    pub fn lose_memory(&mut self) {
        self.begun = false;
        self.reference = None;
        self.upstream = None;
        // What a client was not told of is nobody's.
        self.waiting.clear();
        self.pending = None;
        (self.acknowledged_at, self.acknowledged) = (0, i64::MIN);
        self.busy = 0;
        self.generator = unstarted();
        self.ring = Ring::new();
        self.backends = idle();
        self.buffer = None;
    }

    pub fn recover(&mut self) {
        self.buffer = self.disk;
        for entry in &self.wal[self.redo..] {
            if let Entry::Reservation(record) = entry {
                self.buffer = Some(*record);
            }
        }
        self.flushed = self.wal.len();
    }
}

pub fn unstarted() -> Generator {
    Generator::starting_after(0, 0, Layout::TWITTER.last_timestamp())
}

pub fn idle() -> [Backend; BACKENDS] {
    [const { Backend::Read { seen: Seen::NOTHING } }; BACKENDS]
}
