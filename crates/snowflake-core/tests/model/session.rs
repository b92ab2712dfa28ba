//! The steps of a session: it does what the core decides, as the extension does.

use snowflake_core::generator::{Decision, Observation, Reading, Request, Seen, WaitReason};
use snowflake_core::layout::Parts;
use snowflake_core::promise::Wish;

use crate::bounds::{Bounds, Design, Rows, layouts};
use crate::relative::BOOT;
use crate::world::{Entry, Id, Session, World, idle};

impl World {
    /// Does this step of the session, and returns the next one; `None` when it has to wait for
    /// something else.
    pub fn step(&mut self, bounds: &Bounds, session: Session) -> Option<Session> {
        Some(match session {
            Session::Idle => return None,
            Session::Read { seen } => Session::Take(Reading { now: self.clock, seen }),
            Session::Take(_) if self.counts.issued >= bounds.ids => return None,
            Session::Take(reading) => self.take(bounds, reading),
            Session::Queue { .. } => return self.leave_the_queue(bounds, session),
            Session::Look { timestamp } => Session::Observe { timestamp, now: self.clock },
            Session::Observe { timestamp, now } => self.observe(bounds, timestamp, now),
            Session::Want(_) if self.is_locked() => return None,
            Session::Want(wish) => self.begin(bounds, wish),
            Session::Do(wish, effect) => self.act(bounds, wish, effect),
        })
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
        let mut session = Session::Read { seen: Seen::NOTHING };
        self.sessions = idle();
        loop {
            // A wait ends when the clock has gone on.
            if let Session::Read { seen } = session
                && self.waits(bounds, seen)
            {
                if self.clock == end {
                    break;
                }
                self.clock += 1;
                self.elapsed += 1;
            }
            self.counts.issued = 0;
            session = self.step(bounds, session)?;
        }
        // The WAL writer does not wait for a crash.
        self.flushed = self.wal.len();
        self.counts.issued = bounds.ids;
        self.counts.clock_moves += 1;
        self.busy += by;
        self.lag = self.lag.map(|lag| lag + by);
        Some(())
    }

    /// Returns whether a request that has seen this waits for the clock.
    fn waits(&self, bounds: &Bounds, seen: Seen) -> bool {
        let request = Request { first: 0, want: 1, last_sequence: bounds.last_sequence, leave: 0 };
        let (mut generator, mut ring) = (self.generator, self.ring);
        let reading = Reading { now: self.clock, seen };
        let decision = generator.take(&mut ring, reading, request, &bounds.limits);
        matches!(decision, Decision::Wait { .. })
    }

    /// Follows an ID of another server, which the transaction that brought it commits.
    fn observe(&mut self, bounds: &Bounds, timestamp: i64, now: i64) -> Session {
        let max_lead = bounds.max_observed_lead;
        if bounds.design == Design::JudgeBeforeTheLock {
            self.judged_by = now;
        }
        if !self.promise.has_begun() {
            return Session::Want(Wish::Reserve { timestamp, lead: max_lead });
        }
        let (before, ring) = (self.generator.timestamp(), self.ring);
        let observation = self.generator.observe(&mut self.ring, timestamp, now, max_lead);
        if bounds.design == Design::KeepTheRing {
            self.ring = ring;
        }
        match observation {
            Observation::Reserve { timestamp } => {
                Session::Want(Wish::Reserve { timestamp, lead: max_lead })
            }
            Observation::Refused { .. } => Session::Idle,
            Observation::Followed { .. } => {
                if timestamp > before && timestamp - self.latest_reading > max_lead {
                    self.broken = Some("an ID was followed that was too far ahead of the clock");
                }
                let id = (timestamp, u32::MAX);
                self.seen = self.seen.max(timestamp);
                self.highest = self.highest.max(Some(id));
                if bounds.rows == Rows::Each {
                    self.wal.push(Entry::Commit(id));
                }
                Session::Idle
            }
        }
    }

    /// Returns an ID of the queue once its time has come; `None` while the session sleeps.
    fn leave_the_queue(&mut self, bounds: &Bounds, session: Session) -> Option<Session> {
        let Session::Queue { id, until, since, reserve } = session else { return None };
        let waited = BOOT + self.elapsed - since;
        let is_over = match bounds.design {
            Design::ReturnEarly => true,
            Design::SleepByTheClock => self.clock >= until,
            _ => self.clock >= until || waited >= bounds.limits.max_queue,
        };
        if !is_over {
            if waited > bounds.limits.max_queue {
                self.broken = Some("a session sleeps for longer than the queue is");
                return Some(session);
            }
            return None;
        }
        let is_first_life = self.counts.crashes == bounds.crashes && self.seen == i64::MIN;
        if is_first_life && !self.set_back && id.0 - self.clock > bounds.limits.max_burst {
            self.broken = Some("an ID was returned ahead of the clock");
        }
        Some(self.give_out(bounds, id, reserve))
    }

