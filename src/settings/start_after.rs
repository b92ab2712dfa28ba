//! `snowflake.start_after`.

use snowflake_core::epoch;

const RULE: &str = "The valid values are an ISO 8601 instant with an offset, such as '2026-01-01 \
                    00:00:00+00', a number of milliseconds since 1970-01-01 00:00:00 UTC, and the \
                    empty string.";

/// Reads it, in milliseconds since the Unix epoch; `None` where it is empty.
pub fn parse(text: &str) -> Result<Option<i64>, String> {
    if text.trim().is_empty() {
        return Ok(None);
    }
    let time = epoch::parse_time(text);
    time.map(Some).map_err(|error| format!("The value is not valid: {error}. {RULE}"))
}
