//! The function that observes an ID.

use crate::pg::called_directly;
use crate::pg::report::{self, ErrorReport, OrRaise};
use pgrx::check_for_interrupts;
use pgrx::prelude::*;
use snowflake_core::call;
use snowflake_core::generator::Observation;
use snowflake_core::layout::Parts;
use snowflake_core::time::Span;

use super::error::{refused, twin};
use crate::decode::layout::{known_layout, layout};
use crate::generator::clock;
use crate::generator::shared;
use crate::horizon::transaction_end;
use crate::promise::reservation;
use crate::settings::{self, Fixed, Identity};

called_directly!(pg_finfo_snowflake_observe);
extension_sql!(
    "
CREATE FUNCTION snowflake_observe(id bigint) RETURNS boolean
    LANGUAGE c VOLATILE STRICT PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'snowflake_observe';
",
    name = "observe",
    requires = ["timestamp"]
);

/// Returns whether every ID that this server issues from now on is greater than this one: not if
/// that is further ahead of the clock than `snowflake.max_observed_lead`. 22023 when negative;
/// 55000 and 25006 as `snowflake_nextval()`.
#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn snowflake_observe(fcinfo: pg_sys::FunctionCallInfo) -> pg_sys::Datum {
    // SAFETY: there is one argument, and since the function is strict it is not NULL.
    let id = unsafe { pgrx::fcinfo::pg_getarg_datum_raw(fcinfo, 0).value() as i64 };
    (observe_at_once(id) || snowflake_observe_slowly(id)).into()
}

#[cold]
#[inline(never)]
#[pg_guard]
extern "C-unwind" fn snowflake_observe_slowly(id: i64) -> bool {
    observe(id).or_raise()
}

/// Returns whether it is followed without a reservation and without an entry in the log. A
/// generator that has begun is that of a primary, and of a server with an identity.
pub fn observe_at_once(id: i64) -> bool {
    let fixed = settings::fixed();
    let Some(parts) = known_layout().and_then(|layout| layout.decompose(id).ok()) else {
        return false;
    };
    if !fixed.preloaded || is_own(fixed, &parts) {
        return false;
    }
    let seen = shared::observe(&parts, clock::now(), max_lead());
    let is_followed = matches!(seen, Some((Observation::Followed { .. }, _)));
    if is_followed {
        transaction_end::let_commit_wait();
    }
    is_followed
}

/// Observes an ID, and does what that asks for.
pub fn observe(id: i64) -> Result<bool, ErrorReport> {
    let fixed = settings::require_preloading()?;
    reservation::refuse_in_recovery("observe snowflake IDs")?;
    let parts = layout()?.decompose(id)?;
    let (max_lead, mut is_above) = (max_lead(), false);
    let ask = |is_above: &mut bool| {
        check_for_interrupts!();
        let (observation, above) = shared::observe(&parts, clock::now(), max_lead)?;
        *is_above = above;
        Some(observation)
    };
    let reserve = |_: &mut bool, request| reservation::reserve(fixed, request);
    let observation = call::observe(&mut is_above, parts.timestamp, max_lead, ask, reserve)?;
    if is_above
        && is_own(fixed, &parts)
        && let Some(count) = shared::count_twin(Some(clock::since_boot()))
    {
        report::log(twin(id, &parts, count));
    }
    let Observation::Refused { lead } = observation else {
        transaction_end::let_commit_wait();
        return Ok(true);
    };
    if let Some(count) = shared::count_refusal(clock::since_boot()) {
        report::log(refused(id, &parts, lead, max_lead, count));
    }
    Ok(false)
}

fn is_own(fixed: &Fixed, parts: &Parts) -> bool {
    let Parts { datacenter_id, worker_id, .. } = *parts;
    fixed.identity == Some(Identity { datacenter_id, worker_id })
}

/// `snowflake.max_observed_lead`.
pub fn max_lead() -> Span {
    settings::MAX_OBSERVED_LEAD.span()
}
