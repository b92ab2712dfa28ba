//! A session that has the lock: the effects of its turn one by one, with the change of the world by
//! each. The wrong designs do effects in a wrong way.

use snowflake_core::generator::Generator;
use snowflake_core::issuer::Issuer;
use snowflake_core::jump::Clocks;
use snowflake_core::promise::{Notice, Outcome, Position, Refusal, Request};
use snowflake_core::register::{Record, Writer};
use snowflake_core::time::{Span, Timestamp};

use crate::bounds::{Bounds, Design, RESERVATION, Steps, layouts};
use crate::effects::{Answer, Effect};
use crate::relative::{BOOT, START, position};
use crate::turn::Turn;
use crate::world::{Entry, Session, World, is_to_observe};

/// A failure of an effect, or of the session that does it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Failure {
    /// True if the effect was done all the same.
    pub is_done: bool,
    /// True if the turn goes on with the failure. Otherwise, the next one finds what it has left.
    pub is_told: bool,
}

impl Steps {
    /// Returns whether others may come before this effect.
    fn pauses(self, effect: Effect) -> bool {
        self == Steps::Each || matches!(effect, Effect::Flush(_) | Effect::Raise { .. })
    }
}

impl World {
    pub fn issuer(&self, bounds: &Bounds) -> Issuer {
        Issuer {
            system_identifier: self.system_identifier,
            timeline: self.timeline,
            layout: layouts()[self.layout],
            writer: Writer { datacenter_id: 0, worker_id: 0, machine: 0 },
            failover_margin: Span(bounds.margin),
            max_observed_lead: match bounds.design {
                Design::ForgetTheObservation => Span::ZERO,
                _ => Span(bounds.max_observed_lead),
            },
            max_backward_step: None,
            max_forward_step: bounds.max_forward_step.map(Span),
            start_after: None,
            is_restored: self.is_restored,
        }
    }

    /// The session has taken the lock.
    pub fn begin(&mut self, bounds: &Bounds, request: Request) -> Session {
        let (issuer, began) = (self.issuer(bounds), self.promise);
        let turn = Turn { request, issuer, began, answers: Vec::new() };
        self.go_on(bounds, turn, Steps::pauses)
    }

    /// Does the effect, and what follows from it without a step of anybody else.
    pub fn act(&mut self, bounds: &Bounds, mut turn: Turn, effect: Effect) -> Session {
        turn.answers.push(self.perform(bounds, turn.request, effect));
        self.go_on(bounds, turn, Steps::pauses)
    }

    /// Goes on up to an effect before which others may come.
    fn go_on(
        &mut self,
        bounds: &Bounds,
        mut turn: Turn,
        pauses: fn(Steps, Effect) -> bool,
    ) -> Session {
        let request = turn.request;
        loop {
            let (promise, next) = turn.replay(bounds.design);
            self.promise = promise;
            match next {
                Effect::Finish(outcome, notice) => {
                    return self.finish(bounds, request, outcome, notice);
                }
                Effect::Refuse(refusal) => {
                    if matches!(refusal, Refusal::ClockAhead(_))
                        && request.is_reservation()
                        && self.confirmed == Some(self.ahead_then)
                    {
                        self.broken = Some("a clock that was confirmed is refused");
                    }
                    return self.leave(bounds, request);
                }
                Effect::Stop => return self.leave(bounds, request),
                effect if pauses(bounds.steps, effect) => return Session::Do(turn, effect),
                effect => turn.answers.push(self.perform(bounds, request, effect)),
            }
        }
    }

    /// The effect fails, or the session ends.
    pub fn fail(
        &mut self,
        bounds: &Bounds,
        mut turn: Turn,
        effect: Effect,
        how: Failure,
    ) -> Session {
        let request = turn.request;
        if how.is_done {
            self.perform(bounds, request, effect);
        } else if let Effect::Create(record) | Effect::Overwrite(record) = effect
            && self.buffer.is_none()
        {
            // The WAL comes first, and a file that cannot be written is removed again.
            self.create(bounds, record);
            self.buffer = None;
        }
        if how.is_told {
            turn.answers.push(None);
            // The effects that are left cannot fail.
            return self.go_on(bounds, turn, |_, _| false);
        }
        self.leave(bounds, request)
    }

