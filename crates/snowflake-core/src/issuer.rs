//! The server that issues IDs: what it may begin from, given its record, and what it writes.

use crate::generator::RESERVATION;
use crate::jump::{Clocks, Reference, Verdict};
use crate::layout::Layout;
use crate::register::{NO_TIMELINE, Record, Writer};
use crate::time::{Span, Timestamp};

/// The point from which a server starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Start {
    /// Everything up to this timestamp is used up.
    pub after: Timestamp,
    /// The part of the lead of `after` over the clock that the start itself explains.
    pub hold: Span,
    /// The part of the distance from the floor to `after` that is the margin for timelines that
    /// have begun since.
    pub margin: Span,
}

impl Start {
    /// Returns whether `snowflake.start_after` is above what the record says.
    pub fn is_told(&self, record: &Record) -> bool {
        self.after > record.floor.saturating_add(self.margin)
    }
}

/// The server that starts, and issues IDs by what its register says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Issuer {
    /// The system identifier.
    pub system_identifier: u64,
    /// The timeline that it writes on.
    pub timeline: u32,
    /// The layout that it is configured with.
    pub layout: Layout,
    /// The writer of its records.
    pub writer: Writer,
    /// `snowflake.failover_margin`.
    pub failover_margin: Span,
    /// `snowflake.max_observed_lead`.
    pub max_observed_lead: Span,
    /// `snowflake.max_backward_step`; `None` means no limit.
    pub max_backward_step: Option<Span>,
    /// `snowflake.max_forward_step`; `None` means no limit.
    pub max_forward_step: Option<Span>,
    /// `snowflake.start_after`.
    pub start_after: Option<Timestamp>,
    /// True if it was restored, from a backup for example, when it was started.
    pub is_restored: bool,
}

/// A record that raises the floor ahead of use.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Reservation {
    /// The record that is written.
    pub record: Record,
    /// The first timestamp above this one asks for the next reservation. Half of this one is then
    /// left, so that nobody has to wait for the next.
    pub reserve_after: Timestamp,
}

/// Returns the reach of a reservation beyond the highest timestamp, where timestamps are ahead of
/// the clock. A crash leaves the next incarnation ahead by so much more.
///
/// A server that crashes again and again must not run further and further ahead of the clock, so
/// the reach is small at first. A server that has issued IDs for 14 seconds reserves as much as one
/// whose timestamps are those of the clock. So its standby then has as much of the floor in
/// advance.
fn reach(age: Span) -> Span {
    ((RESERVATION + age) / 8).clamp(RESERVATION / 8, RESERVATION)
}

/// Reasons for which a server must not start from a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum StartError {
    /// The record is another system's.
    SystemIdentifier {
        /// The record's.
        recorded: u64,
    },
    /// The record is of another layout, and this one was not confirmed.
    Layout {
        /// The record's.
        recorded: Layout,
    },
    /// Another layout was confirmed on an earlier timeline, and IDs of it might have been lost.
    ConfirmedLayout {
        /// The confirmed one.
        confirmed: Layout,
    },
    /// `snowflake.start_after` is too far ahead of the clock.
    StartAfter(StartAfterAhead),
}

/// `snowflake.start_after` is further ahead of the clock than `snowflake.max_backward_step`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct StartAfterAhead {
    /// By how much it is ahead.
    pub lead: Span,
}

impl From<StartAfterAhead> for StartError {
    fn from(error: StartAfterAhead) -> StartError {
        StartError::StartAfter(error)
    }
}

/// A layout would make IDs that are not above all that were issued.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GoesBack;

