//! Errors of administration.

use crate::pg::report::{self, ErrorReport, Report, wraps};
use crate::pg::time;
use pgrx::prelude::*;
use snowflake_core::promise::Rejection;

use crate::promise;
use crate::promise::refused;
use crate::settings::{self, NamedLayout};

/// Errors of an administrator's calls.
#[derive(Debug)]
pub enum Error {
    /// As a session that takes an ID might get it.
    Promise(promise::Error),
    /// The request would make IDs come back, or run far ahead of the clock.
    Denied(Rejection),
    /// Something that only a superuser may do.
    NotSuperuser {
        /// The act, as "set the floor of snowflake IDs".
        what: &'static str,
    },
    /// The name of something that cannot be confirmed.
    NoSuchConfirmation(String),
}

wraps!(Promise(promise::Error));

impl Report for Error {
    fn report(self) -> ErrorReport {
        match self {
            Error::Promise(error) => error.report(),
            Error::Denied(rejection) => report_of(rejection),
            Error::NotSuperuser { what } => report::new(
                PgSqlErrorCode::ERRCODE_INSUFFICIENT_PRIVILEGE,
                format!("must be superuser to {what}"),
            ),
            Error::NoSuchConfirmation(what) => report::new(
                PgSqlErrorCode::ERRCODE_INVALID_PARAMETER_VALUE,
                format!("unrecognized confirmation: \"{what}\""),
            )
            .set_hint("Valid values are \"layout\", \"system_identifier\" and \"clock\"."),
        }
    }
}

fn report_of(rejection: Rejection) -> ErrorReport {
    match rejection {
        Rejection::NoIdentity => settings::fixed().no_identity().report(),
        Rejection::IdentityOfOriginal => refused(
            "this server has the datacenter and worker ID of the one that it was copied from",
        )
        .set_detail("If both run, they issue the same IDs.")
        .set_hint(
            "Give this server a datacenter and worker ID of its own, restart it, and confirm \
                 again. If the other one never runs again, confirm with SELECT \
                 snowflake_confirm('system_identifier', force => true).",
        ),
        Rejection::LayoutGoesBack { recorded, floor } => {
            refused("the configured snowflake.epoch and widths would issue IDs again")
                .set_detail(format!(
                    "The layout was {} for datacenter, worker and sequence. Under the \
                         configured one, IDs after {} would not be greater than those from before.",
                    NamedLayout::from(recorded),
                    time::display(floor)
                ))
                .set_hint(
                    "Set the epoch and the widths as they were. To change them, choose an \
                         earlier epoch or a larger sum of widths.",
                )
        }
        Rejection::FloorLowered { floor } => {
            refused("the floor of snowflake IDs must not be lowered")
                .set_detail(format!(
                    "IDs up to {} might have been issued, and would be issued again.",
                    time::display(floor)
                ))
                .set_hint("To lower it anyway, pass force => true.")
        }
        Rejection::FloorAhead { lead } => {
            refused(&format!("the floor would be {} ahead of the clock", time::interval(lead)))
                .set_detail(
                    "That is more than snowflake.max_backward_step. IDs would run that far \
                         ahead of the clock until it has caught up.",
                )
                .set_hint("To set it anyway, pass force => true.")
        }
    }
}
