//! Errors of starts, reservations and administration, and the entries of the log.

use pgrx::pg_sys::panic::ErrorReport;
use pgrx::prelude::*;
use snowflake_core::jump::{Clocks, Jump, NOTABLE, Reference};
use snowflake_core::layout::Layout;
use snowflake_core::register::{
    NO_TIMELINE, Record, RecordError, Server, Start, StartError, Writer,
};

use super::reservation::refuse_in_recovery;
use super::{register, upstream};
use crate::server::report::{self, Report};
use crate::server::time;
use crate::settings;

/// What can go wrong.
#[derive(Clone, Debug)]
pub enum Error {
    /// The server is not configured to issue IDs.
    Settings(settings::Error),
    /// The server is a standby, or still recovering.
    InRecovery,
    /// The clock has jumped ahead by more than is followed.
    ClockAhead(Jump),
    /// The clock is before the epoch, and there is no record to go on from.
    ClockBeforeEpoch {
        /// The clock, Unix ms.
        now: i64,
        /// The epoch, Unix ms.
        epoch: i64,
    },
    /// The register cannot be read.
    Register(RecordError),
    /// The register's file was deleted while the server runs.
    RegisterDeleted {
        /// Up to when IDs may have been issued since the server started, Unix ms; `None` if it has
        /// issued none.
        promised: Option<i64>,
    },
    /// The register's record is another system's.
    OtherSystem {
        /// The system identifier in the record.
        recorded: u64,
        /// Who wrote it.
        writer: Writer,
    },
    /// A copy of another system that has the same identity.
    IdentityOfOriginal,
    /// The register's record was written under another layout.
    OtherLayout {
        /// The record's layout.
        recorded: Layout,
        /// The record's floor, Unix ms.
        floor: i64,
    },
    /// `snowflake.start_after` is too far ahead of the clock.
    StartAfterAhead {
        /// By how much, ms.
        lead: i64,
    },
    /// The configured layout would make IDs that are not above all that were issued.
    LayoutGoesBack {
        /// The record's layout.
        recorded: Layout,
        /// The record's floor, Unix ms.
        floor: i64,
    },
    /// A floor below what has been issued.
    FloorLowered {
        /// The floor as it is, Unix ms.
        floor: i64,
    },
    /// A floor too far ahead of the clock.
    FloorAhead {
        /// By how much, ms.
        lead: i64,
    },
    /// Something that only a superuser may do.
    NotSuperuser {
        /// What, as "set the snowflake floor".
        what: &'static str,
    },
    /// Nothing that can be confirmed.
    NoSuchConfirmation(String),
}

impl From<settings::Error> for Error {
    fn from(error: settings::Error) -> Error {
        Error::Settings(error)
    }
}

impl From<RecordError> for Error {
    fn from(error: RecordError) -> Error {
        Error::Register(error)
    }
}

impl Error {
    /// Why a start from this record is refused.
    pub fn of_start(error: StartError, record: &Record) -> Error {
        match error {
            StartError::SystemIdentifier { recorded } => {
                Error::OtherSystem { recorded, writer: record.writer }
            }
            StartError::Layout { recorded } => Error::OtherLayout { recorded, floor: record.floor },
            StartError::StartAfter { lead } => Error::StartAfterAhead { lead },
        }
    }
}

impl Error {
    /// Why a start without a record is refused.
    pub fn of_first_start(error: StartError) -> Error {
        match error {
            StartError::StartAfter { lead } => Error::StartAfterAhead { lead },
            error => unreachable!("{error:?} without a record"),
        }
    }
}