    /// The lock is released.
    fn leave(&mut self, bounds: &Bounds, request: Request) -> Session {
        self.ahead_then = 0;
        match request {
            Request::ReserveEarly => Session::Read { seen: None },
            Request::Reserve { .. } if !is_to_observe(request) => Session::Read { seen: None },
            Request::Reserve { timestamp, .. } => match (bounds.design, self.judged_by) {
                (Design::JudgeBeforeTheLock, Some(now)) => Session::Observe { timestamp, now },
                _ => Session::Look { timestamp },
            },
            _ => Session::Idle,
        }
    }

    fn finish(
        &mut self,
        bounds: &Bounds,
        request: Request,
        outcome: Outcome,
        notice: Option<Notice>,
    ) -> Session {
        if let Some(Notice::Began { .. } | Notice::Created { .. }) = notice {
            self.began = self.elapsed;
            self.base_of_primary.get_or_insert(self.generator.timestamp());
        }
        match (request, outcome) {
            (Request::ConfirmClock, Outcome::Confirmed(true)) => {
                self.confirmed = Some(self.ahead_then);
            }
            (Request::NoteCopy, Outcome::Confirmed(true)) => self.is_copy = true,
            (Request::SetFloor { floor, .. }, Outcome::FloorSet { issued }) if floor >= issued => {
                self.highest = self.highest.max(Some((floor, u32::MAX)));
            }
            _ => {}
        }
        self.leave(bounds, request)
    }

    fn perform(&mut self, bounds: &Bounds, request: Request, effect: Effect) -> Option<Answer> {
        Some(match effect {
            Effect::ReadClocks => {
                self.ahead_then = self.ahead();
                Answer::Clocks(self.clocks_of_reservation(bounds))
            }
            Effect::Look => Answer::Looked(self.generator),
            Effect::Freeze => {
                let before = self.generator;
                self.generator.freeze();
                Answer::Looked(before)
            }
            Effect::Read => {
                let mut record = self.buffer;
                if let Some(record) = &mut record
                    && bounds.design == Design::ForgetTheClocks
                    && request.is_reservation()
                {
                    record.written = self.clocks();
                }
                Answer::Read(Ok(record))
            }
            Effect::Create(record) => {
                self.create(bounds, record);
                self.disk = Some(record);
                Answer::Done
            }
            Effect::Overwrite(record) => {
                self.lower(request, record.floor);
                // Whoever sets a floor has seen to the copy.
                (self.is_restored, self.is_copy) = (false, false);
                if self.buffer.is_none() {
                    return self.perform(bounds, request, Effect::Create(record));
                }
                self.log_durably(record);
                Answer::Done
            }
            Effect::Write(record) => Answer::Position(self.write(bounds, request, record)?),
            Effect::Flush(_) => {
                if is_to_observe(request) {
                    self.latest_reading = self.clock;
                }
                if bounds.design != Design::PublishBeforeFlush {
                    self.flushed = self.wal.len();
                }
                Answer::Done
            }
            Effect::AskFlushed => Answer::Position(position(self.flushed)),
            Effect::FlushSoon(_) | Effect::SyncEntry => Answer::Done,
            Effect::Raise { floor, reserve_after } => {
                self.raise(bounds, floor, reserve_after);
                Answer::Done
            }
            Effect::Restart(generator) => {
                self.lower(request, generator.timestamp());
                self.generator = self.restarted(bounds, generator);
                Answer::Done
            }
            Effect::Finish(..) | Effect::Refuse(_) | Effect::Stop => unreachable!(),
        })
    }

    /// A floor that is set by force takes back what was promised.
    fn lower(&mut self, request: Request, floor: Timestamp) {
        if let Request::SetFloor { force: true, .. } = request {
            self.highest = self.highest.min(Some((floor, u32::MAX)));
            self.seen = self.seen.min(Some(floor));
        }
    }

