//! Reservations, and what a start begins from.

use super::events::{Effect, Event, Found, Notice, Outcome, Refusal, Request};
use super::state::{Doing, Floor, Pending, Promise, Stage, Starting, Then};
use crate::generator::Generator;
use crate::issuer::{Issuer, Reservation};
use crate::jump::{Clocks, Jump, Reference, Verdict};
use crate::register::Record;
use crate::time::Span;

impl Promise {
    /// Writes a record that makes the timestamp available, and more than is reserved now, if that
    /// is still needed. (I2) depends on what is compared here.
    pub(super) fn reserve(
        &mut self,
        issuer: &Issuer,
        request: Request,
        clocks: Clocks,
        generator: &Generator,
        published: Floor,
    ) -> Effect {
        let ask_again = Effect::Finish(Outcome::AskAgain, None);
        let timestamp = match request {
            Request::Reserve { timestamp, lead } => {
                if timestamp <= generator.floor() {
                    return ask_again;
                }
                if let Some(position) = self.pending.and_then(|pending| pending.position) {
                    return self
                        .ask(Doing::Flushing(Then::Begin(request)), Effect::Flush(position));
                }
                if !generator.may_need(timestamp, clocks.wall.saturating_add(lead)) {
                    // The clock was set back while this session waited: it reads the clock again.
                    return ask_again;
                }
                timestamp
            }
            _ => generator.timestamp(),
        };
        // A record that is written to the register cannot be taken back.
        let jump = match self.verdict(issuer, clocks, generator.timestamp()) {
            Some((Verdict::Refuse, jump)) => return Effect::Refuse(Refusal::ClockAhead(jump)),
            Some((Verdict::Log, jump)) => Some(jump),
            Some((Verdict::Accept, _)) | None => None,
        };
        let age = self.began.map_or(Span::ZERO, |began| clocks.boot.elapsed - began);
        let written = self.pending.map_or(published.floor, |pending| pending.floor.floor);
        let least = written.max(published.floor);
        let Reservation { record, reserve_after } =
            issuer.reservation(timestamp, least, clocks, age);
        let record = Record { copy_of: self.copy_of.flatten(), ..record };
        let floor = Floor { floor: record.floor, reserve_after };
        self.pending = Some(Pending { floor, position: None });
        self.ask(Doing::Writing(request, clocks, jump), Effect::Write(record))
    }

    /// The record of a reservation was written.
    pub(super) fn written(
        &mut self,
        request: Request,
        clocks: Clocks,
        jump: Option<Jump>,
        position: u64,
    ) -> Effect {
        self.reference = Some(Reference::record(clocks));
        let Some(pending) = &mut self.pending else { return Effect::Stop };
        pending.position = Some(position);
        let outcome = Outcome::Reserved { floor: pending.floor.floor };
        let then = Then::Finish(outcome, jump);
        match request {
            Request::ReserveEarly => {
                self.ask(Doing::Leaving(None, then), Effect::FlushSoon(position))
            }
            _ => self.ask(Doing::Flushing(then), Effect::Flush(position)),
        }
    }

    /// Publishes the floor that is pending, if it is durable. (I1) depends on it.
    pub(super) fn raise(&mut self, durable: u64, then: Then) -> Effect {
        match self.pending {
            Some(Pending { floor, position: Some(position) }) if position <= durable => {
                let Floor { floor, reserve_after } = floor;
                self.ask(Doing::Raising(then), Effect::Raise { floor, reserve_after })
            }
            _ => self.go_on(then),
        }
    }

    /// Starts the generator above everything that the register permits.
    pub(super) fn start(&mut self, issuer: &Issuer, found: Found, clocks: Clocks) -> Effect {
        let starting = match self.starting(issuer, found, clocks) {
            Ok(starting) => starting,
            Err(refusal) => return Effect::Refuse(refusal),
        };
        let Starting { record, start, reference, .. } = starting;
        match record {
            Some(record) => match issuer.record_of_refusal(&record, &reference, &clocks) {
                Some(kept) => {
                    self.ask(Doing::Starting(Stage::Writing, starting), Effect::Write(kept))
                }
                None => self.ask(Doing::Starting(Stage::Syncing, starting), Effect::SyncEntry),
            },
            None => {
                let record = issuer.record(start.after, clocks);
                self.ask(Doing::Starting(Stage::Writing, starting), Effect::Create(record))
            }
        }
    }

    pub(super) fn go_on_starting(
        &mut self,
        issuer: &Issuer,
        stage: Stage,
        starting: Starting,
        event: Event,
    ) -> Effect {
        let Starting { record, start, reference, copy_of, ahead_of_upstream, elapsed } = starting;
        match (stage, event) {
            (Stage::Writing, Event::Written(position)) => {
                self.ask(Doing::Starting(stage, starting), Effect::Flush(position))
            }
            (Stage::Writing, Event::Flushed(_) | Event::Done) => {
                self.ask(Doing::Starting(Stage::Syncing, starting), Effect::SyncEntry)
            }
            (Stage::Syncing, Event::Done) => {
                let last_timestamp = issuer.layout.last_timestamp();
                let generator = Generator::starting_after(start.after, start.hold, last_timestamp);
                let doing = Doing::Starting(Stage::Restarting, starting);
                self.ask(doing, Effect::Restart(generator))
            }
            (Stage::Restarting, Event::Done) => {
                self.published = Some(Floor { floor: start.after, reserve_after: start.after });
                self.began.get_or_insert(elapsed);
                self.pending = None;
                self.reference = Some(reference);
                self.copy_of = Some(copy_of);
                let notice = match record {
                    Some(record) => Notice::Began { record, start, ahead_of_upstream },
                    None => Notice::Created { after: start.after },
                };
                Effect::Finish(Outcome::AskAgain, Some(notice))
            }
            _ => self.mistaken(issuer, Doing::Starting(stage, starting), event),
        }
    }

    /// Decides a start, and does nothing: whoever asks may do so before the first ID, too.
    pub fn starting(
        &self,
        issuer: &Issuer,
        found: Found,
        clocks: Clocks,
    ) -> Result<Starting, Refusal> {
        let record = found.map_err(Refusal::Register)?;
        let (now, epoch) = (clocks.wall, issuer.layout.epoch());
        let (start, reference) = match &record {
            Some(record) => (
                issuer.start(record, now).map_err(|error| Refusal::of_start(error, record))?,
                issuer.reference(record, self.upstream),
            ),
            None if now < epoch => return Err(Refusal::ClockBeforeEpoch { now, epoch }),
            None => (issuer.first_start(now)?, Reference::record(clocks)),
        };
        let ahead_of_upstream = reference.upstream.and_then(|upstream| clocks.ahead_of(&upstream));
        let elapsed = clocks.boot.elapsed;
        let copy_of = record.and_then(|record| self.copy_of(issuer, &record, &start));
        Ok(Starting { record, start, reference, copy_of, ahead_of_upstream, elapsed })
    }
}

impl Starting {
    /// Decides about these clocks as the first ID does, and returns the jump that decides it.
    pub fn verdict(&self, issuer: &Issuer, clocks: Clocks) -> (Verdict, Jump) {
        clocks.judge(&self.reference, self.start.after, issuer.max_forward_step)
    }
}

impl Issuer {
    /// Returns whether a register was found to which this server has not written on its timeline.
    pub fn is_promoted(&self, found: &Found) -> bool {
        !matches!(found, Ok(None))
            && !matches!(found, Ok(Some(record)) if record.timeline == self.timeline)
    }
}
