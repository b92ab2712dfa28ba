//! The memory of the machine, and ways to go on with what was begun, or to give it up.

use super::events::{Effect, Notice, Outcome, Position, Refusal, Request};
use crate::generator::Generator;
use crate::issuer::{Issuer, Start};
use crate::jump::{Clocks, Jump, Reference, Verdict};
use crate::register::{Record, Writer};
use crate::time::{Span, Timestamp};

/// The state of the promise that the sessions of a server share.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Promise {
    /// The floor that the generator was told; `None` before this incarnation has begun, which is
    /// when the generator was started from the register.
    pub(super) published: Option<Floor>,
    /// When it began first, by the boot clock. A floor that is set lets it begin again.
    pub(super) began: Option<Span>,
    /// A record that was written, or might have been, and is not published.
    pub(super) pending: Option<Pending>,
    /// The reference for the clocks: what they said when the last record was written, which might
    /// have been before this incarnation; or those of the upstream, after a promotion.
    pub(super) reference: Option<Reference>,
    /// The last reading of the clock of the server that this standby follows.
    pub(super) upstream: Option<Clocks>,
    /// The original of this server, as this incarnation writes it in every record; `None` before it
    /// has begun or was told to write this down.
    pub(super) copy_of: Option<Option<Writer>>,
    pub(super) doing: Doing,
}

/// The floor that [`Effect::Raise`] tells the generator.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Floor {
    pub(super) floor: Timestamp,
    pub(super) reserve_after: Timestamp,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Pending {
    pub(super) floor: Floor,
    /// Up to where the WAL has to be flushed before the floor is published; `None` if it is not
    /// known whether the record was written.
    pub(super) position: Option<Position>,
}

/// Which effect has to come back, and what for.
#[expect(clippy::large_enum_variant, reason = "there is one, in shared memory, which has no boxes")]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(super) enum Doing {
    #[default]
    Nothing,
    ReadingClocks(Request),
    Looking(Request, Clocks),
    /// With the generator's timestamp.
    Reading(Request, Clocks, Timestamp),
    /// A record that makes timestamps available, by these clocks, which might have jumped.
    Writing(Request, Clocks, Option<Jump>),
    /// The record that is pending, to publish its floor.
    Flushing(Then),
    Raising(Then),
    /// A start from the register.
    Starting(Stage, Starting),
    SettingFloor(Stage, SettingFloor),
    /// These clocks, or something else.
    Confirming(Option<Clocks>),
    /// The generator is given back, unless it was not taken.
    Leaving(Option<GiveBack>, Then),
}

/// The next step.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Then {
    Begin(Request),
    Finish(Outcome, Option<Jump>),
    Refuse(Refusal),
    Stop,
}

/// Which of the steps that a start and a floor that is set have in common.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Stage {
    Writing,
    Syncing,
    Restarting,
}

/// The beginning of an incarnation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Starting {
    pub(super) record: Option<Record>,
    /// The timestamp that it begins after, and the explained part of its lead.
    pub start: Start,
    pub(super) reference: Reference,
    /// The original of this server, if it is a copy, and nobody has seen to that.
    pub copy_of: Option<Writer>,
    /// Of the upstream's clock, and how long the machine runs.
    pub(super) ahead_of_upstream: Option<Span>,
    pub(super) elapsed: Span,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct SettingFloor {
    pub(super) floor: Timestamp,
    /// The generator's, which is frozen.
    pub(super) timestamp: Timestamp,
    pub(super) issued: Timestamp,
}

/// Ways in which a generator that was frozen is given back to those who take IDs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum GiveBack {
    /// It may issue what it might have issued before.
    Raise(Floor),
    /// Everything up to this timestamp counts as used up, and the next ID begins from the register.
    Restart(Timestamp),
}

impl Promise {
    /// Remembers what is under way, and asks for the effect.
    pub(super) fn ask(&mut self, doing: Doing, effect: Effect) -> Effect {
        self.doing = doing;
        effect
    }

