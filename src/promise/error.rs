//! Errors of starts and reservations.

use crate::pg::report::{self, ErrorReport, Report, wraps};
use crate::pg::{in_recovery, time};
use pgrx::prelude::*;
use snowflake_core::jump::Jump;
use snowflake_core::promise::{Refusal, Unreadable};
use snowflake_core::register::RecordError;
use snowflake_core::time::Timestamp;

use super::register;
use crate::generator::shared;
use crate::settings::NamedLayout;

/// The detail of an error about a floor or a start that is too far ahead of the clock.
pub const RUNS_AHEAD: &str = "That is more than snowflake.max_backward_step. IDs would run that far \
                              ahead of the clock until it has caught up.";

/// Errors of the promise.
#[derive(Clone, Debug)]
pub enum Error {
    /// The server is not configured to issue IDs.
    Settings(ErrorReport),
    /// The server is a standby, or still recovering.
    InRecovery {
        /// The action that is not possible.
        what: &'static str,
    },
    /// IDs might come back otherwise.
    Refused(Refusal),
}

wraps!(Settings(ErrorReport), Refused(Refusal));

impl From<Unreadable> for Error {
    fn from(error: Unreadable) -> Error {
        Error::Refused(Refusal::Register(error))
    }
}

impl Report for Error {
    fn report(self) -> ErrorReport {
        match self {
            Error::Settings(error) => error,
            Error::InRecovery { what } => report::new(
                PgSqlErrorCode::ERRCODE_READ_ONLY_SQL_TRANSACTION,
                format!("cannot {what} during recovery"),
            )
            .set_hint("Do this on the primary, or promote this server first."),
            Error::Refused(refusal) => with_page(report_of(refusal)),
        }
    }
}

/// Lets the hint of an error name the page whose headings are the messages.
fn with_page(mut report: ErrorReport) -> ErrorReport {
    report.hint = report.hint.map(|hint| format!("{hint} See docs/runbook.md."));
    report
}

fn report_of(refusal: Refusal) -> ErrorReport {
    match refusal {
        Refusal::ClockAhead(jump) => report::not_ready(jumped(jump))
            .set_detail(
                "If the clock is wrong, IDs that follow it cannot be taken back, because all later \
                 IDs must be greater.",
            )
            .set_hint(match jump {
                Jump::Measured(_) | Jump::OfUpstream(_) => {
                    "If the clock is right, a superuser can confirm it with SELECT \
                     snowflake_confirm('clock'), or raise snowflake.max_forward_step. Otherwise, \
                     correct the clock."
                }
                Jump::SinceRecord(_) => {
                    "If the clock is right, a superuser can confirm it with SELECT \
                     snowflake_confirm('clock'). Otherwise, correct the clock."
                }
            }),
        Refusal::ClockBeforeEpoch { now, epoch } => {
            report::not_ready("the clock is before snowflake.epoch")
                .set_detail(format!(
                    "The clock says {}, and IDs count from {}.",
                    time::display(now),
                    time::display(epoch)
                ))
                .set_hint("Set the clock right. If it is right, choose an earlier snowflake.epoch.")
        }
        Refusal::Register(Unreadable::Record(error)) => report::not_ready(format!(
            "the register of snowflake IDs, \"{}\", cannot be used",
            register::PATH
        ))
        .set_detail(format!("It says which IDs might have been issued, but {error}."))
        .set_hint(match error {
            RecordError::Damaged => {
                "Find out what damaged the register. Then, as a superuser, set a floor that is \
                 later than the time of every ID: SELECT snowflake_set_floor('...')."
            }
            RecordError::NewerVersion(_) => "Install the release that wrote it, or a later one.",
            RecordError::OlderVersion(_) => {
                "As a superuser, set a floor that is later than the time of every ID: SELECT \
                 snowflake_set_floor('...')."
            }
        }),
        Refusal::Register(Unreadable::Deleted) => deleted(shared::promised()),
        Refusal::OtherSystem { recorded, writer } => {
            report::not_ready("the register of snowflake IDs belongs to another database system")
                .set_detail(format!(
                    "Its system identifier is {recorded}, and datacenter {} and worker {} wrote \
                     it. This server is a copy of that one. With the same datacenter and worker \
                     ID, both would issue the same IDs.",
                    writer.datacenter_id, writer.worker_id
                ))
                .set_hint(
                    "Give this server a datacenter and worker ID of its own. A superuser then \
                     confirms with SELECT snowflake_confirm('system_identifier').",
                )
        }
        Refusal::OtherLayout { recorded, floor } => {
            report::not_ready("IDs have been issued under another snowflake.epoch or other widths")
                .set_detail(format!(
                    "The layout was {} for datacenter, worker and sequence. IDs up to {} might \
                     have been issued.",
                    NamedLayout::from(recorded),
                    time::display(floor)
                ))
                .set_hint(
                    "Set the epoch and the widths as they were. To continue under the new ones, a \
                     superuser confirms them with SELECT snowflake_confirm('layout').",
                )
        }
        Refusal::ConfirmedLayout { confirmed } => {
            report::not_ready("another snowflake.epoch or other widths have been confirmed")
                .set_detail(format!(
                    "The confirmed layout is {} for datacenter, worker and sequence. IDs might \
                     have been issued under it that this server has not received.",
                    NamedLayout::from(confirmed)
                ))
                .set_hint("Set the confirmed epoch and widths, and restart this server.")
        }
        Refusal::StartAfterAhead { lead } => report::not_ready(format!(
            "snowflake.start_after is {} ahead of the clock",
            time::interval(lead)
        ))
        .set_detail(RUNS_AHEAD)
        .set_hint("Set the clock right, or change snowflake.start_after and restart the server."),
    }
}

/// The register was deleted while the server runs. What this server has issued is in its memory.
pub(super) fn deleted(promised: Option<Timestamp>) -> ErrorReport {
    let report = report::not_ready(format!(
        "the register of snowflake IDs, \"{}\", was deleted while the server runs",
        register::PATH
    ));
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

/// Describes the jump of the clock.
pub(super) fn jumped(jump: Jump) -> String {
    match jump {
        Jump::Measured(by) => format!("the clock has jumped ahead by {}", time::interval(by)),
        Jump::SinceRecord(by) => {
            format!("the clock is {} ahead of the last record of snowflake IDs", time::interval(by))
        }
        Jump::OfUpstream(by) => {
            format!(
                "the clock is {} ahead of that of the server that this one followed",
                time::interval(by)
            )
        }
    }
}
