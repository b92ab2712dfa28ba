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

impl LogEntry {
    /// The entry about what this server did; `None` if there is nothing to say.
    pub fn of(notice: Notice, issuer: &Issuer) -> Option<LogEntry> {
        Some(match notice {
            Notice::Created { after } => LogEntry::Created { after },
            Notice::SteppedAhead(jump) => LogEntry::SteppedAhead(jump),
            Notice::Began { record: recorded, start, ahead_of_upstream } => {
                let began = Began { recorded, issuer: *issuer, start, ahead_of_upstream };
                return (!began.changes().is_empty()).then(|| LogEntry::Began(Box::new(began)));
            }
        })
    }

    /// Writes it to the server's log.
    pub fn log(self) {
        report::log(self.report());
    }

    fn report(self) -> ErrorReport {
        match self {
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
        }
    }
}

/// The first ID of an incarnation, where something has changed since the last record.
#[derive(Clone, Copy, Debug)]
pub struct Began {
    recorded: Record,
    issuer: Issuer,
    start: Start,
    /// The lead of the clock over that of the upstream; `None` where nothing is known of it.
    ahead_of_upstream: Option<Span>,
}

impl Began {
    fn report(&self) -> ErrorReport {
        let report =
            report::message(format!("snowflake IDs continue after a change: {}", self.changes()))
                .set_detail(self.about_start() + &self.about_clock());
        if !self.might_be_a_copy() {
            return report;
        }
        report.set_hint(
            "If it was restored from a backup while the original runs on, both issue the same IDs: \
             give this one a datacenter and worker ID of its own.",
        )
    }

    fn about_start(&self) -> String {
        let Began { recorded, start, .. } = self;
        let (after, floor) = (time::display(start.after), time::display(recorded.floor));
        let margin = time::interval(start.margin);
        let told = match start.is_told(recorded) {
            true => " snowflake.start_after is later than that.",
            false => "",
        };
        format!("IDs start after {after}: the floor is {floor}, and the margin {margin}.{told}")
    }

    /// Compares the clock with that of the server that this one followed, if there is one.
    fn about_clock(&self) -> String {
        let differs = |by: Span, from: &str| {
            let by = time::interval(by);
            format!(" The clock is {by} {from} that of the server that this one followed.")
        };
        match self.ahead_of_upstream {
            Some(by) if by > NOTABLE => differs(by, "ahead of"),
            Some(by) if by < -NOTABLE => differs(-by, "behind"),
            None if self.is_alone() => {
                let machines = [self.recorded.writer.machine, self.issuer.writer.machine];
                let end = match machines[0] != machines[1] && !machines.contains(&0) {
                    true => ", and the last record was written on another machine.",
                    false => ".",
                };
                format!(" This server has followed no other one since it started{end}")
            }
            None if self.is_on_new_timeline() => {
                " The clock was not compared with that of the server that this one followed.".into()
            }
            _ => String::new(),
        }
    }

    /// Describes what has changed, from what to what; empty if nothing has.
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
        self.is_on_new_timeline() && self.ahead_of_upstream.is_none() && !upstream::was_connected()
    }

    fn is_on_new_timeline(&self) -> bool {
        self.recorded.timeline != self.issuer.timeline
    }
}

/// When entries that might come often were written last: those about a clock that was set back,
/// about one that has jumped ahead, and about a register that was deleted.
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
