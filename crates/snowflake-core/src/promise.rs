//! The durable promise behind each ID, as a state machine: what has happened -> what to do next.
//!
//! The register holds a floor: no ID of a later time has been issued. A reservation raises the
//! floor ahead of use. It is flushed before the generator is told the new floor, and the generator
//! issues nothing above the floor that it was told. So:
//!
//! - (I1) every issued timestamp <= the generator's floor <= a floor that is durable;
//! - (I2) the floor never falls within a timeline, and the rules of WAL recover it;
//! - (I3) a new incarnation of the server begins above the recovered floor;
//! - (I4) within one incarnation, the generator's lock makes IDs distinct, and strictly increasing
//!   unless reuse is on.
//!
//! A row's WAL comes after that of its reservation, so every timeline that has the row has the
//! reservation.
//!
//! # The contract with whoever drives it
//!
//! A [`Promise`] is shared by all sessions of a server, which take turns: a session takes the lock,
//! tells the machine what it wants, does each [`Effect`] and tells what came of it, and releases the
//! lock when there is nothing more to do. A start of the server begins with a new one.
//!
//! An effect can fail, and a session can end between any two effects, with or without saying so.
//! What it has written cannot be unwritten. So the machine takes down what it asks for before that
//! is done, and whoever comes next continues from there:
//!
//! - A record that was written stays pending until it is published. Nothing lower is written.
//! - If it is not known whether a floor that is set was written, the next ID begins from the
//!   register, whatever that holds.
//! - A generator that was frozen is told its floor again.
//!
//! The generator is under a lock of its own. While the lock of the machine is held, other sessions
//! take IDs up to its floor.

mod administer;
mod events;
mod reserve;

use std::mem;

pub use events::{
    Denial, Effect, Event, Found, News, Outcome, Position, Refusal, Unreadable, Wish,
};
pub use reserve::first_start;

use crate::generator::Generator;
use crate::jump::{Clocks, Jump, Reference, Verdict};
use crate::register::{Issuer, Record, Start};

/// What the sessions of a server share about the promise.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Promise {
    /// The floor that the generator was told; `None` before this incarnation has begun, which is
    /// when the generator was started from the register.
    published: Option<Floor>,
    /// When it began first, by the boot clock, in milliseconds. A floor that is set lets it begin
    /// again.
    began: Option<i64>,
    /// A record that was written, or might have been, and is not published.
    pending: Option<Pending>,
    /// What the clocks are compared with: what they said when the last record was written, which
    /// might have been before this incarnation; or those of the upstream, after a promotion.
    reference: Option<Reference>,
    /// What the clock of the server that this standby follows said last.
    upstream: Option<Clocks>,
    doing: Doing,
}

/// What [`Effect::Raise`] tells the generator.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Floor {
    floor: i64,
    next_after: i64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Pending {
    floor: Floor,
    /// Up to where the WAL has to be flushed before the floor is published; `None` if it is not
    /// known whether the record was written.
    position: Option<Position>,
}

/// Which effect has to come back, and what for.
#[expect(clippy::large_enum_variant, reason = "there is one, in shared memory, which has no boxes")]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
enum Doing {
    #[default]
    Nothing,
    ReadingClocks(Wish),
    Looking(Wish, Clocks),
    /// With the generator's timestamp.
    Reading(Wish, Clocks, i64),
    /// A record that makes timestamps available, by these clocks, which might have jumped.
    Writing(Wish, Clocks, Option<Jump>),
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

/// What follows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Then {
    Begin(Wish),
    Finish(Outcome, Option<Jump>),
    Refuse(Refusal),
    Stop,
}

/// Which of the steps that a start and a floor that is set have in common.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Stage {
    Writing,
    Syncing,
    Restarting,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Starting {
    record: Option<Record>,
    start: Start,
    reference: Reference,
    /// Of the upstream's clock, and how long the machine runs, in milliseconds.
    ahead_of_upstream: Option<i64>,
    elapsed: i64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct SettingFloor {
    floor: i64,
    /// The generator's, which is frozen.
    timestamp: i64,
    issued: i64,
}

/// How a generator that was frozen is given back to those who take IDs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum GiveBack {
    /// It may issue what it might have issued before.
    Raise(Floor),
    /// Everything up to this timestamp counts as used up, and the next ID begins from the register.
    Restart(i64),
}

