//! The floor that an administrator sets, and the changes that one confirms.

use super::events::{Effect, Found, Outcome, Refusal, Rejection, Request, Unreadable};
use super::state::{Doing, GiveBack, Promise, SettingFloor, Stage, Then, from_register};
use crate::issuer::{GoesBack, Issuer};
use crate::jump::{Clocks, Jump, Reference, Verdict};
use crate::register::{NO_TIMELINE, Record, RecordError};
use crate::time::Timestamp;

impl Promise {
    /// Puts the floor where it is wanted, unless something speaks against it.
    pub(super) fn set_floor(
        &mut self,
        issuer: &Issuer,
        found: Found,
        clocks: Clocks,
        timestamp: Timestamp,
        floor: Timestamp,
        force: bool,
    ) -> Effect {
        let recorded = found.ok().flatten();
        let issued = recorded.map_or(timestamp, |record| timestamp.max(record.floor));
        let refusal = || self.refusal(issuer, found, clocks, timestamp, floor, issued);
        if let Some(refusal) = (!force).then(refusal).flatten() {
            return self.leave(issuer, self.published.map(GiveBack::Raise), refusal);
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
        self.published = None;
        self.pending = None;
        let setting = SettingFloor { floor: record.floor, timestamp, issued };
        self.ask(Doing::SettingFloor(Stage::Writing, setting), Effect::Overwrite(record))
    }

    pub(super) fn go_on_setting(
        &mut self,
        issuer: &Issuer,
        stage: Stage,
        setting: SettingFloor,
    ) -> Effect {
        match stage {
            Stage::Writing => {
                // Whoever sets a floor has seen to it that a copy issues no ID of its original.
                self.copy_of = Some(None);
                self.ask(Doing::SettingFloor(Stage::Syncing, setting), Effect::SyncEntry)
            }
            Stage::Syncing => {
                let doing = Doing::SettingFloor(Stage::Restarting, setting);
                self.ask(doing, Effect::Restart(from_register(issuer, setting.floor)))
            }
            Stage::Restarting => Effect::Finish(Outcome::FloorSet { issued: setting.issued }, None),
        }
    }

    /// Returns the reason against a floor that is not forced: a record that is not this server's
    /// own, a clock that is refused or far behind, or IDs of later times.
    fn refusal(
        &self,
        issuer: &Issuer,
        found: Found,
        clocks: Clocks,
        timestamp: Timestamp,
        floor: Timestamp,
        issued: Timestamp,
    ) -> Option<Then> {
        if let Err(refusal) = may_replace(issuer, found) {
            return Some(Then::Refuse(refusal));
        }
        // A floor is no confirmation of the clock. IDs above one that is ahead of a wrong clock would
        // follow that clock. If a start is refused for another reason, the clock is not what is in
        // the way.
        let verdict = self.verdict_on(issuer, found.ok().flatten(), clocks, timestamp);
        if let Ok(Some((Verdict::Refuse, jump))) = verdict {
            return Some(Then::Refuse(Refusal::ClockAhead(jump)));
        }
        let lead = floor.saturating_sub(clocks.wall);
        let rejection = if !lead.is_within(issuer.max_backward_step) {
            Rejection::FloorAhead { lead }
        } else if floor < issued {
            Rejection::FloorLowered { floor: issued }
        } else {
            return None;
        };
        Some(Then::Finish(Outcome::Denied(rejection), None))
    }

    /// Writes the record that confirms a change, if there is anything to confirm.
    pub(super) fn confirm(
        &mut self,
        issuer: &Issuer,
        request: Request,
        found: Found,
        clocks: Clocks,
        timestamp: Timestamp,
    ) -> Effect {
        let changed = match request {
            Request::ConfirmSystemIdentifier { force, has_identity } => {
                copied(issuer, found, force, has_identity)
            }
            Request::ConfirmLayout => changed_layout(issuer, found),
            Request::NoteCopy => self.noted(issuer, found),
            _ => return self.confirm_clock(issuer, found, clocks, timestamp),
        };
        match changed {
            Ok(changed) => self.ask(Doing::Confirming(None), Effect::Write(changed)),
            Err(then) => self.go_on(then),
        }
    }

    /// The record that says of which server this one is a copy. What this incarnation has found out is
    /// in the next record without this.
    fn noted(&mut self, issuer: &Issuer, found: Found) -> Result<Record, Then> {
        let Ok(Some(record)) = found else { return Err(nothing_found(found)) };
        let copy_of = issuer.copy_of(&record);
        if self.copy_of.is_some() || copy_of == record.copy_of {
            return Err(NOTHING_TO_CONFIRM);
        }
        self.copy_of = Some(copy_of);
        Ok(Record { copy_of, ..record })
    }

    fn confirm_clock(
        &mut self,
        issuer: &Issuer,
        found: Found,
        clocks: Clocks,
        timestamp: Timestamp,
    ) -> Effect {
        let record = found.ok().flatten();
        match self.verdict_on(issuer, record, clocks, timestamp) {
            Ok(Some((Verdict::Refuse, _))) => {}
            Ok(Some(_)) => return self.go_on(NOTHING_TO_CONFIRM),
            Ok(None) => return self.go_on(nothing_found(found)),
            Err(refusal) => return Effect::Refuse(refusal),
        }
        match record {
            Some(record) => {
                let record = Record { written: clocks, ..record };
                self.ask(Doing::Confirming(Some(clocks)), Effect::Write(record))
            }
            // Where the register is damaged or was deleted, a floor that is set next writes it again,
            // with the clocks of then.
            None => self.confirmed(Some(clocks)),
        }
    }

    /// The confirmation is durable.
    pub(super) fn confirmed(&mut self, clocks: Option<Clocks>) -> Effect {
        if let Some(clocks) = clocks {
            self.reference = Some(Reference::record(clocks));
            self.upstream = None;
        }
        Effect::Finish(Outcome::Confirmed(true), None)
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

const NOTHING_TO_CONFIRM: Then = Then::Finish(Outcome::Confirmed(false), None);

fn nothing_found(found: Found) -> Then {
    match found {
        Ok(_) => NOTHING_TO_CONFIRM,
        Err(error) => Then::Refuse(Refusal::Register(error)),
    }
}

fn denied(rejection: Rejection) -> Then {
    Then::Finish(Outcome::Denied(rejection), None)
}

/// The record of the system that this one was copied from, as one of this system. Without force, not
/// if both have the same identity.
fn copied(issuer: &Issuer, found: Found, force: bool, has_identity: bool) -> Result<Record, Then> {
    let Ok(Some(record)) = found else { return Err(nothing_found(found)) };
    let system_identifier = issuer.system_identifier;
    if record.system_identifier == system_identifier {
        Err(NOTHING_TO_CONFIRM)
    } else if !has_identity {
        Err(denied(Rejection::NoIdentity))
    } else if issuer.writer.has_identity_of(&record.writer) && !force {
        Err(denied(Rejection::IdentityOfOriginal))
    } else {
        // By force, its original never runs again.
        let copy_of = record.copy_of.filter(|_| !force);
        Ok(Record { system_identifier, timeline: NO_TIMELINE, copy_of, ..record })
    }
}

/// The record that lets IDs continue under the configured layout.
fn changed_layout(issuer: &Issuer, found: Found) -> Result<Record, Then> {
    let Ok(Some(record)) = found else { return Err(nothing_found(found)) };
    match issuer.confirm_layout(&record) {
        Ok(changed) => changed.ok_or(NOTHING_TO_CONFIRM),
        Err(GoesBack) => Err(denied(Rejection::LayoutGoesBack {
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