impl Report for Error {
    fn report(self) -> ErrorReport {
        use PgSqlErrorCode::*;
        let refused =
            |message: &str| report::new(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE, message);
        match self {
            Error::Settings(error) => error.report(),
            Error::InRecovery => report::new(
                ERRCODE_READ_ONLY_SQL_TRANSACTION,
                "cannot generate snowflake IDs during recovery",
            )
            .set_hint("Generate them on the primary, or promote this server first."),
            Error::ClockAhead(jump) => refused(&jumped(jump))
                .set_detail(
                    "If the clock is wrong, IDs that follow it cannot be taken back, because all \
                     later IDs must be greater.",
                )
                .set_hint(match jump {
                    Jump::Measured(_) | Jump::OfUpstream(_) => {
                        "If the clock is right, a superuser can confirm it with SELECT \
                         snowflake_confirm('clock'), or raise snowflake.max_forward_step. \
                         Otherwise, correct the clock."
                    }
                    Jump::SinceRecord(_) => {
                        "If the clock is right, a superuser can confirm it with SELECT \
                         snowflake_confirm('clock'). Otherwise, correct the clock."
                    }
                }),
            Error::ClockBeforeEpoch { now, epoch } => {
                refused("the clock is before snowflake.epoch")
                    .set_detail(format!(
                        "The clock says {}, and IDs count from {}.",
                        time::display(now),
                        time::display(epoch)
                    ))
                    .set_hint(
                        "Set the clock right. If it is right, choose an earlier \
                    snowflake.epoch.",
                    )
            }
            Error::Register(error) => refused(&format!(
                "the register of snowflake IDs, \"{}\", cannot be used",
                register::PATH
            ))
            .set_detail(format!("It says which IDs may have been issued, but {error}."))
            .set_hint(match error {
                RecordError::Damaged => {
                    "Find out what damaged the register. Then, as a superuser, set a floor that \
                     is later than the time of every ID: SELECT snowflake_set_floor('...')."
                }
                RecordError::NewerVersion(_) => {
                    "Install the release that wrote it, or a \
                            later one."
                }
                RecordError::OlderVersion(_) => {
                    "As a superuser, set a floor that is later than the time of every ID: SELECT \
                     snowflake_set_floor('...')."
                }
            }),
            Error::RegisterDeleted { promised } => deleted(promised),
            Error::OtherSystem { recorded, writer } => {
                refused("the register of snowflake IDs belongs to another database system")
                    .set_detail(format!(
                        "Its system identifier is {recorded}, and datacenter {} and worker {} \
                         wrote it. This server is a copy of that one. With the same datacenter and \
                         worker ID, both would issue the same IDs.",
                        writer.datacenter_id, writer.worker_id
                    ))
                    .set_hint(
                        "Give this server a datacenter and worker ID of its own. A superuser then \
                         confirms with SELECT snowflake_confirm('system_identifier').",
                    )
            }
            Error::IdentityOfOriginal => refused(
                "this server has the datacenter and worker ID of the one that it was copied from",
            )
            .set_detail("If both run, they issue the same IDs.")
            .set_hint(
                "Give this server a datacenter and worker ID of its own, restart it, and confirm \
                 again. If the other one never runs again, confirm with SELECT \
                 snowflake_confirm('system_identifier', force => true).",
            ),
            Error::OtherLayout { recorded, floor } => {
                refused("IDs have been issued under another snowflake.epoch or other widths")
                    .set_detail(format!(
                        "{} IDs up to {} may have been issued.",
                        described(recorded),
                        time::display(floor)
                    ))
                    .set_hint(
                        "Set the epoch and the widths as they were. To go on under the new ones, \
                         a superuser confirms \
                         with SELECT snowflake_confirm('layout').",
                    )
            }
            Error::StartAfterAhead { lead } => {
                refused(&format!("snowflake.start_after is {lead} ms ahead of the clock"))
                    .set_detail(
                        "That is more than snowflake.max_backward_step. IDs would run that far \
                         ahead of the clock until it has caught up.",
                    )
                    .set_hint(
                        "Set the clock right, or change snowflake.start_after and restart the \
                         server.",
                    )
            }
            Error::LayoutGoesBack { recorded, floor } => {
                refused("the configured snowflake.epoch and widths would issue IDs again")
                    .set_detail(format!(
                        "{} Under the configured ones, IDs after {} would not be greater than \
                         those from before.",
                        described(recorded),
                        time::display(floor)
                    ))
                    .set_hint(
                        "Set the epoch and the widths as they were. To change them, choose an \
                         earlier epoch or a larger sum of widths.",
                    )
            }
            Error::FloorLowered { floor } => refused(
                "the floor of snowflake IDs must not be \
                lowered",
            )
            .set_detail(format!(
                "IDs up to {} may have been issued, and would be issued again.",
                time::display(floor)
            ))
            .set_hint("To lower it anyway, pass force => true."),
            Error::FloorAhead { lead } => refused(&format!(
                "the floor would be {lead} ms ahead of \
                the clock"
            ))
            .set_detail(
                "That is more than snowflake.max_backward_step. IDs would run that far ahead \
                     of the clock until \
                     it has caught up.",
            )
            .set_hint("To set it anyway, pass force => true."),
            Error::NotSuperuser { what } => {
                report::new(ERRCODE_INSUFFICIENT_PRIVILEGE, format!("must be superuser to {what}"))
            }
            Error::NoSuchConfirmation(what) => report::new(
                ERRCODE_INVALID_PARAMETER_VALUE,
                format!("there is no \"{what}\" to confirm"),
            )
            .set_hint("What can be confirmed is 'layout', 'system_identifier' and 'clock'."),
        }
    }
}

