//! The durable promise behind each ID.
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
//! # The contract with whoever has the I/O
//!
//! A [`Promise`] is shared by all sessions of a server, which take turns: a session takes the lock,
//! lets the promise serve its request, and releases the lock. A start of the server begins with a
//! new one.
//!
//! Each effect of [`Io`] can fail, and a session can end in it, with or without an error. What it
//! has written cannot be unwritten. So the promise records what it is about to do before that is
//! done, and whoever comes next continues from there:
//!
//! - A record that was written stays pending until it is published. Nothing lower is written.
//! - If it is not known whether a floor that is set was written, the next ID begins from the
//!   register, whatever that holds.
//! - A generator that was frozen is told its floor again.
//!
//! The generator is under a lock of its own. While the lock of the promise is held, other sessions
//! take IDs up to its floor.

mod administer;
mod io;
mod request;
mod reserve;
mod state;

pub use io::{Io, Position};
pub use request::{Found, Notice, Outcome, Refusal, Rejection, Request, Served, Unreadable};
pub use state::{Promise, Starting};

use crate::issuer::Issuer;
use state::{Floor, GiveBack, from_register};

/// The turn of a session that has the lock.
struct Turn<'a, I: Io> {
    promise: &'a mut Promise,
    issuer: &'a Issuer,
    io: &'a mut I,
}

impl Promise {
    /// Gives back a generator that an earlier session has left frozen, and then serves the one that
    /// has taken the lock. `issuer` is the server, with its settings as they are now.
    pub fn serve<I: Io>(
        &mut self,
        issuer: &Issuer,
        request: Request,
        io: &mut I,
    ) -> Result<Served, I::Error> {
        let mut turn = Turn { promise: self, issuer, io };
        turn.give_back()?;
        turn.dispatch(request)
    }
}

impl<I: Io> Turn<'_, I> {
    fn dispatch(&mut self, request: Request) -> Result<Served, I::Error> {
        let outcome = match (request, self.promise.published) {
            (Request::SetFloor { floor, force }, _) => self.set_floor(floor, force)?,
            _ if !request.is_reservation() => self.confirm(request)?,
            // A floor was set after the session took its ID: the next request begins above it.
            (Request::ReserveEarly, None) => Outcome::AskAgain,
            (_, None) => return self.start(request),
            (_, Some(published)) => return self.reserve(request, published),
        };
        Ok((outcome, None))
    }

    fn give_back(&mut self) -> Result<(), I::Error> {
        match self.promise.give_back {
            Some(GiveBack::Raise(Floor { floor, reserve_after })) => {
                self.io.raise(floor, reserve_after)?;
            }
            Some(GiveBack::Restart(timestamp)) => {
                self.io.restart(from_register(self.issuer, timestamp))?;
            }
            None => {}
        }
        self.promise.give_back = None;
        Ok(())
    }
}

/// However a turn ends, even with a panic, it gives the generator back. If that fails, the next turn
/// begins with it.
impl<I: Io> Drop for Turn<'_, I> {
    fn drop(&mut self) {
        _ = self.give_back();
    }
}
