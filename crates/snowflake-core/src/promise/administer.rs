//! The floor that an administrator sets, and the changes that one confirms.

use super::Turn;
use super::io::Io;
use super::request::{Found, Outcome, Refusal, Rejection, Request, Unreadable};
use super::state::{GiveBack, Promise, from_register};
use crate::issuer::{GoesBack, Issuer};
use crate::jump::{Clocks, Jump, Reference, Verdict};
use crate::register::{NO_TIMELINE, Record, RecordError};
use crate::time::Timestamp;

impl<I: Io> Turn<'_, I> {
    /// Puts the floor where it is wanted, unless something speaks against it.
    pub(super) fn set_floor(&mut self, floor: Timestamp, force: bool) -> Result<Outcome, I::Error> {
        let issuer = self.issuer;
        let clocks = self.io.clocks()?;
        // Nobody takes an ID of a later millisecond before a new floor is in force. A generator that
        // has not begun issues none, so it may stay frozen.
        self.promise.give_back = self.promise.published.map(GiveBack::Raise);
        let timestamp = self.io.freeze()?.timestamp();
        let found = self.io.read()?;
        let recorded = found.ok().flatten();
        let issued = recorded.map_or(timestamp, |record| timestamp.max(record.floor));
        if !force {
            may_replace(issuer, found)?;
            // A floor is no confirmation of the clock. IDs above one that is ahead of a wrong clock
            // would follow that clock. If a start is refused for another reason, the clock is not
            // what is in the way.
            let verdict = self.promise.verdict_on(issuer, recorded, clocks, timestamp);
            if let Ok(Some((Verdict::Refuse, jump))) = verdict {
                return Err(Refusal::ClockAhead(jump).into());
            }
            let lead = floor.saturating_sub(clocks.wall);
            if !lead.is_within(issuer.max_backward_step) {
                return Ok(Outcome::Denied(Rejection::FloorAhead { lead }));
            } else if floor < issued {
                return Ok(Outcome::Denied(Rejection::FloorLowered { floor: issued }));
            }
        }
        let timeline = match recorded {
            // A promotion that has not begun yet adds its margin to the new floor, too.
            Some(record) if record.system_identifier == issuer.system_identifier => record.timeline,
            Some(_) => NO_TIMELINE,
            None => issuer.timeline,
        };
        // A floor that is set by force is no confirmation of the clock either.
        let written = recorded.map_or(clocks, |record| record.written);
        let record = Record { timeline, ..issuer.record(floor, written) };
        // From here on, the register might hold either floor.
        self.promise.published = None;
        self.promise.pending = None;
        self.promise.give_back = Some(GiveBack::Restart(timestamp));
        self.io.overwrite(record)?;
        // Whoever sets a floor has seen to it that a copy issues no ID of its original.
        self.promise.copy_of = Some(None);
        self.io.sync_entry()?;
        self.io.restart(from_register(issuer, record.floor))?;
        // Otherwise, the end of the turn would put the former timestamp back.
        self.promise.give_back = None;
        Ok(Outcome::FloorSet { issued })
    }

    /// Writes the record that confirms a change, if there is anything to confirm.
    pub(super) fn confirm(&mut self, request: Request) -> Result<Outcome, I::Error> {
        let issuer = self.issuer;
        let clocks = self.io.clocks()?;
        let timestamp = self.io.look()?.timestamp();
        let found = self.io.read()?;
        if request == Request::ConfirmClock {
            return self.confirm_clock(found, clocks, timestamp);
        }
        let Some(record) = found.map_err(Refusal::Register)? else {
            return Ok(Outcome::Confirmed(false));
        };
        let changed = match request {
            Request::ConfirmSystemIdentifier { force, has_identity } => {
                copied(issuer, record, force, has_identity)
            }
            Request::ConfirmLayout => changed_layout(issuer, record),
            // Only one request is left: to note the copy.
            _ => self.promise.noted(issuer, record),
        };
        match changed {
            Ok(changed) => self.write_durably(changed),
            Err(outcome) => Ok(outcome),
        }
    }

    fn confirm_clock(
        &mut self,
        found: Found,
        clocks: Clocks,
        timestamp: Timestamp,
    ) -> Result<Outcome, I::Error> {
        let record = found.ok().flatten();
        let verdict = self.promise.verdict_on(self.issuer, record, clocks, timestamp)?;
        if verdict.is_none() {
            // Where the register cannot be read, that is the reason.
            found.map_err(Refusal::Register)?;
        }
        if !matches!(verdict, Some((Verdict::Refuse, _))) {
            return Ok(Outcome::Confirmed(false));
        }
        // Where the register is damaged or was deleted, a floor that is set next writes it again,
        // with the clocks of then.
        if let Some(record) = record {
            self.write_durably(Record { written: clocks, ..record })?;
        }
        self.promise.reference = Some(Reference::record(clocks));
        self.promise.upstream = None;
        Ok(Outcome::Confirmed(true))
    }

    fn write_durably(&mut self, record: Record) -> Result<Outcome, I::Error> {
        let position = self.io.write(record)?;
        self.io.flush(position)?;
        Ok(Outcome::Confirmed(true))
    }
}