    pub(super) fn go_on(&mut self, then: Then) -> Effect {
        match then {
            Then::Begin(request) => self.begin(request),
            Then::Finish(outcome, jump) => Effect::Finish(outcome, jump.map(Notice::SteppedAhead)),
            Then::Refuse(refusal) => Effect::Refuse(refusal),
            Then::Stop => Effect::Stop,
        }
    }

    /// A new session has taken the lock.
    pub(super) fn begin(&mut self, request: Request) -> Effect {
        let is_written = self.pending.is_some_and(|pending| pending.position.is_some());
        match request {
            // A floor was set meanwhile: the next call begins above it.
            Request::ReserveEarly if !self.has_begun() => Effect::Finish(Outcome::AskAgain, None),
            Request::ReserveEarly if is_written => {
                let then = Then::Finish(Outcome::AskAgain, None);
                self.ask(Doing::Flushing(then), Effect::AskFlushed)
            }
            _ => self.ask(Doing::ReadingClocks(request), Effect::ReadClocks),
        }
    }

    /// Leaves what was begun as it has to be left, and goes on.
    pub(super) fn give_up(&mut self, issuer: &Issuer, doing: Doing, then: Then) -> Effect {
        let give_back = match doing {
            Doing::Looking(Request::SetFloor { .. }, _)
            | Doing::Reading(Request::SetFloor { .. }, ..) => self.published.map(GiveBack::Raise),
            // The register might hold the one floor or the other.
            Doing::SettingFloor(_, setting) => Some(GiveBack::Restart(setting.timestamp)),
            Doing::Leaving(give_back, _) => give_back,
            _ => None,
        };
        self.leave(issuer, give_back, then)
    }

    pub(super) fn leave(
        &mut self,
        issuer: &Issuer,
        give_back: Option<GiveBack>,
        then: Then,
    ) -> Effect {
        let effect = match give_back {
            Some(GiveBack::Raise(Floor { floor, reserve_after })) => {
                Effect::Raise { floor, reserve_after }
            }
            Some(GiveBack::Restart(timestamp)) => Effect::Restart(from_register(issuer, timestamp)),
            None => return self.go_on(then),
        };
        self.ask(Doing::Leaving(give_back, then), effect)
    }

    /// Returns whether this incarnation has begun: the generator was started from the register.
    pub fn has_begun(&self) -> bool {
        self.published.is_some()
    }

    /// Records what the clock of the server that this standby follows says at the present boot
    /// time. No session has a turn: a standby reserves nothing.
    pub fn hear(&mut self, upstream: Clocks) {
        self.upstream = Some(upstream);
    }

    /// Returns the last reading of the clock of the server that this standby follows.
    pub fn upstream(&self) -> Option<Clocks> {
        self.upstream
    }

    /// The original of this server, if it is a copy, and nobody has seen to that, with this start from
    /// the record.
    pub(super) fn copy_of(
        &self,
        issuer: &Issuer,
        record: &Record,
        start: &Start,
    ) -> Option<Writer> {
        let copy_of = self.copy_of.unwrap_or_else(|| issuer.copy_of(record));
        // Whoever gives it a start above all that it knows of speaks of the identity that it has.
        let is_settled = start.is_told(record) && issuer.might_be_a_twin(copy_of);
        copy_of.filter(|_| !is_settled)
    }

    /// Returns whether this server, which has begun, might issue the same IDs as its original.
    pub fn might_be_a_twin(&self, issuer: &Issuer) -> bool {
        issuer.might_be_a_twin(self.copy_of.flatten())
    }

    /// Returns the verdict on these clocks, where the generator has this timestamp; `None` before
    /// this incarnation has begun.
    pub fn verdict(
        &self,
        issuer: &Issuer,
        clocks: Clocks,
        timestamp: Timestamp,
    ) -> Option<(Verdict, Jump)> {
        let reference = self.reference.filter(|_| self.has_begun())?;
        Some(clocks.judge(&reference, timestamp, issuer.max_forward_step))
    }
}

/// A generator that issues nothing before the next ID has begun from the register. That the clock
/// might be behind the timestamp is not its matter, however far.
pub(super) fn from_register(issuer: &Issuer, timestamp: Timestamp) -> Generator {
    Generator::starting_after(timestamp, Span::MAX, issuer.layout.last_timestamp())
}
