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
//! What it has written cannot be unwritten. So the machine records what it asks for before that is
//! done, and whoever comes next continues from there:
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
mod state;

use std::mem;

pub use events::{
    Effect, Event, Found, Notice, Outcome, Position, Refusal, Rejection, Request, Unreadable,
};
pub use state::{Promise, Starting};

use crate::issuer::Issuer;
use state::{Doing, Then};

impl Promise {
    /// Tells the machine this event, and then what came of each effect, until there is nothing more
    /// to do: until [`Effect::Finish`], [`Effect::Refuse`] or [`Effect::Stop`], which it returns.
    /// `perform` does an effect, and returns its event. If it returns `None`, the turn is left in the
    /// middle, at the effect that is returned: the caller goes on later, or with [`Event::Failed`].
    pub fn drive(
        &mut self,
        issuer: &Issuer,
        mut event: Event,
        mut perform: impl FnMut(Effect) -> Option<Event>,
    ) -> Effect {
        loop {
            let effect = self.handle(issuer, event);
            if matches!(effect, Effect::Finish(..) | Effect::Refuse(_) | Effect::Stop) {
                return effect;
            }
            match perform(effect) {
                Some(came) => event = came,
                None => return effect,
            }
        }
    }

    /// Returns the next effect. `issuer` is the server, with its settings as they are now.
    pub fn handle(&mut self, issuer: &Issuer, event: Event) -> Effect {
        match (mem::take(&mut self.doing), event) {
            (doing, Event::Wanted(request)) => self.give_up(issuer, doing, Then::Begin(request)),
            (doing, Event::Failed) => self.give_up(issuer, doing, Then::Stop),
            (Doing::ReadingClocks(request), Event::Clocks(clocks)) => {
                // Nobody takes an ID of a later millisecond before a new floor is in force.
                let is_floor = matches!(request, Request::SetFloor { .. });
                let effect = if is_floor { Effect::Freeze } else { Effect::Look };
                self.ask(Doing::Looking(request, clocks), effect)
            }
            (Doing::Looking(request, clocks), Event::Looked(generator)) => match self.published {
                Some(floor) if request.is_reservation() => {
                    self.reserve(issuer, request, clocks, &generator, floor)
                }
                _ => {
                    let doing = Doing::Reading(request, clocks, generator.timestamp());
                    self.ask(doing, Effect::Read)
                }
            },
            (Doing::Reading(request, clocks, timestamp), Event::Read(found)) => match request {
                Request::Promoted if !issuer.is_promoted(&found) => {
                    Effect::Finish(Outcome::AskAgain, None)
                }
                _ if request.is_reservation() => self.start(issuer, found, clocks),
                Request::SetFloor { floor, force } => {
                    self.set_floor(issuer, found, clocks, timestamp, floor, force)
                }
                _ => self.confirm(issuer, request, found, clocks, timestamp),
            },
            (Doing::Writing(request, clocks, jump), Event::Written(position)) => {
                self.written(request, clocks, jump, position)
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
                self.ask(doing, Effect::Flush(position))
            }
            (Doing::Confirming(clocks), Event::Flushed(_)) => self.confirmed(clocks),
            (Doing::Leaving(_, then), Event::Done) => self.go_on(then),
            (doing, event) => self.mistaken(issuer, doing, event),
        }
    }

    /// The driver is wrong. Nothing is lost by an effect that is given up.
    fn mistaken(&mut self, issuer: &Issuer, doing: Doing, event: Event) -> Effect {
        debug_assert!(false, "{event:?} is no answer to what was asked for: {doing:?}");
        self.give_up(issuer, doing, Then::Stop)
    }
}
