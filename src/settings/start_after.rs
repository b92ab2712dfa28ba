//! `snowflake.start_after`.

use std::ffi::CString;

use pgrx::GucSetting;
use snowflake_core::epoch;

use super::text::{Text, check_hook};

static SETTING: GucSetting<Option<CString>> = GucSetting::<Option<CString>>::new(Some(c""));

/// The setting; `None` where it is empty.
pub const START_AFTER: Text<Option<i64>> = Text {
    name: c"snowflake.start_after",
    short: c"Every start issues IDs above this time.",
    long:
        c"For a server that takes over the identity of another one, or its data by pg_upgrade or \
        dump and restore: the floor of that one. Empty is none.",
    setting: &SETTING,
    parse,
    hook: check,
};

check_hook!(check, START_AFTER);

const RULE: &str = "The valid values are an ISO 8601 instant with an offset, such as '2026-01-01 \
                    00:00:00+00', a number of milliseconds since 1970-01-01 00:00:00 UTC, and the \
                    empty string.";

fn parse(text: &str) -> Result<Option<i64>, String> {
    if text.trim().is_empty() {
        return Ok(None);
    }
    let time = epoch::parse_time(text);
    time.map(Some).map_err(|error| format!("The value is not valid: {error}. {RULE}"))
}
