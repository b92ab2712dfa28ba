//! Entries of starts and reservations in the server's log, and how often they are written.

use crate::pg::report::{self, ErrorReport, OnceAMinute};
use crate::pg::time;
use snowflake_core::issuer::{Issuer, Start};
use snowflake_core::jump::{Jump, NOTABLE};
use snowflake_core::promise::Notice;
use snowflake_core::register::{NO_TIMELINE, Record};
use snowflake_core::time::{Span, Timestamp};

use super::error::{deleted, jumped};
use super::{register, upstream};
use crate::generator::clock;
use crate::settings;

/// News for an administrator. It goes to the server's log alone: the client that happens to
/// take an ID can do nothing about it.
#[derive(Clone, Debug)]
pub enum LogEntry {
    /// There was no register, so one was created.
    Created {
        /// Where IDs start.
        after: Timestamp,
    },
    /// The register was deleted while the server runs.
    RegisterDeleted {
        /// Up to when IDs may be issued.
        promised: Timestamp,
    },
    /// The clock was set back.
    SteppedBack {
        /// By how much it is behind the last ID.
        lead: Span,
        /// True if IDs continue from there; otherwise, unused IDs of repeated milliseconds are
        /// issued.
        is_held: bool,
    },
    /// The clock has jumped ahead.
    SteppedAhead(Jump),
    /// The first ID after a change.
    Began(Box<Began>),
}

/// A first ID that is not simply the next one of the same server.
#[derive(Clone, Copy, Debug)]
pub struct Began {
    recorded: Record,
    issuer: Issuer,
    start: Start,
    /// The lead of the clock over that of the upstream; `None` where nothing is known of it.
    ahead_of_upstream: Option<Span>,
}

impl Began {
    /// A start from this record.
    pub fn new(
        recorded: Record,
        issuer: &Issuer,
        start: Start,
        ahead_of_upstream: Option<Span>,
    ) -> Began {
        Began { recorded, issuer: *issuer, start, ahead_of_upstream }
    }

    /// Describes the changes, from what to what.
    fn changes(&self) -> String {
        let Issuer { timeline, writer, .. } = self.issuer;
        let mut changes = Vec::new();
        match self.recorded.timeline {
            NO_TIMELINE => changes.push(format!("another system to timeline {timeline}")),
            recorded if recorded != timeline => {
                changes.push(format!("timeline {recorded} to {timeline}"));
            }
            _ if self.issuer.is_restored => changes.push("restored from a backup".to_owned()),
            _ => {}
        }
        let recorded = self.recorded.writer;
        for (name, from, to) in [
            ("datacenter", recorded.datacenter_id, writer.datacenter_id),
            ("worker", recorded.worker_id, writer.worker_id),
        ] {
            if from != to {
                changes.push(format!("{name} {from} to {to}"));
            }
        }
        changes.join(", ")
    }

    /// Returns whether this server might be a copy with the identity of its original. One that
    /// recovers by itself, as after a crash under a failover manager, begins a timeline alone, too.
    fn might_be_a_copy(&self) -> bool {
        (self.is_alone() || self.issuer.is_restored)
            && self.issuer.writer.has_identity_of(&self.recorded.writer)
    }

    /// Returns whether it is on a new timeline, and has followed no other server.
    fn is_alone(&self) -> bool {
        self.recorded.timeline != self.issuer.timeline
            && self.ahead_of_upstream.is_none()
            && !upstream::was_connected()
    }

