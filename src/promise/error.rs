//! Errors of starts, reservations and administration.

use pgrx::pg_sys::panic::ErrorReport;
use pgrx::prelude::*;
use snowflake_core::jump::Jump;
use snowflake_core::layout::Layout;
use snowflake_core::register::{Record, RecordError, StartAfterAhead, StartError, Writer};

use super::register;
use crate::dumps;
use crate::server::in_recovery;
use crate::server::report::{self, Report};
use crate::server::time;
use crate::settings;

/// What can go wrong.
#[derive(Clone, Debug)]
pub enum Error {
    /// The server is not configured to issue IDs.
    Settings(settings::Error),
    /// The server is a standby, or still recovering.
    InRecovery {
        /// What cannot be done.
        what: &'static str,
    },
    /// The clock has jumped ahead by more than is followed.
    ClockAhead(Jump),
    /// The clock is before the epoch, and there is no record to continue from.
    ClockBeforeEpoch {
        /// The clock, Unix ms.
        now: i64,
        /// The epoch, Unix ms.
        epoch: i64,
    },
    /// The register cannot be used.
    Register(register::Error),
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
    /// Another layout was confirmed on an earlier timeline.
    ConfirmedLayout {
        /// The confirmed one.
        confirmed: Layout,
    },
    /// `snowflake.start_after` is too far ahead of the clock.
    StartAfterAhead {
        /// By how much, ms.
        lead: i64,
    },
    /// The configured layout would make IDs that are not above all that were issued.
    LayoutGoesBack {
        /// The layout that is in the way.
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
    /// The name of something that cannot be confirmed.
    NoSuchConfirmation(String),
}

impl From<settings::Error> for Error {
    fn from(error: settings::Error) -> Error {
        Error::Settings(error)
    }
}

impl From<register::Error> for Error {
    fn from(error: register::Error) -> Error {
        Error::Register(error)
    }
}

impl From<StartAfterAhead> for Error {
    fn from(error: StartAfterAhead) -> Error {
        Error::StartAfterAhead { lead: error.lead }
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
            StartError::ConfirmedLayout { confirmed } => Error::ConfirmedLayout { confirmed },
            StartError::StartAfter(error) => error.into(),
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
            Error::InRecovery { what } => report::new(
                ERRCODE_READ_ONLY_SQL_TRANSACTION,
                format!("cannot {what} during recovery"),
            )
            .set_hint("Do this on the primary, or promote this server first."),
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
                        "Set the clock right. If it is right, choose an earlier snowflake.epoch.",
                    )
            }
            Error::Register(register::Error::Record(error)) => refused(&format!(
                "the register of snowflake IDs, \"{}\", cannot be used",
                register::PATH
            ))
            .set_detail(format!("It says which IDs might have been issued, but {error}."))
            .set_hint(match error {
                RecordError::Damaged => {
                    "Find out what damaged the register. Then, as a superuser, set a floor that \
                     is later than the time of every ID: SELECT snowflake_set_floor('...')."
                }
                RecordError::NewerVersion(_) => {
                    "Install the release that wrote it, or a later one."
                }
                RecordError::OlderVersion(_) => {
                    "As a superuser, set a floor that is later than the time of every ID: SELECT \
                     snowflake_set_floor('...')."
                }
            }),
            Error::Register(register::Error::Deleted { promised }) => deleted(promised),
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
                        "The layout was {} for datacenter, worker and sequence. IDs up to {} might \
                         have been issued.",
                        dumps::described(recorded),
                        time::display(floor)
                    ))
                    .set_hint(
                        "Set the epoch and the widths as they were. To continue under the new \
                         ones, a superuser confirms them with SELECT snowflake_confirm('layout').",
                    )
            }
            Error::ConfirmedLayout { confirmed } => {
                refused("another snowflake.epoch or other widths have been confirmed")
                    .set_detail(format!(
                        "The confirmed layout is {} for datacenter, worker and sequence. IDs \
                         might have been issued under it that this server has not received.",
                        dumps::described(confirmed)
                    ))
                    .set_hint("Set the confirmed epoch and widths, and restart this server.")
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
                        "The layout was {} for datacenter, worker and sequence. Under the \
                         configured one, IDs after {} would not be greater than those from before.",
                        dumps::described(recorded),
                        time::display(floor)
                    ))
                    .set_hint(
                        "Set the epoch and the widths as they were. To change them, choose an \
                         earlier epoch or a larger sum of widths.",
                    )
            }
            Error::FloorLowered { floor } => {
                refused("the floor of snowflake IDs must not be lowered")
                    .set_detail(format!(
                        "IDs up to {} might have been issued, and would be issued again.",
                        time::display(floor)
                    ))
                    .set_hint("To lower it anyway, pass force => true.")
            }
            Error::FloorAhead { lead } => {
                refused(&format!("the floor would be {lead} ms ahead of the clock"))
                    .set_detail(
                        "That is more than snowflake.max_backward_step. IDs would run that far \
                         ahead of the clock until it has caught up.",
                    )
                    .set_hint("To set it anyway, pass force => true.")
            }
            Error::NotSuperuser { what } => {
                report::new(ERRCODE_INSUFFICIENT_PRIVILEGE, format!("must be superuser to {what}"))
            }
            Error::NoSuchConfirmation(what) => report::new(
                ERRCODE_INVALID_PARAMETER_VALUE,
                format!("unrecognized confirmation: \"{what}\""),
            )
            .set_hint("Valid values are \"layout\", \"system_identifier\" and \"clock\"."),
        }
    }
}

/// The register was deleted while the server runs. What this server has issued is in its memory.
pub(super) fn deleted(promised: Option<i64>) -> ErrorReport {
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
                "IDs up to {time} might have been issued. After the next start, they might be \
                 issued again."
            ))
            .set_hint(format!(
                "As a superuser, write it again: SELECT \
                 snowflake_set_floor(greatest(clock_timestamp(), '{time}'))."
            )),
        None if in_recovery() => report
            .set_detail(
                "After its next start and a promotion, IDs that have been issued might be issued \
                 again.",
            )
            .set_hint(
                "Stop this standby with pg_ctl stop -m immediate and start it again. Then, as a \
                 superuser on the primary, let the register be replicated again: SELECT \
                 snowflake_set_floor(snowflake_floor()).",
            ),
        None => report
            .set_detail("It says which IDs might have been issued, and none was since the start.")
            .set_hint(
                "As a superuser, set a floor that is later than the time of every ID: SELECT \
                 snowflake_set_floor('...').",
            ),
    }
}

/// What the clock did.
pub(super) fn jumped(jump: Jump) -> String {
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
