//! PostgreSQL's times and ours: `timestamptz` counts microseconds from 2000, IDs milliseconds from
//! their epoch.

use std::ffi::CStr;

use pgrx::datum::TimestampWithTimeZone;
use pgrx::pg_sys;
use snowflake_core::time::{Span, Timestamp};

/// 2000-01-01 00:00:00 UTC, where PostgreSQL's timestamps count from.
const POSTGRES_EPOCH: Timestamp = Timestamp(946_684_800_000);

/// PostgreSQL's form of a time. Every valid layout's times fit.
pub fn raw_timestamptz(time: Timestamp) -> pg_sys::TimestampTz {
    (time - POSTGRES_EPOCH).0 * 1000
}

/// The time as a timestamptz. Every valid layout's times fit.
pub fn timestamptz(time: Timestamp) -> TimestampWithTimeZone {
    from_raw(raw_timestamptz(time))
}

/// A time of PostgreSQL's own, which is within its range.
pub fn from_raw(value: pg_sys::TimestampTz) -> TimestampWithTimeZone {
    TimestampWithTimeZone::try_from(value).expect("a time that PostgreSQL knows")
}

/// The millisecond that a timestamptz is in.
pub fn floor_ms(ts: TimestampWithTimeZone) -> Timestamp {
    from_timestamptz(ts.into_inner())
}

/// The millisecond that PostgreSQL's form of a time is in.
pub fn from_timestamptz(ts: pg_sys::TimestampTz) -> Timestamp {
    POSTGRES_EPOCH + Span(ts.div_euclid(1000))
}

/// The time by PostgreSQL's clock.
pub fn now() -> Timestamp {
    // SAFETY: reads the clock.
    from_timestamptz(unsafe { pg_sys::GetCurrentTimestamp() })
}

/// The first millisecond that is not before a timestamptz.
pub fn ceil_ms(ts: TimestampWithTimeZone) -> Timestamp {
    floor_ms(ts) + Span((ts.into_inner().rem_euclid(1000) > 0).into())
}

/// PostgreSQL's form of a time for a message, in the session's time zone.
pub fn display_timestamptz(value: pg_sys::TimestampTz) -> String {
    // SAFETY: the answer is a string in static memory, which is copied at once.
    unsafe { CStr::from_ptr(pg_sys::timestamptz_to_str(value)).to_string_lossy().into_owned() }
}

/// A time for a message, in the session's time zone.
pub fn display(time: Timestamp) -> String {
    display_timestamptz(raw_timestamptz(time))
}

/// A length of time for a message: milliseconds, or from a second on, as PostgreSQL writes an
/// interval.
pub fn interval(Span(ms): Span) -> String {
    if ms.abs() < 1000 {
        return format!("{ms} ms");
    }
    let (sign, ms) = (if ms < 0 { "-" } else { "" }, ms.unsigned_abs());
    let (days, seconds, fraction) = (ms / 86_400_000, ms / 1000 % 86_400, ms % 1000);
    let days = match days {
        0 => String::new(),
        1 => "1 day ".into(),
        _ => format!("{days} days "),
    };
    let fraction = if fraction == 0 { String::new() } else { format!(".{fraction:03}") };
    let (hours, minutes, seconds) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
    format!("{sign}{days}{hours:02}:{minutes:02}:{seconds:02}{fraction}")
}
