//! The steps of a backend: it does what the core decides, as the extension does.

use snowflake_core::generator::{
    Decision, Generator, RESERVATION, Reading, Request, Seen, WaitReason,
};
use snowflake_core::jump::{Reference, Verdict};
use snowflake_core::layout::Layout;
use snowflake_core::register::{Issuer, Reservation, Start, Writer};

use crate::bounds::{Bounds, Design, Rows};
use crate::world::{Backend, Entry, Id, START, World, idle};

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
}
