//! `snowflake.epoch`.

use snowflake_core::epoch;

use super::fixed::FIXED;
use crate::clock;

const RULE: &str = "The epoch is an ISO 8601 instant with an offset, such as \
                    '2010-11-04T01:42:54.657Z', or a number of milliseconds since 1970-01-01 \
                    00:00:00 UTC; in whole milliseconds, not before 1970 and not in the future.";

/// Reads it, in milliseconds since the Unix epoch.
pub fn parse(text: &str) -> Result<i64, String> {
    // A server whose clock is wrong has to start: an epoch in the future stops generating, and
    // nothing else.
    let is_starting = FIXED.get().is_none();
    let latest = if is_starting { i64::MAX } else { clock::unix_ms() };
    epoch::parse(text, latest).map_err(|error| format!("The value is not valid: {error}. {RULE}"))
}
