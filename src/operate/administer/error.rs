//! Errors of administration.

use crate::pg::report::{self, ErrorReport};
use crate::pg::time;
use snowflake_core::promise::Rejection;

use crate::promise::RUNS_AHEAD;
use crate::settings::{self, NamedLayout};

/// The error for a request that would make IDs come back, or run far ahead of the clock.
pub fn denied(rejection: Rejection) -> ErrorReport {
    match rejection {
        Rejection::NoIdentity => settings::fixed().no_identity(),
        Rejection::IdentityOfOriginal => report::not_ready(
            "this server has the datacenter and worker ID of the one that it was copied from",
        )
        .set_detail("If both run, they issue the same IDs.")
        .set_hint(
            "Give this server a datacenter and worker ID of its own, restart it, and confirm \
             again. If the other one never runs again, confirm with SELECT \
             snowflake_confirm('system_identifier', force => true).",
        ),
        Rejection::LayoutGoesBack { recorded, floor } => {
            report::not_ready("the configured snowflake.epoch and widths would issue IDs again")
                .set_detail(format!(
                    "The layout was {} for datacenter, worker and sequence. Under the configured \
                     one, IDs after {} would not be greater than those from before.",
                    NamedLayout::from(recorded),
                    time::display(floor)
                ))
                .set_hint(
                    "Set the epoch and the widths as they were. To change them, choose an earlier \
                     epoch or a larger sum of widths.",
                )
        }
        Rejection::FloorLowered { floor } => {
            report::not_ready("the floor of snowflake IDs must not be lowered")
                .set_detail(format!(
                    "IDs up to {} might have been issued, and would be issued again.",
                    time::display(floor)
                ))
                .set_hint("To lower it anyway, pass force => true.")
        }
        Rejection::FloorAhead { lead } => report::not_ready(format!(
            "the floor would be {} ahead of the clock",
            time::interval(lead)
        ))
        .set_detail(RUNS_AHEAD)
        .set_hint("To set it anyway, pass force => true."),
    }
}
