//! Statistics and the present state: the views `pg_stat_snowflake` and `snowflake_status`.

use crate::pg::in_recovery;
use crate::pg::library_function::LibraryFunction;
use crate::pg::report::{self, OrRaise};
use crate::pg::time::{self, from_raw, timestamptz};
use crate::pg::user::reads_statistics_of;
use pgrx::datum::TimestampWithTimeZone;
use pgrx::prelude::*;
use snowflake_core::generator::Generator;
use snowflake_core::jump::YEAR;
use snowflake_core::time::Span;

use crate::generator::clock;
use crate::generator::shared;
use crate::settings;

/// The row of `pg_stat_snowflake`. 55000 without preloading.
#[pg_extern(sql = "
CREATE FUNCTION snowflake_internal.snowflake_stat()
    RETURNS TABLE (issued bigint, sequence_overflows bigint, waits bigint, wait_time double precision,
                   steps_held bigint, steps_refused bigint, largest_step_back bigint, lead bigint,
                   max_lead bigint, reservations bigint, stats_reset timestamptz, twins bigint,
                   steps_reused bigint)
    LANGUAGE c VOLATILE STRICT PARALLEL SAFE
    AS 'MODULE_PATHNAME', '@FUNCTION_NAME@';
", requires = ["internal"])]
#[allow(clippy::type_complexity)]
fn snowflake_stat() -> TableIterator<
    'static,
    (
        name!(issued, i64),
        name!(sequence_overflows, i64),
        name!(waits, i64),
        name!(wait_time, f64),
        name!(steps_held, i64),
        name!(steps_refused, i64),
        name!(largest_step_back, i64),
        name!(lead, i64),
        name!(max_lead, i64),
        name!(reservations, i64),
        name!(stats_reset, TimestampWithTimeZone),
        name!(twins, i64),
        name!(steps_reused, i64),
    ),
> {
    settings::require_preloading().or_raise();
    let (issued, statistics) = shared::statistics();
    // A lead that no call has met yet, as after a floor that was set.
    let lead = lead(shared::generator());
    shared::count(|statistics| statistics.max_lead = statistics.max_lead.max(lead));
    TableIterator::once((
        issued as i64,
        statistics.sequence_overflows as i64,
        statistics.waits as i64,
        statistics.waited as f64 / 1e6,
        statistics.steps_held as i64,
        statistics.steps_refused as i64,
        statistics.largest_step_back.0,
        lead.0,
        statistics.max_lead.max(lead).0,
        statistics.reservations as i64,
        from_raw(statistics.since),
        statistics.twins as i64,
        statistics.steps_reused as i64,
    ))
}

/// A column of `pg_stat_snowflake` that came with 0.3.0. `snowflake_stat()` remains as it was, so
/// that what depends on it survives an update. 55000 without preloading.
#[pg_extern(sql = "
CREATE FUNCTION snowflake_internal.snowflake_stat_observations_refused() RETURNS bigint
    LANGUAGE c VOLATILE STRICT PARALLEL SAFE
    AS 'MODULE_PATHNAME', '@FUNCTION_NAME@';
", requires = ["internal"])]
fn snowflake_stat_observations_refused() -> i64 {
    settings::require_preloading().or_raise();
    shared::statistics().1.observations_refused as i64
}

/// Sets all counters of `pg_stat_snowflake` to zero. 55000 without preloading.
#[pg_extern(volatile, strict, parallel_safe)]
fn snowflake_stat_reset() {
    settings::require_preloading().or_raise();
    // SAFETY: reads the clock.
    let now = unsafe { pg_sys::GetCurrentTimestamp() };
    shared::reset_statistics(now);
}

/// The row of `snowflake_status`. What only a generator has is NULL without preloading.
#[pg_extern(sql = "
CREATE FUNCTION snowflake_internal.snowflake_status()
    RETURNS TABLE (datacenter_id integer, worker_id integer, epoch timestamptz, datacenter_bits integer,
                   worker_bits integer, sequence_bits integer, ends timestamptz, last_id bigint,
                   last_timestamp timestamptz, floor timestamptz, lead bigint, preloaded boolean,
                   in_recovery boolean)
    LANGUAGE c VOLATILE STRICT PARALLEL SAFE
    AS 'MODULE_PATHNAME', '@FUNCTION_NAME@';
", requires = ["internal"])]
#[allow(clippy::type_complexity)]
fn snowflake_status() -> TableIterator<
    'static,
    (
        name!(datacenter_id, Option<i32>),
        name!(worker_id, Option<i32>),
        name!(epoch, TimestampWithTimeZone),
        name!(datacenter_bits, i32),
        name!(worker_bits, i32),
        name!(sequence_bits, i32),
        name!(ends, TimestampWithTimeZone),
        name!(last_id, Option<i64>),
        name!(last_timestamp, Option<TimestampWithTimeZone>),
        name!(floor, Option<TimestampWithTimeZone>),
        name!(lead, Option<i64>),
        name!(preloaded, bool),
        name!(in_recovery, bool),
    ),
> {
    let fixed = settings::fixed();
    let layout = fixed.layout;
    let widths = layout.widths();
    let identity = fixed.identity;
    let generator = fixed.preloaded.then(shared::generator);
    let last = generator.and_then(|generator| generator.last());
    let floor =
        generator.map(|generator| generator.floor()).filter(|floor| *floor >= layout.epoch());
    TableIterator::once((
        identity.map(|identity| identity.datacenter_id as i32),
        identity.map(|identity| identity.worker_id as i32),
        timestamptz(layout.epoch()),
        widths.datacenter as i32,
        widths.worker as i32,
        widths.sequence as i32,
        timestamptz(layout.last_timestamp()),
        last.filter(|_| may_see_ids())
            .map(|(timestamp, sequence)| fixed.ids.compose(timestamp, sequence)),
        last.map(|(timestamp, _)| timestamptz(timestamp)),
        floor.map(timestamptz),
        generator.map(|generator| lead(generator).0),
        fixed.preloaded,
        in_recovery(),
    ))
}

/// Returns whether this role may take IDs, or reads all statistics: others do not see the last
/// value of a sequence, either.
fn may_see_ids() -> bool {
    LibraryFunction::of("snowflake_nextval").is_some_and(|function| function.is_allowed())
        || reads_statistics_of(pg_sys::ROLE_PG_READ_ALL_STATS.into())
}

/// By how much the last ID, or what was observed, is ahead of the clock; zero when it is not.
fn lead(generator: Generator) -> Span {
    generator.lead(clock::now()).max(Span::ZERO)
}

/// When a server starts with less than this left of the timestamp field, it says so in its log.
pub const LITTLE_TIME: Span = YEAR;

/// Logs that the timestamp field is about to end, or has not begun. Called while the server starts.
pub fn log_the_ends() {
    let layout = settings::fixed().layout;
    let now = clock::now();
    let left = layout.last_timestamp() - now;
    if left < LITTLE_TIME {
        let ends = match left.0.div_euclid(Span::DAY.0) {
            ..0 => "the timestamp field of snowflake IDs is used up".to_owned(),
            days => format!("the timestamp field of snowflake IDs is used up in {days} days"),
        };
        let last = time::display(layout.last_timestamp());
        let report = report::message(ends)
            .set_detail(format!("Its last timestamp is {last}. No ID is issued after it."))
            .set_hint("Plan for new IDs, with a later snowflake.epoch or smaller widths.");
        report::log(report);
    }
    if now < layout.epoch() {
        let report = report::message("the clock is before snowflake.epoch");
        report::log(report.set_detail("No snowflake ID is issued until the clock is right."));
    }
}