impl Issuer {
    /// Returns the start of this server, given the record and the clock.
    pub fn start(&self, record: &Record, now: Timestamp) -> Result<Start, StartError> {
        self.check_owner(record)?;
        let margin = self.margin(record);
        // The floor was ahead of the clock when it was written, by a lead whose reason was known.
        // Unless the clock was set back since, the lead is smaller now. So a lead up to that one is
        // explained, and only what is beyond it is a step of the clock.
        let explained = record.floor.saturating_sub(record.written.wall).saturating_add(margin);
        let start = self.begin(record.floor.saturating_add(margin), now)?;
        let lead = start.after.saturating_sub(now);
        // On a new timeline, the clock is usually that of another machine, so a lead over it is no
        // step.
        let is_new = record.timeline != self.timeline && lead.is_within(self.max_backward_step);
        let hold = if is_new { lead } else { lead.min(explained) };
        Ok(Start { hold: start.hold.max(hold), margin, ..start })
    }

    /// Checks that the record is this server's own.
    pub fn check_owner(&self, record: &Record) -> Result<(), StartError> {
        if record.system_identifier != self.system_identifier {
            return Err(StartError::SystemIdentifier { recorded: record.system_identifier });
        }
        if !record.accepts(self.layout) || !self.is_above_all(record) {
            let other = record.other_than(self.layout);
            return Err(match other == record.layout {
                true => StartError::Layout { recorded: other },
                false => StartError::ConfirmedLayout { confirmed: other },
            });
        }
        Ok(())
    }

    /// Returns the start of this server where there is no record.
    pub fn first_start(&self, now: Timestamp) -> Result<Start, StartAfterAhead> {
        self.begin(now - Span(1), now)
    }

    /// Everything up to this time might have been issued under this server's identity, and it
    /// starts above it. `None` where nothing was, as far as the server knows.
    pub fn floor(&self, record: Option<&Record>) -> Option<Timestamp> {
        let recorded = record.map(|record| record.floor.saturating_add(self.margin(record)));
        recorded.max(self.start_after).map(|floor| floor.min(self.layout.last_timestamp()))
    }

    /// Above `floor` and above `start_after`, which explains its own lead.
    fn begin(&self, floor: Timestamp, now: Timestamp) -> Result<Start, StartAfterAhead> {
        let floor = floor.min(self.layout.last_timestamp());
        let Some(start_after) = self.start_after.filter(|start_after| *start_after > floor) else {
            return Ok(Start { after: floor, hold: Span::ZERO, margin: Span::ZERO });
        };
        let lead = start_after.saturating_sub(now);
        if !lead.is_within(self.max_backward_step) {
            return Err(StartAfterAhead { lead });
        }
        let after = start_after.min(self.layout.last_timestamp());
        Ok(Start { after, hold: lead.max(Span::ZERO), margin: Span::ZERO })
    }

    /// One failover margin for each timeline that has begun since the record was written: a server
    /// that was promoted in between began a margin above it, too, and might have been lost before
    /// its first record was received.
    ///
    /// A lost server that had this one's identity might have followed another server's ID just
    /// before its end, from which its own IDs went on. So a margin grows by as much as an
    /// observation may. Who wrote the record is known, and who issued IDs on a timeline in between
    /// is not.
    fn margin(&self, record: &Record) -> Span {
        let timelines = match self.timeline.checked_sub(record.timeline) {
            Some(timelines) if record.timeline != NO_TIMELINE => timelines,
            _ => 1,
        };
        let is_others = !self.writer.has_identity_of(&record.writer);
        let shared = timelines.saturating_sub(is_others.into());
        let observed = self.max_observed_lead.saturating_mul(shared);
        self.failover_margin.saturating_mul(timelines).saturating_add(observed)
    }

    /// Returns the reference for the clocks of this server's first ID: on a new timeline, also
    /// those of the server that it followed, where they are known.
    pub fn reference(&self, record: &Record, upstream: Option<Clocks>) -> Reference {
        let upstream = upstream.filter(|_| record.timeline != self.timeline);
        Reference { record: record.written, upstream }
    }

    /// The record that keeps a refusal across a crash: where the clock of the upstream is what is
    /// in the way, it takes the place of the clock that the record holds.
    pub fn record_of_refusal(
        &self,
        record: &Record,
        reference: &Reference,
        now: &Clocks,
    ) -> Option<Record> {
        let upstream = reference.upstream?;
        let refuses = |reference: Reference| {
            now.judge(&reference, record.floor, self.max_forward_step).0 == Verdict::Refuse
        };
        let by_record = refuses(Reference::record(record.written));
        (refuses(*reference) && !by_record).then_some(Record { written: upstream, ..*record })
    }