    /// Follows an ID that is returned.
    fn give_out(&mut self, bounds: &Bounds, id: Id, reserve: bool) -> Session {
        match bounds.rows {
            Rows::Each => self.wal.push(Entry::Commit(id)),
            Rows::None => self.commit(bounds, id),
            Rows::Lost => {}
        }
        match reserve {
            true => Session::Want(Wish::ReserveEarly),
            false => Session::Read { seen: Seen::NOTHING },
        }
    }

    /// An ID is taken that is greater than all before.
    fn claim(&mut self, bounds: &Bounds, id: Id) {
        let number = self.number(bounds, id);
        if self.highest.is_some_and(|highest| id <= highest)
            || number.is_some_and(|number| number <= self.highest_number)
        {
            self.broken = Some("an ID came again, or did not increase");
        }
        self.is_copy |= self.is_restored;
        self.highest = Some(id);
        self.highest_number = number.unwrap_or(self.highest_number);
        self.counts.issued += 1;
    }

    fn take(&mut self, bounds: &Bounds, mut reading: Reading) -> Session {
        let mut limits = bounds.limits;
        if bounds.design == Design::HoldReplacesBurst && self.generator.hold() > 0 {
            limits.max_burst = 0;
        }
        let (now, lead) = (reading.now, self.generator.timestamp() - reading.now);
        match bounds.design {
            Design::QueueWithoutABound => limits.max_queue = i64::MAX,
            Design::TakeAStepForTheQueue => {
                let more = self.generator.lead(now) - self.generator.hold().max(limits.max_burst);
                reading.now += if self.generator.lead(now) < lead { more.max(0) } else { 0 };
            }
            _ => {}
        }
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
            | Decision::Queue { run, .. }
            | Decision::Reuse { run, .. } = decision
        {
            let id = (run.timestamp, run.first);
            if self.issued_with_reuse.contains(&id) {
                self.broken = Some("an ID was issued twice");
            }
            self.issued_with_reuse.push(id);
        }
        match decision {
            Decision::Reuse { run, .. } => {
                if !self.set_back {
                    self.broken = Some("a clock that nobody set back was taken to have stepped");
                } else if run.timestamp <= self.seen {
                    self.broken = Some("an ID is not greater than one that was observed");
                }
                self.counts.issued += 1;
                Session::Read { seen: Seen::NOTHING }
            }
            Decision::Issue(run) | Decision::IssueAndReserve(run) => {
                let id = (run.timestamp, run.first);
                self.claim(bounds, id);
                self.give_out(bounds, id, matches!(decision, Decision::IssueAndReserve(_)))
            }
            Decision::Queue { run, until, reserve } => {
                let id = (run.timestamp, run.first);
                self.claim(bounds, id);
                if until - now > bounds.limits.max_queue {
                    self.broken = Some(match self.set_back {
                        true => "a step of the clock was taken for the queue",
                        false => "the queue has no bound",
                    });
                }
                Session::Queue { id, until, since: BOOT + self.elapsed, reserve }
            }
            Decision::Reread { seen } => Session::Read { seen },
            Decision::Reserve { timestamp } => Session::Want(Wish::Reserve { timestamp, lead: 0 }),
            Decision::Hold { seen, .. }
            | Decision::Wait { seen, reason: WaitReason::ClockBehind, .. } => {
                if !self.set_back {
                    self.broken = Some("a clock that nobody set back was taken to have stepped");
                }
                Session::Read { seen }
            }
            Decision::Wait { seen, reason: WaitReason::NextMillisecond, .. } => {
                if lead < bounds.limits.max_burst {
                    self.broken = Some("a burst was not allowed as far as max_burst");
                }
                Session::Read { seen }
            }
            Decision::Refuse { .. } | Decision::EndOfField => Session::Read { seen: Seen::NOTHING },
        }
    }

    /// The ID as a number, where layouts change.
    fn number(&self, bounds: &Bounds, (timestamp, sequence): Id) -> Option<i64> {
        let parts = Parts { timestamp, datacenter_id: 0, worker_id: 0, sequence };
        let number = layouts()[self.layout].compose(parts).expect("an ID of the layout");
        (bounds.changes > 0).then_some(number)
    }
}