impl Promise {
    /// The record that says of which server this one is a copy, or the outcome where there is
    /// nothing to write. What this incarnation has found out is in the next record without this.
    fn noted(&mut self, issuer: &Issuer, record: Record) -> Result<Record, Outcome> {
        let copy_of = issuer.copy_of(&record);
        if self.copy_of.is_some() || copy_of == record.copy_of {
            return Err(Outcome::Confirmed(false));
        }
        self.copy_of = Some(copy_of);
        Ok(Record { copy_of, ..record })
    }

    /// Returns the verdict on these clocks: that of the next reservation, or of the first ID of
    /// this incarnation, from this record. `None` where there is nothing to judge by.
    fn verdict_on(
        &self,
        issuer: &Issuer,
        record: Option<Record>,
        clocks: Clocks,
        timestamp: Timestamp,
    ) -> Result<Option<(Verdict, Jump)>, Refusal> {
        if let Some(verdict) = self.verdict(issuer, clocks, timestamp) {
            return Ok(Some(verdict));
        }
        let Some(record) = record else { return Ok(None) };
        Ok(Some(self.starting(issuer, Ok(Some(record)), clocks)?.verdict(issuer, clocks)))
    }
}

/// The record of the system that this one was copied from, as one of this system, or the outcome
/// where there is nothing to write. Without force, not if both have the same identity.
fn copied(
    issuer: &Issuer,
    record: Record,
    force: bool,
    has_identity: bool,
) -> Result<Record, Outcome> {
    let system_identifier = issuer.system_identifier;
    if record.system_identifier == system_identifier {
        Err(Outcome::Confirmed(false))
    } else if !has_identity {
        Err(Outcome::Denied(Rejection::NoIdentity))
    } else if issuer.writer.has_identity_of(&record.writer) && !force {
        Err(Outcome::Denied(Rejection::IdentityOfOriginal))
    } else {
        // By force, its original never runs again.
        let copy_of = record.copy_of.filter(|_| !force);
        Ok(Record { system_identifier, timeline: NO_TIMELINE, copy_of, ..record })
    }
}

/// The record that lets IDs continue under the configured layout, or the outcome where there is
/// nothing to write.
fn changed_layout(issuer: &Issuer, record: Record) -> Result<Record, Outcome> {
    match issuer.confirm_layout(&record) {
        Ok(changed) => changed.ok_or(Outcome::Confirmed(false)),
        Err(GoesBack) => Err(Outcome::Denied(Rejection::LayoutGoesBack {
            recorded: record.other_than(issuer.layout),
            floor: record.floor,
        })),
    }
}

/// Checks that `found` may be replaced without force: a record of this server's own, or nothing.
fn may_replace(issuer: &Issuer, found: Found) -> Result<(), Refusal> {
    use RecordError::{Damaged, OlderVersion};
    match found {
        Ok(Some(record)) => {
            issuer.check_owner(&record).map_err(|error| Refusal::of_start(error, &record))
        }
        Ok(None) | Err(Unreadable::Record(Damaged | OlderVersion(_)) | Unreadable::Deleted) => {
            Ok(())
        }
        Err(error) => Err(Refusal::Register(error)),
    }
}