    /// The record of this floor on this server; `now` is what the clocks say.
    pub fn record(&self, floor: Timestamp, now: Clocks) -> Record {
        Record {
            system_identifier: self.system_identifier,
            timeline: self.timeline,
            floor: floor.min(self.layout.last_timestamp()),
            written: now,
            layout: self.layout,
            confirmed: None,
            writer: self.writer,
            copy_of: None,
        }
    }

    /// The original of this server, if it is a copy, and has just been restored or has this record
    /// from one that was. Of two, it is the one whose identity this server has.
    pub fn copy_of(&self, record: &Record) -> Option<Writer> {
        let restored_from = Some(record.writer).filter(|_| self.is_restored);
        let known = record.copy_of.filter(|original| self.writer.has_identity_of(original));
        known.or(restored_from).or(record.copy_of)
    }

    /// Returns whether this server has its original's identity, and so might issue the same IDs.
    pub fn might_be_a_twin(&self, copy_of: Option<Writer>) -> bool {
        copy_of.is_some_and(|original| self.writer.has_identity_of(&original))
    }

    /// The reservation that makes `timestamp` available, and more. Its floor is one reservation
    /// ahead of the clock, and never below the present `floor`: a record never takes back what an
    /// earlier one has promised.
    ///
    /// Where timestamps are ahead of the clock, the floor is `reach(age)` ahead of `timestamp`.
    /// `age` says for how long this incarnation has issued IDs.
    pub fn reservation(
        &self,
        timestamp: Timestamp,
        floor: Timestamp,
        now: Clocks,
        age: Span,
    ) -> Reservation {
        let ahead = (now.wall + RESERVATION).max(timestamp + reach(age));
        let record = self.record(ahead.max(floor), now);
        let left =
            record.floor.saturating_sub(timestamp.max(now.wall)).clamp(Span::ZERO, RESERVATION);
        Reservation { record, reserve_after: record.floor - left / 2 }
    }

    /// The record that lets IDs continue under this server's layout; `None` where the record does
    /// so already. The layout of the IDs that were issued stays in it until the next reservation,
    /// so that a server whose configuration is corrected continues under that one. No other layout
    /// is accepted then, even if it was confirmed before.
    pub fn confirm_layout(&self, record: &Record) -> Result<Option<Record>, GoesBack> {
        let confirmed = Some(self.layout).filter(|layout| *layout != record.layout);
        if record.confirmed == confirmed && record.timeline == self.timeline {
            return Ok(None);
        }
        if !self.is_above_all(record) {
            return Err(GoesBack);
        }
        if record.confirmed == confirmed {
            return Ok(None);
        }
        // The timeline decides whether both layouts are accepted: it is this one from here on.
        let floor = record.floor.saturating_add(self.margin(record));
        let floor = floor.min(record.layout.last_timestamp());
        Ok(Some(Record { confirmed, floor, timeline: self.timeline, ..*record }))
    }

    /// Returns whether every ID after the record, under this server's layout, is above every ID
    /// that the record permits, or that of a lost server within the margin. Only then does a change
    /// of layout keep IDs unique and increasing. On a later timeline than that of the record, a
    /// lost server might have issued IDs of the confirmed layout, too.
    fn is_above_all(&self, record: &Record) -> bool {
        let confirmed = record.confirmed.filter(|_| record.timeline != self.timeline);
        let floor = record.floor.saturating_add(self.margin(record));
        [Some(record.layout), confirmed].into_iter().flatten().all(|issued| {
            let floor = floor.min(issued.last_timestamp());
            let lowest = self.layout.first_id(floor + Span(1));
            issued == self.layout
                || issued.last_id(floor).is_ok_and(|highest| lowest.is_ok_and(|id| id > highest))
        })
    }
}