/// The register was deleted while the server runs. What this server has issued is in its memory.
fn deleted(promised: Option<i64>) -> ErrorReport {
    let report = report::new(
        PgSqlErrorCode::ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE,
        format!(
            "the register of snowflake IDs, \"{}\", was deleted while the server runs",
            register::PATH
        ),
    );
    match promised.map(time::display) {
        Some(time) => report
            .set_detail(format!(
                "IDs up to {time} may have been issued. After the next start, they may be issued \
                 again."
            ))
            .set_hint(format!(
                "As a superuser, write it again: SELECT \
                 snowflake_set_floor(greatest(clock_timestamp(), '{time}'))."
            )),
        None if refuse_in_recovery().is_err() => report
            .set_detail(
                "After its next start and a promotion, IDs that have been issued may be issued \
                 again.",
            )
            .set_hint(
                "Stop this standby with pg_ctl stop -m immediate and start it again. Then, as a \
                 superuser on the primary, let the register be replicated again: SELECT \
                 snowflake_set_floor(snowflake_floor()).",
            ),
        None => report
            .set_detail("It says which IDs may have been issued, and none was since the start.")
            .set_hint(
                "As a superuser, set a floor that is later than the time of every ID: SELECT \
                 snowflake_set_floor('...').",
            ),
    }
}

/// What the clock did.
fn jumped(jump: Jump) -> String {
    match jump {
        Jump::Measured(by) => format!("the clock has jumped ahead by {by} ms"),
        Jump::SinceRecord(by) => {
            format!("the clock is {by} ms ahead of the last record of snowflake IDs")
        }
        Jump::OfUpstream(by) => {
            format!("the clock is {by} ms ahead of that of the server that this one followed")
        }
    }
}

fn described(layout: Layout) -> String {
    let widths = layout.widths();
    format!(
        "The epoch was {} ms, and the widths were {}, {} and {} bits for datacenter, worker and \
         sequence.",
        layout.epoch(),
        widths.datacenter,
        widths.worker,
        widths.sequence
    )
}

