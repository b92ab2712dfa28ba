//! PostgreSQL's times and ours: `timestamptz` counts microseconds from 2000, IDs milliseconds from
//! their epoch.

use std::ffi::CStr;

use pgrx::datum::TimestampWithTimeZone;
use pgrx::pg_sys;

/// 2000-01-01 00:00:00 UTC, where PostgreSQL's timestamps count from, in milliseconds since the
/// Unix epoch.
const POSTGRES_EPOCH: i64 = 946_684_800_000;

/// PostgreSQL's form of a time in milliseconds since the Unix epoch. Every valid layout's times
/// fit.
pub fn raw_timestamptz(unix_ms: i64) -> pg_sys::TimestampTz {
    (unix_ms - POSTGRES_EPOCH) * 1000
}

/// The time in milliseconds since the Unix epoch as a timestamptz. Every valid layout's times fit.
pub fn timestamptz(unix_ms: i64) -> TimestampWithTimeZone {
    from_raw(raw_timestamptz(unix_ms))
}

/// A time of PostgreSQL's own, which is within its range.
pub fn from_raw(value: pg_sys::TimestampTz) -> TimestampWithTimeZone {
    TimestampWithTimeZone::try_from(value).expect("a time that PostgreSQL knows")
}

/// The millisecond that a timestamptz is in, since the Unix epoch.
pub fn floor_ms(ts: TimestampWithTimeZone) -> i64 {
    unix_ms(ts.into_inner())
}

/// The millisecond that PostgreSQL's form of a time is in, since the Unix epoch.
pub fn unix_ms(ts: pg_sys::TimestampTz) -> i64 {
    ts.div_euclid(1000) + POSTGRES_EPOCH
}

/// The time by PostgreSQL's clock, in milliseconds since the Unix epoch.
pub fn now_ms() -> i64 {
    // SAFETY: reads the clock.
    unix_ms(unsafe { pg_sys::GetCurrentTimestamp() })
}

/// The first millisecond that is not before a timestamptz, since the Unix epoch.
pub fn ceil_ms(ts: TimestampWithTimeZone) -> i64 {
    let value = ts.into_inner();
    value.div_euclid(1000) + i64::from(value.rem_euclid(1000) > 0) + POSTGRES_EPOCH
}

/// A time for a message, in the session's time zone.
pub fn display_timestamptz(value: pg_sys::TimestampTz) -> String {
    // SAFETY: the answer is a string in static memory, which is copied at once.
    unsafe { CStr::from_ptr(pg_sys::timestamptz_to_str(value)).to_string_lossy().into_owned() }
}

/// A time in milliseconds since the Unix epoch for a message, in the session's time zone.
pub fn display(unix_ms: i64) -> String {
    display_timestamptz(raw_timestamptz(unix_ms))
}

/// A length of time for a message: milliseconds, or from a second on, as PostgreSQL writes an interval.
pub fn interval(ms: i64) -> String {
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
