//! The preview of the next ID of this server. Nothing is written.

use crate::pg::in_recovery;
use pgrx::prelude::*;
use snowflake_core::issuer::Issuer;
use snowflake_core::jump::{Jump, Verdict};
use snowflake_core::promise::Promise;
use snowflake_core::time::{Span, Timestamp};

use super::error::Error;
use super::reservation::{self, issuer, issuer_on};
use super::upstream;
use crate::generator::clock;
use crate::generator::shared;
use crate::settings::Fixed;

/// The state that the next ID of this server would find, or the first one after a promotion.
pub struct Preview {
    /// True if there is no register yet.
    pub is_first: bool,
    /// True if the layout was confirmed, and no ID of it is known.
    pub was_confirmed: bool,
    /// True if the layout from before is then still accepted.
    pub accepts_former: bool,
    /// The next ID would be above this timestamp.
    pub after: Timestamp,
    /// The part of the lead of `after` over the clock that is explained.
    pub hold: Span,
    /// The verdict on the clock, and the jump that decides it.
    pub verdict: (Verdict, Jump),
    /// The lead of the clock over that of the server that this one follows, or followed.
    pub ahead_of_upstream: Option<Span>,
    /// True if this is a standby with the identity of the server that it follows.
    pub shares_identity: bool,
    /// True if this server might be a copy with the identity of its original, and nobody has seen
    /// to it that it issues no ID of that.
    pub might_be_a_copy: bool,
}

/// Returns the state that the next ID of this server would find, or the error that it would raise.
pub fn preview(fixed: &Fixed) -> Result<Preview, Error> {
    let clocks = clock::clocks();
    let mut promise = if fixed.preloaded { reservation::copied() } else { Promise::default() };
    let in_recovery = in_recovery();
    let issuer = if in_recovery { promoted_issuer(fixed) } else { issuer(fixed) };
    if promise.has_begun()
        && let generator = shared::generator()
        && let Some(verdict) = promise.verdict(&issuer, clocks, generator.timestamp())
    {
        return Ok(Preview {
            is_first: false,
            was_confirmed: false,
            accepts_former: false,
            // IDs of the queue are not returned before the clock is there.
            after: clocks.wall + generator.lead(clocks.wall),
            hold: generator.hold(),
            verdict,
            ahead_of_upstream: None,
            shares_identity: false,
            might_be_a_copy: promise.might_be_a_twin(&issuer),
        });
    }
    let record = reservation::record()?;
    // Without preloading, nobody has kept what the last message said.
    if in_recovery
        && !fixed.preloaded
        && let Some(message) = upstream::last_message()
    {
        promise.hear(message.clocks(None));
    }
    let starting = promise.starting(&issuer, Ok(record), clocks)?;
    // A record of an earlier timeline says nothing of the server that it follows now.
    let shares_identity = in_recovery
        && record.as_ref().is_some_and(|record| {
            record.timeline == issuer.timeline - 1 && record.writer.has_identity_of(&issuer.writer)
        });
    Ok(Preview {
        is_first: record.is_none(),
        was_confirmed: record.is_some_and(|record| record.layout != issuer.layout),
        accepts_former: record.is_some_and(|record| record.timeline == issuer.timeline),
        after: starting.start.after,
        hold: starting.start.hold,
        verdict: starting.verdict(&issuer, clocks),
        ahead_of_upstream: promise.upstream().and_then(|upstream| clocks.ahead_of(&upstream)),
        shares_identity,
        might_be_a_copy: issuer.might_be_a_twin(starting.copy_of),
    })
}

/// This standby, as the register would know it after a promotion.
fn promoted_issuer(fixed: &Fixed) -> Issuer {
    let mut replayed = 0;
    // SAFETY: the pointer is valid for the call.
    unsafe { pg_sys::GetXLogReplayRecPtr(&raw mut replayed) };
    issuer_on(fixed, replayed + 1)
}