/// What an administrator should know. It goes to the server's log alone: the client that happens to
/// take an ID can do nothing about it.
#[derive(Clone, Debug)]
pub enum LogEntry {
    /// There was no register, so one was created.
    Created {
        /// Where IDs start, Unix ms.
        after: i64,
    },
    /// The register was deleted while the server runs.
    RegisterDeleted {
        /// Up to when IDs may be issued, Unix ms.
        promised: i64,
    },
    /// The clock was set back.
    SteppedBack {
        /// By how much it is behind the last ID, ms.
        lead: i64,
        /// Whether IDs go on from there; else unused IDs of repeated milliseconds are issued.
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
    server: Server,
    start: Start,
    /// How far the clock is ahead of that of the upstream, ms; `None` where nothing is known of it.
    ahead_of_upstream: Option<i64>,
}

impl Began {
    /// What is worth a line of a start from this record.
    pub fn after(
        recorded: &Record,
        server: &Server,
        start: Start,
        reference: Reference,
        clocks: Clocks,
    ) -> Option<LogEntry> {
        let ahead_of_upstream = reference.upstream.and_then(|upstream| clocks.ahead_of(&upstream));
        let began = Began { recorded: *recorded, server: *server, start, ahead_of_upstream };
        (!began.changes().is_empty()).then(|| LogEntry::Began(Box::new(began)))
    }

    /// What has changed, from what to what.
    fn changes(&self) -> String {
        let Server { timeline, writer, .. } = self.server;
        let mut changes = Vec::new();
        match self.recorded.timeline {
            NO_TIMELINE => changes.push(format!("another system to timeline {timeline}")),
            recorded if recorded != timeline => {
                changes.push(format!("timeline {recorded} to {timeline}"));
            }
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

    fn report(&self) -> ErrorReport {
        let Began { recorded, server, start, ahead_of_upstream } = self;
        let floor = time::display(recorded.floor);
        let mut detail = format!(
            "IDs start after {}: the floor is {floor}, and the margin {} ms.",
            time::display(start.after),
            start.margin
        );
        if start.after > recorded.floor + start.margin {
            detail += " snowflake.start_after is later than that.";
        }
        match ahead_of_upstream {
            Some(by) if *by > NOTABLE => {
                detail += &format!(
                    " The clock is {by} ms ahead of that of the server that this one followed."
                )
            }
            Some(by) if *by < -NOTABLE => {
                detail += &format!(
                    " The clock is {} ms behind that of the server that this one followed.",
                    -by
                )
            }
            _ => {}
        }
        let report = |detail| {
            report::message(format!("snowflake IDs continue after a change: {}", self.changes()))
                .set_detail(detail)
        };
        if recorded.timeline == server.timeline || ahead_of_upstream.is_some() {
            return report(detail);
        }
        if upstream::was_connected() {
            detail += " The clock was not compared with that of the server that this one followed.";
            return report(detail);
        }
        detail += " This server has followed no other one since it started";
        let writer = recorded.writer;
        detail += match writer.machine != 0 && server.writer.machine != 0 {
            true if writer.machine != server.writer.machine => {
                ", and the last record was written on another machine."
            }
            _ => ".",
        };
        if !server.writer.has_identity_of(&writer) {
            return report(detail);
        }
        report(detail).set_hint(
            "If it was restored from a backup while the original runs on, both issue the same IDs: \
             give this one a datacenter and worker ID of its own.",
        )
    }
}

impl LogEntry {
    /// Writes it to the server's log.
    pub fn log(self) {
        report::log(match self {
            LogEntry::Began(began) => began.report(),
            LogEntry::Created { after } => report::message(format!(
                "created the register of snowflake IDs, \"{}\"",
                register::PATH
            ))
            .set_detail(format!("IDs start after {}.", time::display(after)))
            .set_hint(
                "If this server, or one that it was made of, has issued later IDs, set a floor \
                 above them: \
                         SELECT snowflake_set_floor('...').",
            ),
            LogEntry::RegisterDeleted { promised } => deleted(Some(promised)),
            LogEntry::SteppedBack { lead, is_held } => report::message(format!(
                "the clock was set back: it is {lead} ms behind the last snowflake ID"
            ))
            .set_detail(if is_held {
                "IDs go on from the last timestamp, and run ahead of the clock until it has \
                 caught up."
            } else {
                "Unused IDs of the milliseconds that the clock repeats are issued. They may be \
                 smaller than earlier IDs until the clock has passed the highest one."
            }),
            LogEntry::SteppedAhead(jump) => report::message(jumped(jump))
                .set_detail("Snowflake IDs follow it, and will not go back if it does."),
        });
    }
}
