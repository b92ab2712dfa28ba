//! Reservations, and what a start begins from.

use super::Turn;
use super::io::Io;
use super::request::{Found, Notice, Outcome, Refusal, Request, Served};
use super::state::{Floor, Pending, Promise, Starting};
use crate::generator::Generator;
use crate::issuer::{Issuer, Reservation};
use crate::jump::{Clocks, Jump, Reference, Verdict};
use crate::register::Record;
use crate::time::Span;

impl<I: Io> Turn<'_, I> {
    /// Writes a record that makes the timestamp available, and more than is reserved now, if that
    /// is still needed. (I2) depends on what is compared here.
    pub(super) fn reserve(
        &mut self,
        request: Request,
        published: Floor,
    ) -> Result<Served, I::Error> {
        let unpublished = self.promise.pending.and_then(|pending| pending.position);
        if let (Request::ReserveEarly, Some(position)) = (request, unpublished) {
            if position <= self.io.flushed()? {
                self.publish()?;
            }
            return Ok((Outcome::AskAgain, None));
        }
        let clocks = self.io.clocks()?;
        let generator = self.io.look()?;
        let timestamp = match request {
            Request::Reserve { timestamp, lead } => {
                if timestamp <= generator.floor() {
                    return Ok((Outcome::AskAgain, None));
                }
                if let Some(position) = unpublished {
                    self.io.flush(position)?;
                    self.publish()?;
                    // Nothing is pending any more, so this comes to an end.
                    return self.dispatch(request);
                }
                if !generator.may_need(timestamp, clocks.wall.saturating_add(lead)) {
                    // The clock was set back while this session waited: it reads the clock again.
                    return Ok((Outcome::AskAgain, None));
                }
                timestamp
            }
            _ => generator.timestamp(),
        };
        // A record that is written to the register cannot be taken back.
        let jump = match self.promise.verdict(self.issuer, clocks, generator.timestamp()) {
            Some((Verdict::Refuse, jump)) => return Err(Refusal::ClockAhead(jump).into()),
            Some((Verdict::Log, jump)) => Some(jump),
            Some((Verdict::Accept, _)) | None => None,
        };
        let age = self.promise.began.map_or(Span::ZERO, |began| clocks.boot.elapsed - began);
        let written = self.promise.pending.map_or(published.floor, |pending| pending.floor.floor);
        let least = written.max(published.floor);
        let Reservation { record, reserve_after } =
            self.issuer.reservation(timestamp, least, clocks, age);
        let record = Record { copy_of: self.promise.copy_of.flatten(), ..record };
        let floor = Floor { floor: record.floor, reserve_after };
        self.promise.pending = Some(Pending { floor, position: None });
        let position = self.io.write(record)?;
        self.promise.pending = Some(Pending { floor, position: Some(position) });
        self.promise.reference = Some(Reference::record(clocks));
        if request == Request::ReserveEarly {
            self.io.flush_soon(position)?;
        } else {
            self.io.flush(position)?;
            self.publish()?;
        }
        Ok((Outcome::Reserved { floor: record.floor }, jump.map(Notice::SteppedAhead)))
    }

    /// Publishes the floor that is pending, which the caller knows to be durable. (I1) depends on
    /// that.
    fn publish(&mut self) -> Result<(), I::Error> {
        if let Some(Pending { floor, position: Some(_) }) = self.promise.pending {
            self.io.raise(floor.floor, floor.reserve_after)?;
            self.promise.published = Some(floor);
            self.promise.pending = None;
        }
        Ok(())
    }

    /// Starts the generator above everything that the register permits.
    pub(super) fn start(&mut self, request: Request) -> Result<Served, I::Error> {
        let clocks = self.io.clocks()?;
        let found = self.io.read()?;
        if request == Request::Promoted && !self.issuer.is_promoted(&found) {
            return Ok((Outcome::AskAgain, None));
        }
        let starting = self.promise.starting(self.issuer, found, clocks)?;
        let Starting { record, start, reference, copy_of, ahead_of_upstream } = starting;
        let notice = match record {
            Some(record) => {
                if let Some(kept) = self.issuer.record_of_refusal(&record, &reference, &clocks) {
                    let position = self.io.write(kept)?;
                    self.io.flush(position)?;
                }
                Notice::Began { record, start, ahead_of_upstream }
            }
            None => {
                self.io.create(self.issuer.record(start.after, clocks))?;
                Notice::Created { after: start.after }
            }
        };
        self.io.sync_entry()?;
        let last_timestamp = self.issuer.layout.last_timestamp();
        self.io.restart(Generator::starting_after(start.after, start.hold, last_timestamp))?;
        self.promise.published = Some(Floor { floor: start.after, reserve_after: start.after });
        self.promise.began.get_or_insert(clocks.boot.elapsed);
        self.promise.pending = None;
        self.promise.reference = Some(reference);
        self.promise.copy_of = Some(copy_of);
        Ok((Outcome::AskAgain, Some(notice)))
    }
}

impl Promise {
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
        let copy_of = record.and_then(|record| self.copy_of(issuer, &record, &start));
        Ok(Starting { record, start, reference, copy_of, ahead_of_upstream })
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
