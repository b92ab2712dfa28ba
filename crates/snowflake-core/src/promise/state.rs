//! The memory of the promise.

use super::io::Position;
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
    /// The way to give back a generator that a session has frozen, or is about to freeze.
    pub(super) give_back: Option<GiveBack>,
}

/// The floor that [`super::Io::raise`] tells the generator.
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

/// The beginning of an incarnation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Starting {
    pub(super) record: Option<Record>,
    /// The timestamp that it begins after, and the explained part of its lead.
    pub start: Start,
    pub(super) reference: Reference,
    /// The original of this server, if it is a copy, and nobody has seen to that.
    pub copy_of: Option<Writer>,
    pub(super) ahead_of_upstream: Option<Span>,
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

    /// The original of this server, if it is a copy, and nobody has seen to that, with this start
    /// from the record.
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