    /// Durably, all at once, and by whatever the clock says.
    fn create(&mut self, bounds: &Bounds, record: Record) {
        self.accept(bounds, self.ahead_then);
        self.log_durably(record);
    }

    /// Reads the clocks, in a design for which no time passes.
    fn clocks_of_reservation(&self, bounds: &Bounds) -> Clocks {
        let mut clocks = self.clocks();
        if bounds.design == Design::ReachLittle && self.promise.has_begun() {
            clocks.boot.elapsed = Span(BOOT + self.began);
        }
        clocks
    }

    fn write(&mut self, bounds: &Bounds, request: Request, mut record: Record) -> Option<Position> {
        match request {
            _ if request.is_reservation() && self.promise.has_begun() => {
                if self.counts.reservations >= bounds.reservations {
                    return None;
                }
                self.counts.reservations += 1;
                if bounds.design == Design::TakeBackWhatIsReserved {
                    record.floor = record.written.wall + Span(RESERVATION);
                }
                self.judge(bounds, &record);
            }
            Request::ConfirmClock if bounds.design == Design::ConfirmInMemory => {
                self.accept(bounds, self.ahead_then);
                return Some(0);
            }
            Request::ConfirmClock => self.accept(bounds, self.ahead_then),
            _ => {}
        }
        if self.buffer.is_some_and(|before| before.floor > record.floor) {
            self.broken = Some("a record took back what an earlier one had promised (I2)");
        }
        self.wal.push(Entry::Reservation(record));
        self.buffer = Some(record);
        Some(position(self.wal.len()))
    }

    /// IDs may follow a clock that is so far ahead.
    pub fn accept(&mut self, bounds: &Bounds, ahead: i64) {
        if bounds.max_forward_step.is_some() {
            self.accepted = self.accepted.max(ahead);
        }
    }

    /// Notes whether the reservation follows a clock that no server should follow.
    fn judge(&mut self, bounds: &Bounds, record: &Record) {
        let is_of_other_boot = |written: Clocks| written.boot.boot != self.clocks().boot.boot;
        if self.buffer.is_some_and(|before| is_of_other_boot(before.written))
            && self.promise.upstream().is_none()
            && bounds.design != Design::ForgetTheUpstream
        {
            // Nobody knows how long ago the record was written.
            self.accept(bounds, self.ahead_then);
        }
        // Timestamps are ahead of the clock by a reservation, and a little more after a crash.
        let explained = self.accepted + 2 * RESERVATION;
        let Some(limit) = bounds.max_forward_step else { return };
        if self.ahead_then > explained + limit {
            self.broken = Some("a record follows a clock that jumped, unconfirmed");
        } else if record.floor > START + Span(self.elapsed + explained + RESERVATION + limit) {
            self.broken = Some("a record follows a reading that is out of date");
        }
        self.accept(bounds, self.ahead_then);
    }

    fn raise(&mut self, bounds: &Bounds, floor: Timestamp, reserve_after: Timestamp) {
        self.generator.raise_floor(floor, reserve_after);
        self.set_reuse(bounds, bounds.limits.reuse_window > Span::ZERO);
        if bounds.design == Design::KeepAcknowledgements {
            let has_floor = |entry: &Entry| matches!(entry, Entry::Reservation(record) if record.floor == floor);
            self.acknowledged_at = self.wal.iter().rposition(has_floor).map_or(0, |at| at + 1);
            self.note_acknowledgement();
        }
    }

    fn restarted(&self, bounds: &Bounds, generator: Generator) -> Generator {
        // A floor that was set lets the next ID begin from the register.
        let is_start = generator.hold() < Span::MAX;
        let less = match bounds.design {
            Design::StartAtTheRecord if is_start && self.buffer.is_some() => 1,
            Design::OneMargin if is_start => {
                let timeline = self.buffer.map_or(self.timeline, |record| record.timeline);
                bounds.margin * (i64::from(self.timeline - timeline) - 1).max(0)
            }
            _ => return generator,
        };
        let last_timestamp = layouts()[self.layout].last_timestamp();
        Generator::starting_after(
            generator.timestamp() - Span(less),
            generator.hold(),
            last_timestamp,
        )
    }
}
