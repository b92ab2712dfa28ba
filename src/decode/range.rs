//! From times to the range of IDs that they bound.

use crate::pg::report::{ErrorReport, OrRaise};
use crate::pg::time::ceil_ms;
use pgrx::datum::TimestampWithTimeZone;
use pgrx::prelude::*;
use snowflake_core::layout::Layout;
use snowflake_core::time::Span;

use super::layout::{given_layout, layout, timestamp_in};

/// The smallest ID of the millisecond that `ts` is in. 22003 when the timestamp field does not hold
/// it, infinity included: a bound of a partition that silently moved would be wrong.
#[pg_extern(immutable, strict, parallel_safe)]
fn snowflake_min(ts: TimestampWithTimeZone) -> i64 {
    first_id(layout(), ts).or_raise()
}

/// The largest ID of the millisecond that `ts` is in. 22003 as `snowflake_min()`.
#[pg_extern(immutable, strict, parallel_safe)]
fn snowflake_max(ts: TimestampWithTimeZone) -> i64 {
    last_id(layout(), ts).or_raise()
}

/// `snowflake_min()` under a layout of its own. 22023 when that is not valid.
#[pg_extern(name = "snowflake_min", immutable, strict, parallel_safe)]
fn snowflake_min_under(
    ts: TimestampWithTimeZone,
    epoch: TimestampWithTimeZone,
    datacenter_bits: default!(i32, 5),
    worker_bits: default!(i32, 5),
    sequence_bits: default!(i32, 12),
) -> i64 {
    first_id(given_layout(epoch, datacenter_bits, worker_bits, sequence_bits), ts).or_raise()
}

/// `snowflake_max()` under a layout of its own. 22023 when that is not valid.
#[pg_extern(name = "snowflake_max", immutable, strict, parallel_safe)]
fn snowflake_max_under(
    ts: TimestampWithTimeZone,
    epoch: TimestampWithTimeZone,
    datacenter_bits: default!(i32, 5),
    worker_bits: default!(i32, 5),
    sequence_bits: default!(i32, 12),
) -> i64 {
    last_id(given_layout(epoch, datacenter_bits, worker_bits, sequence_bits), ts).or_raise()
}

fn first_id(
    layout: Result<Layout, ErrorReport>,
    ts: TimestampWithTimeZone,
) -> Result<i64, ErrorReport> {
    let layout = layout?;
    Ok(layout.first_id(timestamp_in(layout, ts)?)?)
}

fn last_id(
    layout: Result<Layout, ErrorReport>,
    ts: TimestampWithTimeZone,
) -> Result<i64, ErrorReport> {
    let layout = layout?;
    Ok(layout.last_id(timestamp_in(layout, ts)?)?)
}

/// No ID is smaller.
const BEFORE_ALL: i64 = -1;

/// The smallest ID that `snowflake_within()` accepts, if it accepts any. Clamped to the timestamp
/// field.
#[pg_extern(sql = "
CREATE FUNCTION snowflake_internal.snowflake_within_min(since timestamptz) RETURNS bigint
    LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE
    AS 'MODULE_PATHNAME', '@FUNCTION_NAME@';
", requires = ["internal"])]
fn snowflake_within_min(since: TimestampWithTimeZone) -> i64 {
    let layout = layout().or_raise();
    let first = ceil_ms(since).clamp(layout.epoch(), layout.last_timestamp());
    layout.first_id(first).expect("within the field")
}

/// The largest ID that `snowflake_within()` accepts; below every ID when it accepts none. It
/// depends on `since` in one case only: if `since` is after the timestamp field, no ID is accepted.
/// `snowflake_within_min()` cannot express this, because it is clamped to the field.
#[pg_extern(sql = "
CREATE FUNCTION snowflake_internal.snowflake_within_max(since timestamptz, before timestamptz)
    RETURNS bigint LANGUAGE c IMMUTABLE PARALLEL SAFE
    AS 'MODULE_PATHNAME', '@FUNCTION_NAME@';
", requires = ["internal"])]
fn snowflake_within_max(
    since: Option<TimestampWithTimeZone>,
    before: Option<TimestampWithTimeZone>,
) -> Option<i64> {
    let layout = layout().or_raise();
    let end = ceil_ms(before?);
    let begins_too_late = since.is_some_and(|since| ceil_ms(since) > layout.last_timestamp());
    if begins_too_late || end <= layout.epoch() {
        Some(BEFORE_ALL)
    } else {
        Some(
            layout.last_id((end - Span(1)).min(layout.last_timestamp())).expect("within the field"),
        )
    }
}
