//! Requests of sessions, and what comes of them.

use crate::issuer::{Start, StartAfterAhead, StartError};
use crate::jump::Jump;
use crate::layout::Layout;
use crate::register::{Record, RecordError, Writer};
use crate::time::{Span, Timestamp};

/// The request of a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Request {
    /// Issue IDs of this timestamp, which might be needed so far ahead of the clock. The generator
    /// is asked again afterwards, whatever came of it.
    Reserve {
        /// The timestamp.
        timestamp: Timestamp,
        /// The lead over the clock.
        lead: Span,
    },
    /// Reserve without a wait: write the next record, or publish one that is durable by now.
    ReserveEarly,
    /// Begin, and then put the floor above the clock, because this server was promoted: wanted
    /// until the record is of its timeline. Where it takes no ID, other servers know its clock all
    /// the same, and start above it.
    Promoted,
    /// Put the floor at this time, and begin above it.
    SetFloor {
        /// The floor.
        floor: Timestamp,
        /// Whatever speaks against it.
        force: bool,
    },
    /// Follow the clock, however far it has jumped ahead.
    ConfirmClock,
    /// Continue under the configured layout.
    ConfirmLayout,
    /// Continue with the record of the system that this one was copied from.
    ConfirmSystemIdentifier {
        /// Although this server has the identity of the one that it was copied from.
        force: bool,
        /// True if this server has an identity at all.
        has_identity: bool,
    },
    /// Write down that this server was restored, so that its next start knows it, too.
    NoteCopy,
}

/// The result of a request, and what is worth a line in the log.
pub type Served = (Outcome, Option<Notice>);

/// The result of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Outcome {
    /// The generator can be asked again.
    AskAgain,
    /// So it can, and a record of this floor was written.
    Reserved {
        /// The floor.
        floor: Timestamp,
    },
    /// The floor is as it was wanted.
    FloorSet {
        /// IDs up to this time might have been issued before.
        issued: Timestamp,
    },
    /// True if there was something to confirm.
    Confirmed(bool),
    /// The request of an administrator is rejected.
    Denied(Rejection),
}

/// News for an administrator.
#[expect(clippy::large_enum_variant, reason = "there is one at a time, and it is copied")]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Notice {
    /// There was no register, so one was created.
    Created {
        /// Where IDs start.
        after: Timestamp,
    },
    /// The generator was started from this record.
    Began {
        /// As it was found.
        record: Record,
        /// The start of this server.
        start: Start,
        /// The lead of its clock over that of the upstream; `None` where nothing is known of it.
        ahead_of_upstream: Option<Span>,
    },
    /// The clock has jumped ahead, and is followed.
    SteppedAhead(Jump),
}

/// The result of reading the register: the record, or `None` where there is no register yet.
pub type Found = Result<Option<Record>, Unreadable>;

/// Reasons for which the register cannot be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Unreadable {
    /// It does not hold a record that can be used.
    Record(RecordError),
    /// The file was deleted while the server runs.
    Deleted,
}

impl From<RecordError> for Unreadable {
    fn from(error: RecordError) -> Unreadable {
        Unreadable::Record(error)
    }
}

/// Reasons for which a start or a reservation is refused, or what else would make IDs come back.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Refusal {
    /// The clock has jumped ahead by more than is followed.
    ClockAhead(Jump),
    /// The clock is before the epoch, and there is no record to continue from.
    ClockBeforeEpoch {
        /// The clock.
        now: Timestamp,
        /// The epoch.
        epoch: Timestamp,
    },
    /// The register cannot be used.
    Register(Unreadable),
    /// The register's record is another system's.
    OtherSystem {
        /// The system identifier in the record.
        recorded: u64,
        /// Who wrote it.
        writer: Writer,
    },
    /// The register's record was written under another layout.
    OtherLayout {
        /// The record's layout.
        recorded: Layout,
        /// The record's floor.
        floor: Timestamp,
    },
    /// Another layout was confirmed on an earlier timeline.
    ConfirmedLayout {
        /// The confirmed one.
        confirmed: Layout,
    },
    /// `snowflake.start_after` is too far ahead of the clock.
    StartAfterAhead {
        /// By how much.
        lead: Span,
    },
}

impl Refusal {
    /// Returns the reason for which a start from this record is refused.
    pub(super) fn of_start(error: StartError, record: &Record) -> Refusal {
        match error {
            StartError::SystemIdentifier { recorded } => {
                Refusal::OtherSystem { recorded, writer: record.writer }
            }
            StartError::Layout { recorded } => {
                Refusal::OtherLayout { recorded, floor: record.floor }
            }
            StartError::ConfirmedLayout { confirmed } => Refusal::ConfirmedLayout { confirmed },
            StartError::StartAfter(error) => error.into(),
        }
    }
}

impl From<StartAfterAhead> for Refusal {
    fn from(error: StartAfterAhead) -> Refusal {
        Refusal::StartAfterAhead { lead: error.lead }
    }
}

/// Reasons for which a request of an administrator is rejected.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Rejection {
    /// The floor is below what has been issued.
    FloorLowered {
        /// The floor as it is.
        floor: Timestamp,
    },
    /// The floor is too far ahead of the clock.
    FloorAhead {
        /// By how much.
        lead: Span,
    },
    /// The configured layout would make IDs that are not above all that were issued.
    LayoutGoesBack {
        /// The layout that is in the way.
        recorded: Layout,
        /// The record's floor.
        floor: Timestamp,
    },
    /// A copy of another system has the same identity.
    IdentityOfOriginal,
    /// A copy of another system has no identity.
    NoIdentity,
}

impl Request {
    /// Returns whether it is a session's that takes an ID.
    pub fn is_for_an_id(self) -> bool {
        matches!(self, Request::Reserve { .. } | Request::ReserveEarly)
    }

    /// Returns whether it is to issue IDs, and not an administrator's.
    pub fn is_reservation(self) -> bool {
        self.is_for_an_id() || self == Request::Promoted
    }
}
