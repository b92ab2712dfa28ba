//! `snowflake.start_after`.

use crate::server::time;
use snowflake_core::epoch;

use super::fixed::FIXED;

const RULE: &str = "The valid values are an ISO 8601 instant with an offset, such as '2026-01-01 \
                    00:00:00+00', a number of milliseconds since 1970-01-01 00:00:00 UTC, and the \
                    empty string.";

/// Reads it, in milliseconds since the Unix epoch; `None` where it is empty. While the server
/// starts, the layout is not fixed yet, and [`super::define`] compares with its epoch.
pub fn parse(text: &str) -> Result<Option<i64>, String> {
    if text.trim().is_empty() {
        return Ok(None);
    }
    let time = epoch::parse_time(text)
        .map_err(|error| format!("The value is not valid: {error}. {RULE}"))?;
    if let Some(fixed) = FIXED.get() {
        check(Some(time), fixed.layout.epoch())?;
    }
    Ok(Some(time))
}

/// Refuses a time before the epoch, which protects from nothing. Most likely it is a number of
/// seconds.
pub fn check(time: Option<i64>, epoch: i64) -> Result<(), String> {
    match time {
        Some(time) if time < epoch => Err(format!(
            "The value is not valid: {} is before the epoch, {}. {RULE}",
            time::display(time),
            time::display(epoch)
        )),
        _ => Ok(()),
    }
}