    fn report(&self) -> ErrorReport {
        let Began { recorded, issuer, start, ahead_of_upstream } = self;
        let floor = time::display(recorded.floor);
        let mut detail = format!(
            "IDs start after {}: the floor is {floor}, and the margin {}.",
            time::display(start.after),
            time::interval(start.margin)
        );
        if start.is_told(recorded) {
            detail += " snowflake.start_after is later than that.";
        }
        match ahead_of_upstream {
            Some(by) if *by > NOTABLE => {
                detail += &format!(
                    " The clock is {} ahead of that of the server that this one followed.",
                    time::interval(*by)
                )
            }
            Some(by) if *by < -NOTABLE => {
                detail += &format!(
                    " The clock is {} behind that of the server that this one followed.",
                    time::interval(-*by)
                )
            }
            _ => {}
        }
        let is_new = recorded.timeline != issuer.timeline && ahead_of_upstream.is_none();
        if is_new && upstream::was_connected() {
            detail += " The clock was not compared with that of the server that this one followed.";
        } else if is_new {
            detail += " This server has followed no other one since it started";
            let machines = [recorded.writer.machine, issuer.writer.machine];
            detail += match machines[0] != machines[1] && !machines.contains(&0) {
                true => ", and the last record was written on another machine.",
                false => ".",
            };
        }
        let report =
            report::message(format!("snowflake IDs continue after a change: {}", self.changes()))
                .set_detail(detail);
        if !self.might_be_a_copy() {
            return report;
        }
        report.set_hint(
            "If it was restored from a backup while the original runs on, both issue the same IDs: \
             give this one a datacenter and worker ID of its own.",
        )
    }
}

/// When entries that might come often were written last: those about a clock that was set back, about
/// one that has jumped ahead, and about a register that was deleted.
#[derive(Clone, Copy, Default)]
pub struct Logged([OnceAMinute; 3]);

impl Logged {
    /// The entry, unless one of its kind was written a short time ago.
    pub fn due(&mut self, entry: LogEntry) -> Option<LogEntry> {
        let kind = match entry {
            LogEntry::SteppedBack { .. } => 0,
            LogEntry::SteppedAhead(_) => 1,
            LogEntry::RegisterDeleted { .. } => 2,
            LogEntry::Created { .. } | LogEntry::Began(_) => return Some(entry),
        };
        self.0[kind].is_due(clock::since_boot()).then_some(entry)
    }
}

impl LogEntry {
    /// The entry about what this server did; `None` if there is nothing to say.
    pub fn of(notice: Notice, issuer: &Issuer) -> Option<LogEntry> {
        Some(match notice {
            Notice::Created { after } => LogEntry::Created { after },
            Notice::SteppedAhead(jump) => LogEntry::SteppedAhead(jump),
            Notice::Began { record: recorded, start, ahead_of_upstream } => {
                let began = Began::new(recorded, issuer, start, ahead_of_upstream);
                if began.changes().is_empty() {
                    return None;
                }
                LogEntry::Began(Box::new(began))
            }
        })
    }

    /// Writes it to the server's log.
    pub fn log(self) {
        report::log(match self {
            LogEntry::Began(began) => began.report(),
            LogEntry::Created { after } => {
                let report = report::message(format!(
                    "created the register of snowflake IDs, \"{}\"",
                    register::PATH
                ))
                .set_detail(format!("IDs start after {}.", time::display(after)));
                // Whoever has set it has carried the floor over.
                if settings::fixed().start_after.is_some() {
                    report
                } else {
                    report.set_hint(
                        "If this server, or one that it was made of, has issued later IDs, set a \
                         floor above them: SELECT snowflake_set_floor('...').",
                    )
                }
            }
            LogEntry::RegisterDeleted { promised } => deleted(Some(promised)),
            LogEntry::SteppedBack { lead, is_held } => report::message(format!(
                "the clock was set back: it is {} behind the last snowflake ID",
                time::interval(lead)
            ))
            .set_detail(if is_held {
                "IDs continue from the last timestamp, and run ahead of the clock until it has \
                 caught up."
            } else {
                "Unused IDs of the milliseconds that the clock repeats are issued. They might be \
                 smaller than earlier IDs until the clock has passed the highest one."
            }),
            LogEntry::SteppedAhead(jump) => report::message(jumped(jump))
                .set_detail("Snowflake IDs follow it, and will not go back if it does."),
        });
    }
}