impl Promise {
    /// What to do next. `issuer` is the server, with its settings as they are now.
    pub fn step(&mut self, issuer: &Issuer, event: Event) -> Effect {
        match (mem::take(&mut self.doing), event) {
            (doing, Event::Wanted(wish)) => self.give_up(issuer, doing, Then::Begin(wish)),
            (doing, Event::Failed) => self.give_up(issuer, doing, Then::Stop),
            (Doing::ReadingClocks(wish), Event::Clocks(clocks)) => {
                // Nobody takes an ID of a later millisecond before a new floor is in force.
                let is_floor = matches!(wish, Wish::SetFloor { .. });
                let effect = if is_floor { Effect::Freeze } else { Effect::Look };
                self.wait(Doing::Looking(wish, clocks), effect)
            }
            (Doing::Looking(wish, clocks), Event::Looked(generator)) => match self.published {
                Some(floor) if wish.is_reservation() => {
                    self.reserve(issuer, wish, clocks, &generator, floor)
                }
                _ => {
                    let doing = Doing::Reading(wish, clocks, generator.timestamp());
                    self.wait(doing, Effect::Read)
                }
            },
            (Doing::Reading(wish, clocks, timestamp), Event::Read(found)) => match wish {
                Wish::Reserve { .. } | Wish::ReserveEarly => self.start(issuer, found, clocks),
                Wish::SetFloor { floor, force } => {
                    self.set_floor(issuer, found, clocks, timestamp, floor, force)
                }
                _ => self.confirm(issuer, wish, found, clocks, timestamp),
            },
            (Doing::Writing(wish, clocks, jump), Event::Written(position)) => {
                self.written(wish, clocks, jump, position)
            }
            (Doing::Flushing(then), Event::Flushed(position)) => self.raise(position, then),
            (Doing::Raising(then), Event::Done) => {
                self.published = self.pending.take().map(|pending| pending.floor);
                self.go_on(then)
            }
            (Doing::Starting(stage, starting), event) => {
                self.go_on_starting(issuer, stage, starting, event)
            }
            (Doing::SettingFloor(stage, setting), Event::Done) => {
                self.go_on_setting(issuer, stage, setting)
            }
            (doing @ Doing::Confirming(_), Event::Written(position)) => {
                self.wait(doing, Effect::Flush(position))
            }
            (Doing::Confirming(clocks), Event::Flushed(_)) => self.confirmed(clocks),
            (Doing::Leaving(_, then), Event::Done) => self.go_on(then),
            (doing, event) => self.mistaken(issuer, doing, event),
        }
    }

    /// Waits for what comes of the effect.
    fn wait(&mut self, doing: Doing, effect: Effect) -> Effect {
        self.doing = doing;
        effect
    }

    fn go_on(&mut self, then: Then) -> Effect {
        match then {
            Then::Begin(wish) => self.begin(wish),
            Then::Finish(outcome, jump) => Effect::Finish(outcome, jump.map(News::SteppedAhead)),
            Then::Refuse(refusal) => Effect::Refuse(refusal),
            Then::Stop => Effect::Stop,
        }
    }

    /// A new session has taken the lock.
    fn begin(&mut self, wish: Wish) -> Effect {
        let is_written = self.pending.is_some_and(|pending| pending.position.is_some());
        match wish {
            // A floor was set meanwhile: the next call begins above it.
            Wish::ReserveEarly if !self.has_begun() => Effect::Finish(Outcome::AskAgain, None),
            Wish::ReserveEarly if is_written => {
                let then = Then::Finish(Outcome::AskAgain, None);
                self.wait(Doing::Flushing(then), Effect::AskFlushed)
            }
            _ => self.wait(Doing::ReadingClocks(wish), Effect::ReadClocks),
        }
    }

    /// Leaves what was begun as it has to be left, and goes on.
    fn give_up(&mut self, issuer: &Issuer, doing: Doing, then: Then) -> Effect {
        let give_back = match doing {
            Doing::Looking(Wish::SetFloor { .. }, _)
            | Doing::Reading(Wish::SetFloor { .. }, ..) => self.published.map(GiveBack::Raise),
            // The register might hold the one floor or the other.
            Doing::SettingFloor(_, setting) => Some(GiveBack::Restart(setting.timestamp)),
            Doing::Leaving(give_back, _) => give_back,
            _ => None,
        };
        self.leave(issuer, give_back, then)
    }

    fn leave(&mut self, issuer: &Issuer, give_back: Option<GiveBack>, then: Then) -> Effect {
        let effect = match give_back {
            Some(GiveBack::Raise(Floor { floor, next_after })) => {
                Effect::Raise { floor, next_after }
            }
            Some(GiveBack::Restart(timestamp)) => Effect::Restart(from_register(issuer, timestamp)),
            None => return self.go_on(then),
        };
        self.wait(Doing::Leaving(give_back, then), effect)
    }

    /// The driver is wrong. Nothing is lost by an effect that is given up.
    fn mistaken(&mut self, issuer: &Issuer, doing: Doing, event: Event) -> Effect {
        debug_assert!(false, "{event:?} is no answer to what was asked for: {doing:?}");
        self.give_up(issuer, doing, Then::Stop)
    }

    /// Whether this incarnation has begun: the generator was started from the register.
    pub fn has_begun(&self) -> bool {
        self.published.is_some()
    }

    /// Takes down what the clock of the server that this standby follows says at the present boot
    /// time. No session has a turn: a standby reserves nothing.
    pub fn hear(&mut self, upstream: Clocks) {
        self.upstream = Some(upstream);
    }

    /// What the clock of the server that this standby follows said last.
    pub fn upstream(&self) -> Option<Clocks> {
        self.upstream
    }

    /// What to do about these clocks, where the generator has this timestamp; `None` before this
    /// incarnation has begun.
    pub fn verdict(
        &self,
        issuer: &Issuer,
        clocks: Clocks,
        timestamp: i64,
    ) -> Option<(Verdict, Jump)> {
        let reference = self.reference.filter(|_| self.has_begun())?;
        Some(clocks.judge(&reference, timestamp, issuer.max_forward_step))
    }
}

/// A generator that issues nothing before the next ID has begun from the register. That the clock
/// might be behind the timestamp is not its matter, however far.
fn from_register(issuer: &Issuer, timestamp: i64) -> Generator {
    Generator::starting_after(timestamp, i64::MAX, issuer.layout.last_timestamp())
}

impl Wish {
    /// Whether it is to issue IDs, and not an administrator's.
    pub fn is_reservation(self) -> bool {
        matches!(self, Wish::Reserve { .. } | Wish::ReserveEarly)
    }
}
